"""Names of heads: one type, one spelling, one order."""

import difflib
import re
from collections.abc import Iterable
from typing import NamedTuple, TypeAlias

_SPELLINGS = re.compile(
    r"L(?P<layer>\d+)H(?P<head>\d+)|(?P<layer_>\d+)\.(?P<head_>\d+)", re.IGNORECASE
)
_KV_SPELLING = re.compile(r"L(?P<layer>\d+)KV(?P<kv_head>\d+)", re.IGNORECASE)


class Head(NamedTuple):
    """One attention head, both indices counted from 0. Sorts by layer, then head."""

    layer: int
    head: int

    @property
    def label(self) -> str:
        """The head as it is printed everywhere: `L27H0`."""
        return f"L{self.layer}H{self.head}"


class KVHead(NamedTuple):
    """One key/value head, which a group of query heads shares. Both indices from 0."""

    layer: int
    kv_head: int

    @property
    def label(self) -> str:
        """The key/value head as it is printed everywhere: `L27KV0`."""
        return f"L{self.layer}KV{self.kv_head}"

    def label_with_queries(self, *, n_heads: int, n_kv_heads: int) -> str:
        """The label with the query heads that it serves: `L27KV0 (Q0–Q2)`."""
        group = n_heads // n_kv_heads
        first = self.kv_head * group
        queries = f"Q{first}" if group == 1 else f"Q{first}–Q{first + group - 1}"
        return f"{self.label} ({queries})"


HeadSpec: TypeAlias = str | tuple[int, int] | Iterable["str | tuple[int, int]"]
"""One head or several, each as `"9.6"`, `"L9H6"`, `(9, 6)` or a `Head`."""

KVHeadSpec: TypeAlias = str | KVHead | Iterable["str | KVHead"]
"""One key/value head or several, each as `"L9KV0"` or a `KVHead`."""


def parse_head(text: str, *, n_layers: int, n_heads: int) -> Head:
    """The head that `"L27H0"` or `"27.0"` names.

    Raises:
        ValueError: the text is no head's name, or the model has no such head.
    """
    return _in_range(_as_head(text), n_layers, n_heads)


def parse_heads(heads: HeadSpec, *, n_layers: int, n_heads: int) -> list[Head]:
    """The heads of a model that were named, in order, each once (see `as_heads`).

    Raises:
        ValueError: none was named, something is no head's name, or the model has no such head.
    """
    return [_in_range(head, n_layers, n_heads) for head in as_heads(heads)]


def as_heads(heads: HeadSpec) -> list[Head]:
    """The heads that were named, in order, each once. Whether a model has them is not known here.

    Raises:
        ValueError: none was named, or something that is no head's name.
    """
    single = isinstance(heads, str) or _is_pair(heads)
    named = sorted({_as_head(head) for head in ([heads] if single else heads)})
    if not named:
        raise ValueError('expected one head or more, such as ["L3H5", "3.6"], got none.')
    return named


def as_kv_heads(kv_heads: KVHeadSpec) -> list[KVHead]:
    """The key/value heads that were named, in order, each once.

    A query head's name is refused, for in a grouped model it would mean another head.

    Raises:
        ValueError: none was named, or something that is no key/value head's name.
    """
    single = isinstance(kv_heads, str | KVHead)
    named = sorted({_as_kv_head(kv_head) for kv_head in ([kv_heads] if single else kv_heads)})
    if not named:
        raise ValueError('expected one key/value head or more, such as "L3KV0", got none.')
    return named


def kv_head_of(head: Head, *, n_heads: int, n_kv_heads: int) -> KVHead:
    """The key/value head that a query head reads."""
    return KVHead(head.layer, head.head // (n_heads // n_kv_heads))


def _in_range(head: Head, n_layers: int, n_heads: int) -> Head:
    if head.layer >= n_layers or head.head >= n_heads:
        nearest = Head(min(head.layer, n_layers - 1), min(head.head, n_heads - 1))
        raise ValueError(
            f"there is no head {head.label}: this model has layers 0 to {n_layers - 1} "
            f"with heads 0 to {n_heads - 1}; the nearest is {nearest.label}."
        )
    return head


def _is_pair(value: object) -> bool:
    return (
        isinstance(value, tuple)
        and len(value) == 2
        and all(isinstance(index, int) for index in value)
    )


def _as_head(head: object) -> Head:
    match = _SPELLINGS.fullmatch(head.strip()) if isinstance(head, str) else None
    if match is not None:
        return Head(
            int(match["layer"] or match["layer_"] or 0), int(match["head"] or match["head_"] or 0)
        )
    if _is_pair(head) and not isinstance(head, KVHead) and min(head) >= 0:  # type: ignore[call-overload]  # a pair
        return Head(*head)  # type: ignore[misc]  # a pair
    raise ValueError(f'expected a head such as "L3H5" or "3.5", got {head!r}.')


def _as_kv_head(kv_head: object) -> KVHead:
    if isinstance(kv_head, KVHead):
        return kv_head
    match = _KV_SPELLING.fullmatch(kv_head.strip()) if isinstance(kv_head, str) else None
    if match is None:
        raise ValueError(
            f'expected a key/value head such as "L3KV0", got {kv_head!r}; '
            "`kv_head_of` says which one a query head reads."
        )
    return KVHead(int(match["layer"]), int(match["kv_head"]))


def all_heads(n_layers: int, n_heads: int) -> list[Head]:
    """Every head of a model, in order."""
    return [Head(layer, head) for layer in range(n_layers) for head in range(n_heads)]


def nearest_name(name: str, names: Iterable[str]) -> str | None:
    """The name most like a misspelt one, or None when nothing is near."""
    matches = difflib.get_close_matches(name.lower(), list(names), n=1, cutoff=0.5)
    return matches[0] if matches else None
