"""The long-range families by name, such as `"long_range/recall/256/fixed_query"`."""

from functools import partial
from itertools import product
from typing import Any, Literal

from interp.items import Corruption, Item
from interp.tasks.distance import DISTANCES, FarPair, FarWording, Mode, at_distance
from interp.tasks.family import Family
from interp.tasks.far_lists import Lists, list_pairs
from interp.tasks.far_sentences import (
    Ends,
    FlipWording,
    agreement_pairs,
    coreference_pairs,
    end_pairs,
)
from interp.tasks.filler import filler_of
from interp.tasks.frames import Halves
from interp.tasks.lexicon import Record, load

Kind = Literal[
    "repeat",
    "induction_gap",
    "recall",
    "needle",
    "far_agreement",
    "far_coreference",
    "sentence_end",
]
_ROLE = (Corruption.ROLE_FLIP, Corruption.REMOVAL)
_FEATURE = (Corruption.FEATURE_FLIP, Corruption.REMOVAL)
KINDS: dict[Kind, tuple[Corruption, ...]] = {
    "repeat": _ROLE,
    "induction_gap": _ROLE,
    "recall": _ROLE,
    "needle": _ROLE,
    "far_coreference": _ROLE,
    "far_agreement": _FEATURE,
    "sentence_end": _FEATURE,
}
"""What the families are, and how their counterfactuals differ; the first is the default."""


class _Data(Record):
    words: Halves[str]
    repeat: Lists
    induction_gap: Lists
    recall: Lists
    needle: Lists
    far_coreference: tuple[FlipWording, FlipWording, FlipWording, FlipWording]
    far_agreement: tuple[FarWording, FarWording, FarWording, FarWording]
    sentence_end: Ends


def far_name(kind: Kind, distance: int, mode: Mode) -> str:
    """The name under which a family is built."""
    return f"long_range/{kind}/{distance}/{mode}"


def _generate(
    kind: Kind,
    distance: int,
    mode: Mode,
    tokenizer: Any,
    n_pairs: int,
    seed: int,
    corruption: Corruption,
) -> list[Item]:
    """Pairs at one distance. A pair has the same words at every distance and in both modes."""
    data = load("distances.toml", _Data)
    pool = getattr(data, kind).filler if kind in _LISTS else "weather"
    filler = filler_of(pool, tokenizer)
    return [
        item
        for pair in _pairs(kind, data, tokenizer, n_pairs, seed, corruption)
        for item in at_distance(
            pair, distance, mode, filler, corruption=corruption, front=f"{seed}.front"
        )
    ]


_LISTS = ("repeat", "induction_gap", "recall", "needle")


def _pairs(
    kind: Kind, data: _Data, tokenizer: Any, n_pairs: int, seed: int, corruption: Corruption
) -> list[FarPair]:
    asked = tokenizer, n_pairs, seed, corruption
    match kind:
        case "far_agreement":
            return agreement_pairs(data.far_agreement, *asked)
        case "far_coreference":
            return coreference_pairs(data.far_coreference, *asked)
        case "sentence_end":
            return end_pairs(data.sentence_end, *asked)
        case _:
            return list_pairs(kind, getattr(data, kind), data.words, *asked)


FAMILIES = tuple(
    Family(
        name=far_name(kind, distance, mode),
        corruptions=corruptions,
        generate=partial(_generate, kind, distance, mode),
    )
    for (kind, corruptions), distance, mode in product(KINDS.items(), DISTANCES, Mode)
)
