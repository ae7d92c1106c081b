"""Whether position, wording or frequency could tell the answer: the balance of a set of items."""

import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from jaxtyping import Float
from scipy.stats import chi2_contingency

from interp.items import Corruption, Item, Span
from interp.tokens import continuation, text_tokens

MIN_PAIRS = 64
"""Fewer pairs cannot fill the cells of a design, and are not held to its balance."""

_ONE = 1.0
_PAIR = 2.0
_SHARE = 0.2
_D = 0.1
_P = 0.05


class Finding(NamedTuple):
    """One rule on one part of the items; it holds where `value` does not pass `bound`."""

    rule: str
    split: str
    worst: str
    value: float
    bound: float
    holds: bool


def balance(items: Sequence[Item], tokenizer: Any) -> pd.DataFrame:
    """One row a rule and split (none: all items): `rule, split, worst, value, bound, holds`.

    - `cells`: how far the number of pairs with an item in a cell, a template and labels, is from
      the mean of its split; at most 1.
    - `answers`: how much more often a word is the answer than the foil, or less, in items of a
      split; at most 2, which is a pair.
    - `lexemes`: how far the count of a lexeme is from the mean of its slot in a split, as a share;
      at most a fifth, or a pair. Slots that differ in a number are one.
    - `slot`: the p-value of χ² between the answer and the slot of the source; at least .05. It is
      asked of closed classes, answers that all templates have.
    - `rank`: Cohen's d between the token ids of answers and foils, which are ranks of frequency
      where a vocabulary is sorted by merges; at most .1 either way.
    - `place`: the same between the positions of sources and distractors in a role flip.
    - `length`, `position`, `distance`: the same for the number of tokens, the position of the
      source, and the tokens from it to the query, between items in which the one and the other of
      two answers is right. They too are asked of closed classes.
    - `one split`: templates and lexemes that are in both splits; none.

    `worst` is the cell or word that is farthest off.
    """
    findings = [
        *_by_split("cells", items, _cells),
        *_by_split("answers", items, _answers),
        *_lexemes(items),
        *_slot(items),
        *_distances(items, tokenizer),
        _one_split(items),
    ]
    return pd.DataFrame(findings)


def require_balance(items: Sequence[Item], tokenizer: Any) -> None:
    """Nothing, when every rule of `balance` holds.

    Raises:
        ValueError: one does not; the message names the rule and what is farthest off.
    """
    table = balance(items, tokenizer)
    broken = table[~table["holds"]]
    if len(broken):
        first = Finding(*broken.iloc[0])
        where = f" in {first.split}" if first.split else ""
        limit = "at least" if first.rule == "slot" else "at most"
        raise ValueError(
            f'the {len(items)} items are not balanced{where}: rule "{first.rule}" wants {limit} '
            f"{first.bound:.3g}, got {first.value:.3g} ({first.worst}); correct the design, or the "
            "words in data."
        )


def _by_split(
    rule: str, items: Sequence[Item], worst: Callable[[Sequence[Item]], tuple[str, float, float]]
) -> Iterator[Finding]:
    for split in dict.fromkeys(item.split for item in items):
        name, value, bound = worst([item for item in items if item.split == split])
        yield Finding(rule, split, name, value, bound, value <= bound)


def _cells(items: Sequence[Item]) -> tuple[str, float, float]:
    """The cell farthest from the mean; every template is expected to have all its labels."""
    in_cells = {(item.pair_id, item.template_id, _labels(item)) for item in items}
    counts = Counter((template, cell) for _, template, cell in in_cells)
    labels: dict[tuple[str, ...], set[str]] = {}
    for item in items:
        labels.setdefault(tuple(sorted(item.labels)), set()).add(_labels(item))
    keys = {item.template_id: tuple(sorted(item.labels)) for item in items}
    cells = [(name, cell) for name, key in keys.items() for cell in sorted(labels[key])]
    mean = len(in_cells) / len(cells)
    worst = max(cells, key=lambda cell: abs(counts[cell] - mean))
    return ": ".join(worst), abs(counts[worst] - mean), _ONE


def _labels(item: Item) -> str:
    return ", ".join(f"{name}={value}" for name, value in sorted(item.labels.items()))


def _answers(items: Sequence[Item]) -> tuple[str, float, float]:
    surplus = Counter(item.answer_text for item in items)
    surplus.subtract(item.foil_text for item in items)
    word = max(surplus, key=lambda word: abs(surplus[word]))
    return word.strip(), float(abs(surplus[word])), _PAIR


def _lexemes(items: Sequence[Item]) -> Iterator[Finding]:
    used: dict[tuple[str, str], Counter[str]] = {}
    for item in items:
        for slot, lexeme in item.lexemes.items():
            used.setdefault((item.split, _kind(slot)), Counter())[lexeme] += 1
    for (split, kind), counts in used.items():
        mean = sum(counts.values()) / len(counts)
        worst = max(counts, key=lambda word: abs(counts[word] - mean))
        value, bound = abs(counts[worst] / mean - 1), max(_SHARE, _PAIR / mean)
        yield Finding("lexemes", split, f"{kind} {worst}", value, bound, value <= bound)


