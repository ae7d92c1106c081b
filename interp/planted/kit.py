"""A construction kit: a residual stream of named subspaces, and heads written as what they do.

A head is written as what it looks for, what it finds, what it takes and what it writes. A query
matches a key where the two readings agree; a match scores `sharpness`, so that the softmax is all
but one-hot. A head that finds nothing rests on the first token, from which it takes nothing.
"""

from dataclasses import dataclass, field
from typing import TypeAlias

import numpy as np
from jaxtyping import Float

Reading: TypeAlias = Float[np.ndarray, "d_model _"]
"""Linear features of the residual stream, a column each."""

SHARPNESS = 30.0


class Stream:
    """The residual stream as a direct sum of subspaces, each coordinate with one meaning.

    Every stream has two flags, `one` (1 at each token) and `start` (1 at the document separator).
    `stream["name"]` is the reading of a subspace: the columns that pick its coordinates.
    """

    def __init__(self, **sizes: int) -> None:
        sizes = {"one": 1, "start": 1, **sizes}
        self.width: int = sum(sizes.values())
        ends = np.cumsum(list(sizes.values()))
        self._columns = {
            name: np.arange(end - size, end)
            for (name, size), end in zip(sizes.items(), ends, strict=True)
        }

    def __contains__(self, name: str) -> bool:
        return name in self._columns

    def __getitem__(self, name: str) -> Reading:
        return np.eye(self.width)[:, self._columns[name]]

    @property
    def nothing(self) -> Reading:
        """A feature that is 0 everywhere."""
        return np.zeros((self.width, 1))


@dataclass(frozen=True, kw_only=True)
class HeadWeights:
    """One head's four maps, scores unscaled."""

    query: Float[np.ndarray, "d_model d_match"]
    key: Float[np.ndarray, "d_model d_match"]
    value: Float[np.ndarray, "d_model d_value"]
    output: Float[np.ndarray, "d_value d_model"]

    @property
    def d_head(self) -> int:
        """The least size that holds the head."""
        return int(max(self.query.shape[1], self.value.shape[1]))


@dataclass(frozen=True, kw_only=True)
class MLPWeights:
    """A layer of ReLU neurons without biases."""

    reads: Float[np.ndarray, "d_model neuron"]
    writes: Float[np.ndarray, "neuron d_model"]


@dataclass(frozen=True, kw_only=True)
class Circuit:
    """All weights of a model, before a family's form is given to them.

    Attributes:
        embedding, positions: what a token and a place put into the stream.
        heads: by layer and number.
        unembedding: a reading for each word of the vocabulary.
        mlps: by layer; other layers have none.
    """

    embedding: Float[np.ndarray, "vocab d_model"]
    positions: Float[np.ndarray, "pos d_model"]
    heads: list[list[HeadWeights]]
    unembedding: Float[np.ndarray, "d_model vocab"]
    mlps: dict[int, MLPWeights] = field(default_factory=dict)


def head(
    stream: Stream,
    *,
    looks_for: Reading,
    finds: Reading,
    takes: Reading,
    writes: Reading,
    rest: float = 0.5,
    rests_if: Reading | None = None,
) -> HeadWeights:
    """A head that attends where what it looks for meets what it finds, and copies from there.

    Scores are `SHARPNESS × looks_for · finds`; the first token scores `SHARPNESS × rest` instead
    of nothing.

    Args:
        takes, writes: the n-th feature taken is added along the n-th one written.
        rest: score of the resting place, in units of a match; 0 for none.
        rests_if: one feature of the query that raises the resting place by its size.
    """
    resting = rest * stream["one"] + (stream.nothing if rests_if is None else rests_if)
    return HeadWeights(
        query=SHARPNESS * np.hstack([looks_for, resting]),
        key=np.hstack([finds, stream["start"]]),
        value=takes,
        output=writes.T,
    )


def resting(stream: Stream) -> HeadWeights:
    """A head that looks for nothing and writes nothing."""
    nothing = stream.nothing
    return head(stream, looks_for=nothing, finds=nothing, takes=nothing, writes=nothing)


def even(stream: Stream, *, takes: Reading, writes: Reading) -> HeadWeights:
    """A head that attends evenly to all that it may."""
    nothing = stream.nothing
    return head(stream, looks_for=nothing, finds=nothing, takes=takes, writes=writes, rest=0.0)


def previous(stream: Stream, *, takes: Reading, writes: Reading) -> HeadWeights:
    """A head that attends from each place to the one before it."""
    place = stream["place"]
    before = np.eye(place.shape[1], k=-1)
    return head(stream, looks_for=place @ before, finds=place, takes=takes, writes=writes, rest=0.0)
