"""Heads that look like the one that does coreference, or that an average hides."""

from math import log

import numpy as np

from interp.heads import Head
from interp.planted import prompts
from interp.planted.families import as_gpt2, as_llama
from interp.planted.kit import SHARPNESS, HeadWeights, Reading, Stream, head
from interp.planted.known import IDLE, INCONCLUSIVE, WRONG_EDGE, Known, Planted, consistent
from interp.planted.names import GENDERS, antecedent, any_of
from interp.planted.words import MALE, N_POSITIONS, NAMES, circuit


def decoys() -> Planted:
    """All attend to the antecedent; one head says it, the others say nothing that depends on it."""
    stream = Stream(**GENDERS, junk=16)
    name, said = stream["name"], stream["said"]
    always = 0.7 * (stream["one"] - stream["start"])
    heads = [
        antecedent(stream),
        antecedent(stream, writes=np.zeros_like(said)),
        antecedent(stream, takes=3 * name, writes=stream["junk"]),
        antecedent(stream, takes=always, writes=any_of(said)),
        antecedent(stream, takes=always, writes=said[:, :1]),
    ]
    constant = 0.7 * len(NAMES) ** 0.5
    return Planted(
        description="Coreference, and four heads with the same pattern that write to no end.",
        files=as_llama(circuit(stream, [heads], says="said", words=NAMES)),
        items=prompts.coreference(),
        known={
            Head(0, 0): consistent("finds the antecedent", norm=1.0),
            Head(0, 1): _decoy("writes nothing", "writes nothing", norm=0.0),
            Head(0, 2): _decoy("writes where nothing reads", "unread direction", norm=3.0),
            Head(0, 3): _decoy("writes a constant on every name", "constant writer", norm=constant),
            Head(0, 4): _decoy(f"writes a constant on {NAMES[0]}", "constant writer", norm=0.7),
        },
    )


def lookalikes() -> Planted:
    """Patterns that touch the source and do not follow it, and an effect that cells cancel."""
    stream = Stream(place=N_POSITIONS, **GENDERS)
    name, said, male = stream["name"], stream["said"], stream["name_gender"][:, :1]
    heads = [
        antecedent(stream),
        _graded(stream, source=0.3, other=0.3, sink=0.4),
        _graded(stream, source=0.003, other=0.002, sink=0.995),
        _always(stream, stream["place"][:, 2:3]),
        _always(stream, male),
        antecedent(stream, takes=name * np.tile([0.05, -0.05], 8), writes=said),
    ]
    return Planted(
        description="Coreference, and heads that attend to the source without selecting it.",
        files=as_gpt2(circuit(stream, [heads], says="said", words=NAMES)),
        items=prompts.coreference(),
        known={
            Head(0, 0): consistent("finds the antecedent"),
            Head(0, 1): Known(role="attends to both names and the sink, graded", attention=0.3),
            Head(0, 2): Known(
                role="parked on the sink, .003 on the source", attention=0.003, cas=0.001,
                everywhere=0.002, query=0.002, edge=0.002, zero=0.001, mean=0.001, direct=0.001,
            ),
            Head(0, 3): Known(role="attends to a place, whoever stands there", attention=0.5),
            Head(0, 4): Known(role="attends to male names, whoever is asked for", attention=0.5),
            Head(0, 5): Known(
                role="helps with common names as it harms with rare ones",
                attention=1.0, cas=1.0, verdict=INCONCLUSIVE,
            ),
        },
    )  # fmt: skip


def wrong_edge() -> Planted:
    """Half of the attention finds the antecedent and takes nothing; the other half does the work.

    That stays at the pronoun, takes its gender, and says every name of it.
    """
    stream = Stream(**GENDERS, is_pronoun=1)
    said = stream["said"]
    of_gender = np.hstack([any_of(said[:, : len(MALE)]), any_of(said[:, len(MALE) :])])
    half = head(
        stream,
        looks_for=np.hstack([stream["asked_gender"], stream["is_pronoun"]]),
        finds=np.hstack([stream["name_gender"], stream["is_pronoun"]]),
        takes=2 * stream["asked_gender"],
        writes=of_gender,
    )
    known = Known(
        role="attends to the name, and takes what it says from the pronoun", attention=0.5, cas=0.5,
        everywhere=2.0, query=2.0, zero=1.0, mean=1.0, direct=1.0, norm=0.0, verdict=WRONG_EDGE,
        subtype="other key",
    )  # fmt: skip
    return Planted(
        description="Attention to the antecedent, and an effect over another edge.",
        files=as_llama(circuit(stream, [[half]], says="said", words=NAMES)),
        items=prompts.coreference(),
        known={Head(0, 0): known},
    )


def _decoy(role: str, subtype: str, *, norm: float) -> Known:
    return Known(role=role, attention=1.0, cas=1.0, norm=norm, verdict=IDLE, subtype=subtype)


def _always(stream: Stream, finds: Reading) -> HeadWeights:
    """A head that finds the same at every query, and says half of the name there."""
    return head(
        stream,
        looks_for=stream["one"],
        finds=finds,
        takes=0.5 * stream["name"],
        writes=stream["said"],
    )


def _graded(stream: Stream, *, source: float, other: float, sink: float) -> HeadWeights:
    """A head that spreads its attention so over the antecedent, the other name and the sink.

    All three score about 1, and the rest of the text nothing.
    """
    is_name = any_of(stream["name"])
    more = log(source / other) / SHARPNESS
    return head(
        stream,
        looks_for=np.hstack([stream["one"], more * stream["asked_gender"]]),
        finds=np.hstack([is_name, stream["name_gender"]]),
        takes=stream["name"],
        writes=stream["said"],
        rest=1 + log(sink / other) / SHARPNESS,
    )
