"""Heads that matter and do not attend from the query to the source."""

from typing import Any

from interp.heads import Head
from interp.planted import prompts
from interp.planted.families import as_gpt2, as_llama
from interp.planted.kit import HeadWeights, MLPWeights, Stream, even, head, previous
from interp.planted.known import CONSISTENT, RESTS_UNMOVED, SILENT, Known, Planted, consistent
from interp.planted.names import GENDERS, antecedent, any_of
from interp.planted.words import N_POSITIONS, NAMES, circuit

ENDING = " went home now"
RELAY = "relay"
_HERE: dict[str, Any] = {"everywhere": 2.0, "query": 2.0, "zero": 1.0, "mean": 1.0}
_UPSTREAM: dict[str, Any] = {"everywhere": 2.0, "zero": 1.0, "mean": 1.0}


def diffuse() -> Planted:
    """A head that spreads its attention over all six tokens, and takes six times what it finds."""
    stream = Stream(name=16, said=16)
    spread = even(stream, takes=6 * stream["name"], writes=stream["said"])
    known = Known(
        role="attends evenly", attention=1.0 / 6, cas=None, edge=2.0, direct=1.0, norm=1.0,
        verdict=SILENT, subtype="diffuse", **_HERE,
    )  # fmt: skip
    return Planted(
        description="A name found by an even pattern.",
        files=as_llama(circuit(stream, [[spread]], says="said", words=NAMES)),
        items=prompts.mention(),
        known={Head(0, 0): known},
        rests=RESTS_UNMOVED,
    )


def relay() -> Planted:
    """The name is carried to the next word, and read there."""
    stream = Stream(place=N_POSITIONS, carried=16, is_last=1, name=16, said=16)
    carries = previous(stream, takes=stream["name"], writes=stream["carried"])
    return Planted(
        description="A name carried one word on, and read from there.",
        files=as_gpt2(
            circuit(stream, [[carries], [reads_carried(stream)]], says="said", words=NAMES)
        ),
        items=prompts.mention(),
        known=relay_known(),
        rests=RESTS_UNMOVED,
    )


def elsewhere() -> Planted:
    """The antecedent is found at the pronoun, and the answer read at a later word."""
    stream = Stream(**GENDERS, is_pronoun=1, is_last=1, resolved=16)
    resolves = antecedent(stream, writes=stream["resolved"])
    reads = head(
        stream,
        looks_for=stream["is_last"],
        finds=stream["is_pronoun"],
        takes=stream["resolved"],
        writes=stream["said"],
    )
    return Planted(
        description="Coreference resolved at the pronoun, before the query.",
        files=as_llama(circuit(stream, [[resolves], [reads]], says="said", words=NAMES)),
        items=prompts.coreference(ENDING),
        known={
            Head(0, 0): _silent(
                "finds the antecedent at another place than the query", RELAY, _UPSTREAM
            ),
            Head(1, 0): _silent("reads it from the pronoun", RELAY, _HERE, direct=1.0),
        },
    )


def query_modifier() -> Planted:
    """One head tells the query which gender is asked for; another looks for it."""
    stream = Stream(**GENDERS, is_pronoun=1, is_last=1, wanted=2)
    asks = head(
        stream,
        looks_for=stream["is_last"],
        finds=stream["is_pronoun"],
        takes=stream["asked_gender"],
        writes=stream["wanted"],
    )
    finds = antecedent(stream, looks_for=stream["wanted"])
    return Planted(
        description="Coreference in which one head changes what another looks for.",
        files=as_llama(circuit(stream, [[asks], [finds]], says="said", words=NAMES)),
        items=prompts.coreference(ENDING),
        known={
            Head(0, 0): _silent("changes the pattern of L1H0", "modifies L1H0", _HERE),
            Head(1, 0): consistent("finds the antecedent", norm=1.0),
        },
    )


def chain() -> Planted:
    """Four layers: found at the pronoun, carried two words on, read at the query."""
    stream = Stream(place=N_POSITIONS, **GENDERS, is_last=1, resolved=16, passed=16, carried=16)
    heads = [
        antecedent(stream, writes=stream["resolved"]),
        previous(stream, takes=stream["resolved"], writes=stream["passed"]),
        previous(stream, takes=stream["passed"], writes=stream["carried"]),
        reads_carried(stream),
    ]
    return Planted(
        description="Coreference through a chain of four heads.",
        files=as_gpt2(circuit(stream, [[one] for one in heads], says="said", words=NAMES)),
        items=prompts.coreference(ENDING),
        known={
            Head(0, 0): _silent("finds the antecedent at the pronoun", RELAY, _UPSTREAM),
            Head(1, 0): _silent("carries it one word on", "upstream", _UPSTREAM),
            Head(2, 0): _silent("carries it another word on", "upstream", _UPSTREAM),
            Head(3, 0): _silent("reads it", RELAY, _HERE, direct=1.0),
        },
    )


def pointer() -> Planted:
    """One head finds the antecedent and brings its place; another reads the name there."""
    stream = Stream(place=N_POSITIONS, **GENDERS, pointed=N_POSITIONS)
    points = antecedent(stream, takes=stream["place"], writes=stream["pointed"])
    reads = head(
        stream,
        looks_for=stream["pointed"],
        finds=stream["place"],
        takes=stream["name"],
        writes=stream["said"],
    )
    pointing = Known(
        role="attends to the name and brings its place", attention=1.0, cas=1.0, edge=2.0,
        verdict=CONSISTENT, **_HERE,
    )  # fmt: skip
    return Planted(
        description="Coreference in which the value carries a place, not a name.",
        files=as_gpt2(circuit(stream, [[points], [reads]], says="said", words=NAMES)),
        items=prompts.coreference(),
        known={Head(0, 0): pointing, Head(1, 0): consistent("reads the name at that place")},
    )


def through_mlp() -> Planted:
    """The head marks the name, and neurons turn the mark into the answer."""
    stream = Stream(**GENDERS, marked=16)
    with_neurons = circuit(
        stream,
        [[antecedent(stream, writes=stream["marked"])]],
        says="said",
        words=NAMES,
        mlps={0: MLPWeights(reads=stream["marked"], writes=stream["said"].T)},
    )
    marking = Known(
        role="finds the antecedent, for the MLP to say", attention=1.0, cas=1.0, edge=2.0,
        verdict=CONSISTENT, **_HERE,
    )  # fmt: skip
    return Planted(
        description="Coreference said by an MLP.",
        files=as_gpt2(with_neurons),
        items=prompts.coreference(),
        known={Head(0, 0): marking},
    )


def reads_carried(stream: Stream) -> HeadWeights:
    """A head of the last word that finds the word to which a name was carried, and says it."""
    return head(
        stream,
        looks_for=stream["is_last"],
        finds=any_of(stream["carried"]),
        takes=stream["carried"],
        writes=stream["said"],
    )


def relay_known() -> dict[Head, Known]:
    """What is known of a relay in two layers."""
    return {
        Head(0, 0): _silent("carries the name to the next word", RELAY, _UPSTREAM, cas=None),
        Head(1, 0): _silent("reads it there", RELAY, _HERE, cas=None, direct=1.0),
    }


def _silent(
    role: str,
    subtype: str,
    effects: dict[str, float],
    *,
    cas: float | None = 0.0,
    direct: float = 0.0,
) -> Known:
    return Known(role=role, cas=cas, direct=direct, verdict=SILENT, subtype=subtype, **effects)
