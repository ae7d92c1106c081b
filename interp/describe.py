"""A set of items as a model's tokenizer cuts it: spans, counts, balance, cues, and behaviour."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, fields, replace
from math import isnan
from typing import Any

import pandas as pd

from interp.asked import as_read, has_logits
from interp.behaviour import (
    answer_table,
    behaviour,
    cells,
    item_table,
    representation_table,
)
from interp.effects.metrics import LOGIT_DIFFERENCE
from interp.items import Item, ScoringItem, Span
from interp.models.model import Model
from interp.report.spelling import counted, visible
from interp.tasks import balance, heuristics
from interp.tasks.readers import Reading
from interp.tokens import covering, text_ids

N_EXAMPLES = 2
_AROUND = 4
"""Tokens shown on either side of a marked one, where a text is long."""

MARKS = "S source, D distractor, Q query, C what the counterfactual changes; tokens divided by |"


@dataclass(frozen=True, kw_only=True)
class Description:
    """What `describe` found. Each table is empty where it does not apply.

    Attributes:
        counts: one row a template or relation: `template, n_items, n_pairs`, and the most tokens,
            `n_tokens`, those of the prefix too.
        dropped: one row for each thing that was not read: `place, reason`.
        examples: `template, item_id, tokens` (see `MARKS`), `answer`, `foil`.
        balance, heuristics: see `interp.tasks`.
        behaviour, cells: see `interp.behaviour`; without logits the contrast is one of cosines and
            has an interval, but no gate, which is one of logits.
        measured: what the contrast is a contrast of.
    """

    counts: pd.DataFrame
    dropped: pd.DataFrame
    examples: pd.DataFrame
    balance: pd.DataFrame = field(default_factory=pd.DataFrame)
    heuristics: pd.DataFrame = field(default_factory=pd.DataFrame)
    behaviour: pd.DataFrame = field(default_factory=pd.DataFrame)
    cells: pd.DataFrame = field(default_factory=pd.DataFrame)
    measured: str = ""

    def lines(self) -> Iterator[str]:
        """Counts, examples, and the tables that apply, as they are printed."""
        yield _printed(self.counts)
        yield f"\nexamples ({MARKS}):"
        for row in self.examples.itertuples():
            answer = f"  → {row.answer!r}, not {row.foil!r}" if row.answer else ""
            yield f"{row.template}, {row.item_id}: {row.tokens}{answer}"
        for title, table in (
            ("balance", self.balance),
            ("cues alone (chance .5)", self.heuristics),
            (f"behaviour ({self.measured})", self.behaviour),
            ("cells", self.cells),
        ):
            if len(table):
                yield f"\n{title}:"
                yield _printed(table.drop(columns=["reason"], errors="ignore"))
        for row in self.behaviour.itertuples():
            if getattr(row, "reason", ""):
                yield f"{row.template_id}: {row.reason}"

    def as_rows(self) -> list[dict[str, Any]]:
        """Every row of every table, with the name of its table."""
        return [
            {"table": each.name, **row}
            for each in fields(self)
            if isinstance(table := getattr(self, each.name), pd.DataFrame)
            for row in table.to_dict(orient="records")
        ]


def dropped_lines(dropped: pd.DataFrame) -> Iterator[str]:
    """Each thing that was left out; a reason that comes often has its first place and its count."""
    for reason, rows in dropped.groupby("reason", sort=False):
        others = f" (and {len(rows) - 1} more for this reason)" if len(rows) > 1 else ""
        yield f"left out: {rows['place'].iloc[0]}: {reason}{others}"


def _printed(table: pd.DataFrame) -> str:
    """A table to three decimals. What is not known is a dash, and no p-value is 0."""
    p_values = {
        name: table[name].map(lambda p: "–" if isnan(p) else "<.001" if p < 0.001 else f"{p:.3f}")
        for name in table.columns
        if name == "p_value"
    }
    return str(
        table.assign(**p_values).to_string(
            index=False, float_format=lambda value: f"{value:.3f}", na_rep="–"
        )
    )


def describe(model: Model, reading: Reading[Item] | Reading[ScoringItem]) -> Description:
    """Everything that can be said of items before a head is touched.

    Pairs have a counterfactual, and so balance, cues and behaviour; items from natural text have
    spans only.

    Raises:
        ValueError: a span's tokens do not read as its words.
    """
    items = reading.items
    pairs = [item for item in items if isinstance(item, Item)]
    read = as_read(model, pairs) if pairs else items
    found = Description(
        counts=_counts(items, model),
        dropped=reading.dropped,
        examples=_examples(read, model),
    )
    if not pairs:
        return found
    found = replace(found, balance=balance(pairs, model.tokenizer), heuristics=heuristics(pairs))
    if has_logits(model):
        answers = _answers(model, as_read(model, pairs))
        where = "next token" if model.is_causal else "at a mask"
        return replace(
            found,
            behaviour=behaviour(answers),
            cells=cells(answers),
            measured=f"logit of the answer less that of the foil, {where}",
        )
    placed = [item for item in as_read(model, pairs) if item.source and item.distractors]
    if not placed:
        return found
    margins = representation_table(model, placed)
    return replace(
        found,
        behaviour=behaviour(margins).drop(columns=["accuracy", "passes", "reason"]),
        cells=cells(margins).rename(
            columns=lambda name: name.replace("logit_difference", "margin")
        ),
        measured="cosine of query and source less that of query and distractor, last layer",
    )


def _answers(model: Model, items: Sequence[Item]) -> pd.DataFrame:
    if model.is_causal:
        return answer_table(model, items)
    return item_table(model, model.encode(items), LOGIT_DIFFERENCE)


def _template(item: Item | ScoringItem) -> str:
    if isinstance(item, Item):
        return item.template_id
    return ", ".join(
        [item.task, *(item.labels[name] for name in ("query",) if name in item.labels)]
    )


def _text(item: Item | ScoringItem) -> str:
    return item.clean_text if isinstance(item, Item) else item.text


def _counts(items: Sequence[Item | ScoringItem], model: Model) -> pd.DataFrame:
    n_around = len(model.prefix.before) + len(model.prefix.after)
    rows = pd.DataFrame(
        {
            "template": [_template(item) for item in items],
            "pair": [item.pair_id if isinstance(item, Item) else None for item in items],
            "n_tokens": [n_around + len(text_ids(_text(item), model.tokenizer)) for item in items],
        }
    )
    by_template = rows.groupby("template", sort=True)
    return pd.DataFrame(
        {
            "n_items": by_template.size(),
            "n_pairs": by_template["pair"].nunique(),
            "n_tokens": by_template["n_tokens"].max(),
        }
    ).reset_index()


def _examples(items: Sequence[Item | ScoringItem], model: Model) -> pd.DataFrame:
    """The first items of each template, both directions of a pair."""
    shown: dict[str, list[Item | ScoringItem]] = {}
    for item in items:
        of_template = shown.setdefault(_template(item), [])
        if len(of_template) < N_EXAMPLES:
            of_template.append(item)
    return pd.DataFrame(
        [
            {
                "template": template,
                "item_id": item.item_id,
                "tokens": marked_tokens(item, model),
                "answer": item.answer_text if isinstance(item, Item) else "",
                "foil": item.foil_text if isinstance(item, Item) else "",
            }
            for template in sorted(shown)
            for item in shown[template]
        ],
        columns=["template", "item_id", "tokens", "answer", "foil"],
    )


def marked_tokens(item: Item | ScoringItem, model: Model) -> str:
    """The tokens of an item under the model's prefix, as text, with its spans marked.

    What cannot be seen is spelt out; a long stretch without marks is given as its number of tokens.

    Raises:
        ValueError: a span has no tokens.
    """
    text, tokenizer = _text(item), model.tokenizer
    ids = text_ids(text, tokenizer)
    marks: dict[int, str] = {}

    def mark(spans: Sequence[Span], letter: str) -> None:
        for span in spans:
            for place in covering(span, text, tokenizer)[0]:
                marks[place] = marks.get(place, "") + letter

    mark(item.source, "S")
    mark(item.distractors, "D")
    if item.query is not None:
        mark([item.query], "Q")
    else:
        marks[len(ids) - 1] = marks.get(len(ids) - 1, "") + "Q"
    for place in _changed(ids, item, tokenizer):
        marks[place] = "C" + marks.get(place, "")
    before, after = model.prefix.before, model.prefix.after
    pieces = [_readable([token], tokenizer) for token in before]
    hidden = 0
    for place, token in enumerate(ids):
        if not any(abs(place - each) <= _AROUND for each in marks) and place > _AROUND:
            hidden += 1
            continue
        if hidden:
            pieces.append(f"… {counted(hidden, 'token')} …")
            hidden = 0
        read = _readable([token], tokenizer)
        pieces.append(f"[{marks[place]}:{read}]" if place in marks else read)
    if hidden:
        pieces.append(f"… {counted(hidden, 'token')} …")
    return "|".join([*pieces, *(_readable([token], tokenizer) for token in after)])


def _changed(ids: Sequence[int], item: Item | ScoringItem, tokenizer: Any) -> list[int]:
    """Where the counterfactual has another token; nowhere in natural text."""
    if not isinstance(item, Item):
        return []
    there = text_ids(item.corrupt_text, tokenizer)
    if len(there) != len(ids):
        return []
    return [place for place, pair in enumerate(zip(ids, there, strict=True)) if len({*pair}) > 1]


def _readable(ids: Sequence[int], tokenizer: Any) -> str:
    """A token as text, with its space; a word piece as the vocabulary spells it."""
    piece = str(tokenizer.convert_ids_to_tokens(list(ids))[0])
    return visible(piece if piece.startswith("##") else tokenizer.decode(list(ids)))
