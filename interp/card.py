"""One head on several tasks: all that the toolkit has to say of it."""

from collections.abc import Sequence
from dataclasses import dataclass

import pandas as pd

from interp.asked import has_logits
from interp.effects.places import by_position
from interp.effects.scopes import Scope
from interp.encode import Batch
from interp.evidence import mean_folds, redundancy
from interp.heads import Head
from interp.items import Item
from interp.measures.catalogue import described, scores
from interp.models import Model, load
from interp.models.record import record
from interp.models.undefined import UndefinedError
from interp.progress import Progress, silent
from interp.run import measure, tiers
from interp.settings import Settings
from interp.suite import items_of, settings_of

N_PLACED = 16
"""Items on which a head is removed one position at a time."""
N_KEYS = 5


@dataclass(frozen=True, kw_only=True)
class Card:
    """One head on several tasks.

    Attributes:
        verdicts: a row a task: attention, effects at the three tiers, direct effect, verdict. The
            p-values are those of a head chosen beforehand: not adjusted for the other heads.
        measures: a row a task and measure: `task`, `measure`, `league`, and the mean `value` over
            the `n_valid` items on which it is defined.
        backups: a row a task: later heads that speak up when this one is removed, and its effect
            once they are removed (see `redundancy`).
        positions: a row a task, template and position: the `token` of an example there, and the
            `effect` of the head at that position alone, as a share of the gap.
        examples: a row a task, template and key: the `weight` that the head gives at the query of
            an example to its most attended tokens.
    """

    verdicts: pd.DataFrame
    measures: pd.DataFrame
    backups: pd.DataFrame
    positions: pd.DataFrame
    examples: pd.DataFrame

    @property
    def wide(self) -> pd.DataFrame:
        """The measures as columns, a row a task; those of the verdicts left out."""
        grid = self.measures.pivot(index="task", columns="measure", values="value").reset_index()
        return grid.drop(
            columns=[name for name in grid if name in self.verdicts and name != "task"]
        )


def head_card(
    name: str,
    tasks: Sequence[str],
    *,
    model_name: str,
    prefix: str = "document",
    preset: str = "quick",
    seed: int = 0,
    progress: Progress = silent,
) -> Card:
    """One head on several tasks (see `Card`), on the items that pass the behaviour gate.

    Raises:
        ValueError: there is no such head, or bad input.
    """
    with progress(f"loading {model_name}", 1):
        model = _causal(load(model_name, prefix=prefix))
    head = model.head(name)
    parts: dict[str, list[pd.DataFrame]] = {
        name: [] for name in ("verdicts", "measures", "backups", "positions", "examples")
    }
    for task in tasks:
        settings = settings_of(task, model, preset=preset, seed=seed)
        items = items_of(task, model, preset=preset, seed=seed)
        for part, table in _on_task(model, items, settings, head, progress).items():
            parts[part].append(table.assign(task=settings.task))
    if not parts["verdicts"]:
        raise ValueError("the model shows none of these behaviours, so no head is measured.")
    tables = {part: pd.concat(each, ignore_index=True) for part, each in parts.items()}
    return Card(
        **{
            part: table[["task", *table.columns.drop(["task", "layer", "head"], errors="ignore")]]
            for part, table in tables.items()
        }
    )


def _causal(model: Model) -> Model:
    if not (has_logits(model) and model.is_causal):
        raise ValueError(
            f"{model.name} predicts no next token, and a head's card reads the answer from it; "
            "choose a causal language model such as smollm2-135m."
        )
    return model


def _on_task(
    model: Model, items: Sequence[Item], settings: Settings, head: Head, progress: Progress
) -> dict[str, pd.DataFrame]:
    """The parts of a card from one task; none where the behaviour is not there."""
    run = measure(model, items, settings, heads=[head], progress=progress)
    if "verdicts" not in run.tables:
        return {}
    kept = set(run.tables["items"]["item_id"])
    passing = [item for item in items if item.item_id in kept]
    batches = model.encode(passing)
    widest = tiers(batches)[0]
    few = [batch.first(N_PLACED) for batch in batches]
    places = []
    with progress(f"{settings.task}: {head.label}", len(few)) as advance:
        for batch in few:
            places.append(_placed(model, batch, head))
            advance(1)
    return {
        "verdicts": run.tables["verdicts"],
        "measures": means_of(model, passing, head),
        "backups": _backups(model, batches, head, widest, settings),
        "positions": pd.concat(places, ignore_index=True),
        "examples": pd.concat([_attended(model, batch, head) for batch in few]),
    }


def means_of(model: Model, items: Sequence[Item], head: Head) -> pd.DataFrame:
    """The mean of every measure over items, for one head."""
    tables = []
    for batch in model.encode(items):
        table = scores(record(model.plain, batch)).table
        tables.append(table[(table["layer"] == head.layer) & (table["head"] == head.head)])
    of_items = pd.concat(tables).groupby("measure", sort=False)
    means = of_items.agg(value=("value", "mean"), n_valid=("valid", "sum")).reset_index()
    return described()[["measure", "league"]].merge(means, on="measure", validate="1:1")


def _placed(model: Model, batch: Batch, head: Head) -> pd.DataFrame:
    """The head's effect at one position alone, template by template, and what stands there."""
    items = pd.DataFrame(
        {
            "item_id": [item.item_id for item in batch.items],
            "template_id": [item.template_id for item in batch.items],
            "row": range(len(batch)),
        }
    )
    table = by_position(model, [batch], head).merge(items, on="item_id", validate="m:1")
    sums = table.groupby(["template_id", "position"])[["intact", "edited", "corrupt"]].mean()
    effect = (sums["intact"] - sums["edited"]) / (sums["intact"] - sums["corrupt"])
    placed = effect.rename("effect").reset_index()
    example = items.groupby("template_id")["row"].first()
    placed["token"] = [
        _token(model, batch, int(example[template]), position)
        for template, position in zip(placed["template_id"], placed["position"], strict=True)
    ]
    return placed


def _attended(model: Model, batch: Batch, head: Head) -> pd.DataFrame:
    """Of an example of each template the keys that the head attends to most, from its query."""
    patterns = record(model.plain, batch, keep=("pattern",)).pattern[head.layer][:, head.head]
    rows = []
    for template in dict.fromkeys(item.template_id for item in batch.items):
        row = next(n for n, item in enumerate(batch.items) if item.template_id == template)
        weights = patterns[row]
        for key in weights.topk(min(N_KEYS, len(weights))).indices.tolist():
            rows.append(
                {
                    "template_id": template,
                    "item_id": batch.items[row].item_id,
                    "position": key,
                    "token": _token(model, batch, row, key),
                    "weight": float(weights[key]),
                }
            )
    return pd.DataFrame(rows)


def _token(model: Model, batch: Batch, row: int, position: int) -> str:
    text: str = model.tokenizer.decode([int(batch.ids[row, position])])
    return text


def _backups(
    model: Model, batches: Sequence[Batch], head: Head, scope: Scope, settings: Settings
) -> pd.DataFrame:
    """Later heads that speak up for it; none where heads do not add up to the logits."""
    try:
        found = redundancy(
            model, mean_folds(model, batches), [head], among=[], scope=scope,
            thresholds=settings.thresholds,
        )  # fmt: skip
    except UndefinedError:
        return pd.DataFrame(columns=["layer", "head", "backups", "conditional"])
    return found
