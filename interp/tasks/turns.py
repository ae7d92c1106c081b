"""Words by turns: which lexemes a pair gets, the same whatever the number of pairs."""

from collections.abc import Sequence
from random import Random

from interp.tasks.lexicon import Lexeme


def dealt(lexicon: Sequence[Lexeme], n_roles: int, turn: int, *, key: str) -> list[Lexeme]:
    """A different lexeme for each role of a turn.

    In as many turns as there are lexemes, each has each role once; then they are shuffled again.
    """
    rounds, place = divmod(turn, len(lexicon))
    order = shuffled(lexicon, f"{key}.{rounds}")
    return [order[(place + role) % len(order)] for role in range(n_roles)]


def shuffled(lexicon: Sequence[Lexeme], key: str) -> list[Lexeme]:
    """The lexemes in an order that the key decides, the same on every machine."""
    return Random(key).sample(list(lexicon), len(lexicon))
