"""Lists at a distance: cues with their answers, filler, and one cue again."""

from collections.abc import Mapping
from typing import Any, Literal, NamedTuple

from interp.items import Corruption
from interp.tasks.distance import FarPair, FarWording, Side
from interp.tasks.frames import SPLITS, Halves
from interp.tasks.lexicon import MIN_LEXEMES, Record
from interp.tasks.turns import dealt, shuffled

N_CONTEXTS = 32
"""A second question is put to a context only when this many have had their first."""

_N_TURNS = N_CONTEXTS // len(SPLITS)

_ENTRIES = ("2", "0", "1")  # the nearest to the query first
_NEAR = _ENTRIES[0]
_STRANGER = "stranger"  # a cue of the same lexicon that stands nowhere in the list


class Lists(Record):
    """One family of `data/distances.toml`: wordings with slots cue0 to cue2, answer0 to answer2.

    Where it has no cues and answers of its own, both are random words, as are the `others`,
    further slots of the head.
    """

    filler: Literal["weather", "haystack"]
    cues: Halves[str] | None = None
    answers: Halves[str] | None = None
    others: tuple[str, ...] = ()
    wordings: tuple[FarWording, FarWording, FarWording, FarWording]


class _Slots(NamedTuple):
    """Slots that are filled from one lexicon, and its lexemes in each split."""

    name: str
    roles: tuple[str, ...]
    by_split: list[list[str]]


def list_pairs(
    name: str,
    data: Lists,
    words: Halves[str],
    tokenizer: Any,
    n_pairs: int,
    seed: int,
    corruption: Corruption,
) -> list[FarPair]:
    """Pairs in which the cue that is asked is the last of the list, or an earlier one.

    - `role_flip`: the two prompts ask for the one and for the other.
    - `removal`: both ask for the same, and in the second a cue that is not asked stands in its
      place in the list. Both answers are still there, and no answer belongs to what is asked.

    Pairs are dealt to the splits in turn, and lexemes to the slots, so that each has each role of
    its split equally often.
    """
    is_removal = corruption is Corruption.REMOVAL
    slots = _slots(data, words, tokenizer, seed, has_stranger=is_removal)
    pairs: list[FarPair] = []
    for index in range(n_pairs):
        context, question = _turn(index)
        split, turn = context % 2, context // 2
        filled = {
            role: word
            for lexicon in slots
            for role, word in zip(
                lexicon.roles,
                dealt(
                    lexicon.by_split[split], len(lexicon.roles), turn, key=f"{seed}.{lexicon.name}"
                ),
                strict=True,
            )
        }
        far = str((turn // 2 + question) % 2)
        if is_removal:
            asks_near = (turn + turn // 2 + turn // 4 + question) % 2
            sides = _removal(filled, *((_NEAR, far) if asks_near else (far, _NEAR)))
        else:
            sides = _side(filled, far, _NEAR), _side(filled, _NEAR, far)
        pairs.append(
            FarPair(
                pair_id=f"{name}.{index:04d}",
                wording=data.wordings[2 * split + turn % 2],
                split=SPLITS[split],
                clusters=(f"near:{filled['cue2']}", f"far:{filled[f'cue{far}']}"),
                clean=sides[0],
                corrupt=sides[1],
                nearest="answer2",
                stream=f"{seed}.{name}.{context}",
            )
        )
    return pairs


def _turn(index: int) -> tuple[int, int]:
    """The context of a pair, and which of its questions the pair asks."""
    rounds, within = divmod(index, 2 * N_CONTEXTS)
    question, context = divmod(within, N_CONTEXTS)
    return rounds * N_CONTEXTS + context, question


def _slots(
    data: Lists, words: Halves[str], tokenizer: Any, seed: int, *, has_stranger: bool
) -> list[_Slots]:
    cues = tuple(f"cue{entry}" for entry in _ENTRIES)
    answers = tuple(f"answer{entry}" for entry in _ENTRIES)
    others = (*data.others, _STRANGER) if has_stranger else data.others
    if data.cues is None or data.answers is None:
        lexica = [("words", words, (*cues, *answers, *others))]
    else:
        lexica = [("cues", data.cues, (*cues, *others)), ("answers", data.answers, answers)]
    n_roles = len(cues) + len(answers) + len(others)
    least = MIN_LEXEMES if n_roles <= _N_TURNS // 2 else _N_TURNS
    return [
        _Slots(
            name,
            roles,
            [
                _some(lexicon.usable(split, tokenizer, slot=name, at_least=least), seed)
                for split in SPLITS
            ],
        )
        for name, lexicon, roles in lexica
    ]


def _some(lexemes: list[str], seed: int) -> list[str]:
    """Sixteen of them, or eight: as many as come round evenly when contexts do."""
    n_lexemes = _N_TURNS if len(lexemes) >= _N_TURNS else _N_TURNS // 2
    return shuffled(lexemes, str(seed))[:n_lexemes]


def _side(words: Mapping[str, str], entry: str, other: str) -> Side:
    """The prompt that asks for one entry of the list, with the other as the foil."""
    return Side(
        words={**words, "query": words[f"cue{entry}"]},
        source=f"answer{entry}",
        distractors=(f"answer{other}",),
        answer=words[f"answer{entry}"],
        labels={"source_slot": "second" if entry == _NEAR else "first"},
    )


def _removal(filled: Mapping[str, str], asked: str, other: str) -> tuple[Side, Side]:
    """The prompt that asks for one entry, and the same where its cue is not in the list."""
    words = {slot: word for slot, word in filled.items() if slot != _STRANGER}
    return _side(words, asked, other).removal(
        f"cue{asked}", filled[_STRANGER], foil=words[f"answer{other}"]
    )
