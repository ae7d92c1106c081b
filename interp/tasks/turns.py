"""Words by turns: which lexemes a pair gets, the same whatever the number of pairs."""

from collections.abc import Sequence
from random import Random
from typing import Any

from interp.tasks.lexicon import MIN_LEXEMES, Lexeme, single_token

SPLITS = ("discovery", "confirmation")


def halves(
    lexicon: Sequence[Lexeme], tokenizer: Any, *, slot: str, at_least: int = MIN_LEXEMES
) -> tuple[list[Lexeme], list[Lexeme]]:
    """The usable lexemes of the discovery split, and those of the confirmation split.

    Every other lexeme belongs to the one, whatever the tokenizer and the seed.

    Raises:
        ValueError: fewer than `at_least` are left in one of them.
    """
    discovery, confirmation = (
        single_token(lexicon[split::2], tokenizer, slot=f"{slot}, {name}", at_least=at_least)
        for split, name in enumerate(SPLITS)
    )
    return discovery, confirmation


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
