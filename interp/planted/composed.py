"""Induction and agreement, each by a head that reads what an earlier one wrote."""

import numpy as np

from interp.heads import Head
from interp.planted import prompts
from interp.planted.families import as_gpt2
from interp.planted.kit import Reading, Stream, head, previous
from interp.planted.known import SILENT, Known, Planted, consistent
from interp.planted.words import N_POSITIONS, VERBS, WORDS, circuit

_UPSTREAM = "previous token; a resample of these pairs does not move it"


def induction() -> Planted:
    """A previous-token head writes which word came before; the induction head looks for it."""
    return _recalling(
        "Induction by composition: previous token, then induction.",
        {"before": 1},
        known={Head(0, 0): Known(role=_UPSTREAM, zero=1.0, mean=1.0)},
    )


def either() -> Planted:
    """Two previous-token heads write the same; either is enough."""
    spare = Known(role="one of two previous-token heads, either of which is enough")
    return _recalling(
        "Upstream OR: removing either previous-token head shows nothing, both everything.",
        {"before": 2},
        known={Head(0, 0): spare, Head(0, 1): spare},
    )


def both() -> Planted:
    """Two previous-token heads write apart; the induction head needs both."""
    half = Known(
        role="one of two previous-token heads, both of which are needed", zero=1.0, mean=1.0
    )
    return _recalling(
        "Upstream AND: removing either previous-token head shows everything.",
        {"before": 1, "before_too": 1},
        known={Head(0, 0): half, Head(0, 1): half},
    )


def agreement() -> Planted:
    """The verb's head attends to a noun, unless a preposition stood before it."""
    stream = Stream(
        place=N_POSITIONS, number=2, is_noun=1, is_preposition=1, after_preposition=1, is_last=1,
        verb=2,
    )  # fmt: skip
    marks = previous(stream, takes=stream["is_preposition"], writes=stream["after_preposition"])
    agrees = head(
        stream,
        looks_for=stream["is_last"],
        finds=stream["is_noun"] - 2 * stream["after_preposition"],
        takes=stream["number"],
        writes=stream["verb"],
    )
    upstream = Known(
        role="marks the attractor, upstream",
        everywhere=2.0,
        zero=1.0,
        mean=1.0,
        verdict=SILENT,
        subtype="modifies L1H0",
    )
    return Planted(
        description="Agreement with attractor suppression.",
        files=as_gpt2(circuit(stream, [[marks], [agrees]], says="verb", words=VERBS)),
        items=prompts.agreement(),
        known={Head(0, 0): upstream, Head(1, 0): consistent("finds the subject")},
    )


def _recalling(description: str, written: dict[str, int], known: dict[Head, Known]) -> Planted:
    """Induction over the given subspaces, each written by that many previous-token heads."""
    stream = Stream(
        place=N_POSITIONS, word=len(WORDS), said=len(WORDS), **dict.fromkeys(written, len(WORDS))
    )
    upstream = [
        previous(stream, takes=stream["word"], writes=stream[name])
        for name, n_heads in written.items()
        for _ in range(n_heads)
    ]
    induces = head(
        stream,
        looks_for=_each(stream, ["word"] * len(written)),
        finds=_each(stream, list(written)),
        takes=stream["word"],
        writes=stream["said"],
        rest=len(written) - 0.5,
    )
    return Planted(
        description=description,
        files=as_gpt2(circuit(stream, [upstream, [induces]], says="said", words=WORDS)),
        items=prompts.recall(),
        known={**known, Head(1, 0): consistent("induction")},
    )


def _each(stream: Stream, names: list[str]) -> Reading:
    return np.hstack([stream[name] for name in names])
