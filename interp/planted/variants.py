"""The same plants in other forms: shared keys, live norms, rotation, both directions, a crowd."""

from dataclasses import replace

import numpy as np

from interp.heads import Head
from interp.planted import prompts
from interp.planted.families import as_bert, as_llama
from interp.planted.kit import SHARPNESS, HeadWeights, Stream, resting
from interp.planted.known import RESTS, RESTS_UNMOVED, Known, Planted, consistent
from interp.planted.names import GENDERS, antecedent
from interp.planted.silent import reads_carried, relay_known
from interp.planted.words import NAMES, circuit, filled_up

BALLAST = 1000.0
_FINDS = "finds the antecedent"


def grouped() -> Planted:
    """Two query heads share one key and one value; each says its part."""
    stream = Stream(**GENDERS)
    whole = antecedent(stream)
    half = antecedent(stream, writes=0.5 * stream["said"])
    rests = resting(stream)
    return Planted(
        description="Coreference by two heads that share keys and values.",
        files=as_llama(
            replace(
                circuit(stream, [[]], says="said", words=NAMES),
                heads=[[whole, half, rests, rests]],
            ),
            n_kv_heads=2,
        ),
        items=prompts.coreference(),
        known={
            Head(0, 0): consistent(_FINDS, norm=1.0),
            Head(0, 1): consistent(f"{_FINDS}, says half of it", size=0.5, norm=0.5),
        },
    )


def ballast() -> Planted:
    """Live norms, and a coordinate so large that what heads write does not move them."""
    stream = Stream(**GENDERS, ballast=1)
    plain = circuit(stream, [[antecedent(stream)]], says="said", words=NAMES)
    return Planted(
        description="Coreference under live norms, steadied by ballast.",
        files=as_llama(filled_up(plain, stream, BALLAST), radius=BALLAST),
        items=prompts.coreference(),
        known={Head(0, 0): consistent(_FINDS, norm=1.0)},
    )


def bidirectional() -> Planted:
    """An encoder: post-norms, and every query sees every key."""
    stream = Stream(**GENDERS)
    return Planted(
        description="Coreference in an encoder.",
        files=as_bert(circuit(stream, [[antecedent(stream)]], says="said", words=NAMES)),
        items=prompts.coreference(),
        known={Head(0, 0): replace(consistent(_FINDS), direct=None)},
        rests=replace(RESTS, direct=None),
    )


def rotary() -> Planted:
    """A relay whose previous-token head asks and answers the same everywhere: rotation finds it."""
    stream = Stream(carried=16, is_last=1, name=16, said=16)
    rests = _slow(resting(stream))
    plain = replace(
        circuit(stream, [[]], says="said", words=NAMES),
        heads=[[_turned_back(stream), rests], [_slow(reads_carried(stream)), rests]],
    )
    rope = {"rope_type": "default", "rope_theta": THETA}
    return Planted(
        description="A relay by rotary positions.",
        files=as_llama(plain, rope=rope, d_head=D_HEAD),
        items=prompts.mention(),
        known=relay_known(),
        rests=RESTS_UNMOVED,
    )


def crowd(*, seed: int = 0) -> Planted:
    """One planted head among seven with small random weights."""
    stream = Stream(**GENDERS)
    rng = np.random.default_rng(seed)
    shape = (stream.width, 4)
    others = [
        HeadWeights(
            query=rng.normal(size=shape),
            key=rng.normal(size=shape),
            value=rng.normal(scale=0.03, size=shape),
            output=rng.normal(scale=0.03, size=shape).T,
        )
        for _ in range(7)
    ]
    plain = circuit(stream, [[]], says="said", words=NAMES)
    stranger = Known(role="small random weights", attention=None, cas=None, verdict=None)
    return Planted(
        description="Coreference by one head among seven of small random weights.",
        files=as_llama(replace(plain, heads=[[antecedent(stream), *others]])),
        items=prompts.coreference(),
        known={
            Head(0, 0): consistent(_FINDS, norm=1.0),
            **{Head(0, number): stranger for number in range(1, 8)},
        },
        tolerance=0.015,  # a stranger's logit: .03² × √4 = .0018; three of its difference, doubled
    )


D_HEAD, THETA = 64, 1e4


def _turned_back(stream: Stream) -> HeadWeights:
    """Query and key are constant; the query is turned back by one step in each pair of planes.

    The score is Σ cos(ω (i − j − 1)) over the frequencies ω, which is largest at j = i − 1.
    """
    angle = THETA ** (-np.arange(0, D_HEAD, 2) / D_HEAD)
    query = np.concatenate([np.cos(angle), -np.sin(angle)])
    key = np.concatenate([np.ones_like(angle), np.zeros_like(angle)])
    return HeadWeights(
        query=SHARPNESS * stream["one"] * query,
        key=stream["one"] * key,
        value=stream["name"],
        output=stream["carried"].T,
    )


def _slow(head: HeadWeights) -> HeadWeights:
    """The head, its matches in the planes that turn slowest: 10⁻⁴ of a turn over a short prompt."""
    n_features = head.query.shape[1]
    columns = D_HEAD // 2 - 1 - np.arange(n_features)
    query, key = (np.zeros((len(head.query), D_HEAD)) for _ in range(2))
    query[:, columns], key[:, columns] = head.query, head.key
    return replace(head, query=query, key=key)
