"""Heads whose removal later parts make good: a backup, an eraser, a norm."""

from math import sqrt
from typing import Any

import numpy as np

from interp.heads import Head
from interp.planted import prompts
from interp.planted.families import as_llama
from interp.planted.kit import Stream, head
from interp.planted.known import CONSISTENT, INCONCLUSIVE, NEGATIVE, Known, Planted, consistent
from interp.planted.names import GENDERS, antecedent, any_of
from interp.planted.words import NAMES, circuit, filled_up


def backup() -> Planted:
    """The primary says the name and that it is done; the backup rests then. A negative head."""
    stream = Stream(**GENDERS, done=1)
    name, said = stream["name"], stream["said"]
    primary = antecedent(
        stream, takes=np.hstack([name, any_of(name)]), writes=np.hstack([said, stream["done"]])
    )
    spare = antecedent(stream, rests_if=stream["done"])
    negative = antecedent(stream, takes=-0.5 * name)
    return Planted(
        description="A primary head, its backup and a negative head.",
        files=as_llama(circuit(stream, [[primary], [spare, negative]], says="said", words=NAMES)),
        items=prompts.coreference(),
        known={
            Head(0, 0): Known(
                role="primary; repaired under zero, not under mean or resample", attention=1.0,
                cas=1.0, everywhere=2.0, query=2.0, edge=2.0, zero=0.0, mean=1.0, direct=1.0,
                norm=sqrt(2),
                verdict=CONSISTENT,
            ),
            Head(1, 0): Known(role="backup, at rest while the primary works"),
            Head(1, 1): consistent("says the opposite", size=-0.5, norm=0.5),
        },
    )  # fmt: skip


def eraser() -> Planted:
    """What one head says another takes back, whatever it is."""
    stream = Stream(**GENDERS, is_pronoun=1, marked=16)
    name, said = stream["name"], stream["said"]
    erased = antecedent(
        stream, takes=np.hstack([name, name]), writes=np.hstack([said, stream["marked"]])
    )
    erases = head(
        stream,
        looks_for=stream["is_pronoun"],
        finds=stream["is_pronoun"],
        takes=-stream["marked"],
        writes=said,
    )
    taken_back: dict[str, Any] = {"zero": -1.0, "mean": -1.0, "everywhere": -2.0, "query": -2.0}
    return Planted(
        description="Coreference by one head; what a second says, an eraser takes back.",
        files=as_llama(
            circuit(stream, [[antecedent(stream), erased], [erases]], says="said", words=NAMES)
        ),
        items=prompts.coreference(),
        known={
            Head(0, 0): consistent("finds the antecedent", norm=1.0),
            Head(0, 1): Known(
                role="erased: a direct effect, no total one, and no backup", attention=1.0, cas=1.0,
                direct=1.0, norm=sqrt(2), verdict=INCONCLUSIVE,
            ),
            Head(1, 0): Known(role="eraser", direct=-1.0, verdict=NEGATIVE, **taken_back),
        },
    )  # fmt: skip


RADIUS, STRONG, WEAK = 4.0, 3.0, 1.0
LOUD = 112 / 9
"""Squared length of what the weak head shouts: without the head, the norm makes up for all of it.

(3 + 1) / √(1 + (4² + 112/9) / 16) = 2.4 = 3 / √(1 + 3² / 16).
"""


def norm_repair() -> Planted:
    """A live final norm: a head that also lengthens the stream makes the others say less."""
    stream = Stream(**GENDERS, shout=1, ballast=1)
    name, said = stream["name"], stream["said"]
    strong = antecedent(stream, takes=STRONG * name)
    weak = antecedent(
        stream,
        takes=np.hstack([WEAK * name, sqrt(LOUD) * any_of(name)]),
        writes=np.hstack([said, stream["shout"]]),
    )
    plain = circuit(stream, [[strong, weak]], says="said", words=NAMES)
    intact = _said(STRONG + WEAK, 0.0, LOUD)
    return Planted(
        description="A norm that repairs what the removal of a head takes.",
        files=as_llama(filled_up(plain, stream, RADIUS), radius=RADIUS),
        items=prompts.coreference(),
        known={
            Head(0, 0): _through_norm(
                "says most", intact, moved=_said(WEAK, STRONG, LOUD), gone=_said(WEAK, 0.0, LOUD),
                averaged=_averaged(WEAK, STRONG, LOUD), direct=intact * STRONG / (STRONG + WEAK),
                norm=STRONG,
            ),
            Head(0, 1): _through_norm(
                "says some, and lengthens the stream", intact,
                moved=_said(STRONG, WEAK, LOUD), gone=_said(STRONG, 0.0, 0.0),
                averaged=_averaged(STRONG, WEAK, LOUD), direct=intact * WEAK / (STRONG + WEAK),
                norm=sqrt(WEAK**2 + LOUD),
            ),
        },
    )  # fmt: skip


def _said(answer: float, foil: float, loud: float) -> float:
    """The logit difference of a stream with so much of the answer and of the foil."""
    return (answer - foil) / sqrt(1 + (answer**2 + foil**2 + loud) / RADIUS**2)


def _averaged(kept: float, removed: float, loud: float) -> float:
    """The same where one head still says the answer and the other says every name a little."""
    n_names = len(NAMES)
    square = kept**2 + 2 * kept * removed / n_names + removed**2 / n_names
    return kept / sqrt(1 + (square + loud) / RADIUS**2)


def _through_norm(
    role: str, intact: float, *, moved: float, gone: float, averaged: float, direct: float,
    norm: float,
) -> Known:  # fmt: skip
    effect = intact - moved
    return Known(
        role=role, attention=1.0, cas=1.0, everywhere=effect, query=effect, edge=effect,
        zero=intact - gone, mean=intact - averaged, direct=direct, norm=norm, verdict=CONSISTENT,
    )  # fmt: skip