def _kind(slot: str) -> str:
    return re.sub(r"\d+$", "", slot)


def _slot(items: Sequence[Item]) -> Iterator[Finding]:
    placed = [item for item in _closed(items) if "source_slot" in item.labels]
    slots = [item.labels["source_slot"] for item in placed]
    if len(set(slots)) > 1:
        table = pd.crosstab([item.answer_text for item in placed], slots)
        p_value = float(chi2_contingency(table.to_numpy()).pvalue)
        yield Finding("slot", "", "answer by source_slot", p_value, _P, p_value >= _P)


class _Counted(NamedTuple):
    """An item in tokens: ranks of its answers, its length, and where source and distractor begin.

    Positions are None where there is no such span.
    """

    answer: int
    foil: int
    length: int
    source: int | None
    distractor: int | None


def _distances(items: Sequence[Item], tokenizer: Any) -> Iterator[Finding]:
    """The rules that compare two means."""
    counted = [_counted(item, tokenizer) for item in items]
    answers, foils = zip(*((each.answer, each.foil) for each in counted), strict=True)
    yield _two("rank", "answers against foils", answers, foils)

    places = [
        (each.source, each.distractor)
        for item, each in zip(items, counted, strict=True)
        if item.corruption is Corruption.ROLE_FLIP and each.distractor is not None
    ]
    if places:
        yield _two("place", "sources against distractors", *zip(*places, strict=True))

    closed = _closed(items)
    is_first = np.array([item.answer_text < item.foil_text for item in closed], bool)
    by_item = dict(zip(map(id, items), counted, strict=True))
    of_closed = [by_item[id(item)] for item in closed]
    lengths = np.array([each.length for each in of_closed])
    numbers = {"length": lengths}
    if all(each.source is not None for each in of_closed):
        numbers["position"] = np.array([each.source for each in of_closed])
        numbers["distance"] = lengths - numbers["position"]
    for rule, values in numbers.items() if closed else ():
        yield _two(rule, "one answer against the other", values[is_first], values[~is_first])


def _counted(item: Item, tokenizer: Any) -> _Counted:
    return _Counted(
        answer=_rank(item, item.answer_text, tokenizer),
        foil=_rank(item, item.foil_text, tokenizer),
        length=len(text_tokens(item.clean_text, tokenizer)[0]),
        source=_first(item, item.source, tokenizer),
        distractor=_first(item, item.distractors, tokenizer),
    )


def _closed(items: Sequence[Item]) -> list[Item]:
    """The items whose answer is right somewhere in every template, as is or are and no name is."""
    templates: dict[str, set[str]] = {}
    for item in items:
        templates.setdefault(item.answer_text, set()).add(item.template_id)
    n_templates = len({item.template_id for item in items})
    return [item for item in items if len(templates[item.answer_text]) == n_templates]


def _rank(item: Item, word: str, tokenizer: Any) -> int:
    text = item.clean_text if item.query is None else item.clean_text[: item.query.end]
    ids = continuation(text, word, tokenizer)
    return ids[-1] if ids else text_tokens(word, tokenizer)[0][0]


def _first(item: Item, spans: Sequence[Span], tokenizer: Any) -> int | None:
    if not spans:
        return None
    start = min(span.start for span in spans)
    return len(text_tokens(item.clean_text[:start].rstrip(), tokenizer)[0])


def _two(rule: str, worst: str, one: Any, other: Any) -> Finding:
    value = abs(cohen_d(np.asarray(one, float), np.asarray(other, float)))
    return Finding(rule, "", worst, value, _D, value <= _D)


def cohen_d(one: Float[np.ndarray, " n"], other: Float[np.ndarray, " m"]) -> float:
    """The difference of two means in pooled standard deviations; 0 where the means are equal.

    Source: Cohen 1988, Statistical Power Analysis, with the pooled sample deviation.
    """
    difference = float(one.mean() - other.mean()) if len(one) and len(other) else 0.0
    if difference == 0:
        return 0.0
    squares = ((one - one.mean()) ** 2).sum() + ((other - other.mean()) ** 2).sum()
    freedom = len(one) + len(other) - 2
    deviation = float(np.sqrt(squares / freedom)) if freedom else 0.0
    return difference / deviation if deviation else float(np.copysign(np.inf, difference))


def _one_split(items: Sequence[Item]) -> Finding:
    homes: dict[str, set[str]] = {}
    for item in items:
        words = [f"{_kind(slot)} {lexeme}" for slot, lexeme in item.lexemes.items()]
        for word in (f"template {item.template_id}", *words):
            homes.setdefault(word, set()).add(item.split)
    shared = [word for word, splits in homes.items() if len(splits) > 1]
    worst = shared[0] if shared else ""
    return Finding("one split", "", worst, float(len(shared)), 0.0, not shared)
