"""What else the removal of a head hurts: neutral text, and items of other tasks."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from interp.effects.scopes import Scope
from interp.evidence.folds import Fold
from interp.evidence.neutral import NeutralText, losses
from interp.evidence.removal import removal
from interp.heads import Head
from interp.models.model import Model
from interp.models.undefined import UndefinedError
from interp.stats import Interval, mean_interval, ratio_interval

NEUTRAL = "neutral text"


@dataclass(frozen=True, kw_only=True)
class Control:
    """Items of another task, and where heads are removed on them."""

    folds: Sequence[Fold]
    scope: Scope


def specificity(
    model: Model,
    heads: Sequence[Head],
    *,
    text: NeutralText,
    controls: Mapping[str, Control],
) -> pd.DataFrame:
    """The effect of each head's removal on what it is not asked about.

    A head that hurts everything is general, and no part of a phenomenon. One row a head and
    control: `layer`, `head`, `control` (`"neutral text"`, or a name from `controls`), `effect` with
    its 95 % interval `low`, `high`: the share of what the removal of all heads takes away, of the
    metric, or on neutral text of what it adds to the loss. Positive: the removal hurts. Put the
    task itself among the controls to compare on one scale.

    Args:
        text: see `neutral_text`.
        controls: removals (see `mean_folds`), by name.

    Raises:
        ValueError: there is no head, a control is called as the text is, the removal of all heads
            takes nothing away (on the text: UndefinedError), or see `removal`.
    """
    if not heads:
        raise ValueError("expected at least one head to remove, got none.")
    if NEUTRAL in controls:
        raise ValueError(
            f"{NEUTRAL!r} is the text that is given apart; name the control otherwise."
        )
    tables = [_rows(heads, NEUTRAL, _on_text(model, heads, text))]
    for name, control in controls.items():
        sets = {head.label: [head] for head in heads}
        found = removal(model, control.folds, sets, scope=control.scope)
        tables.append(_rows(heads, name, found.share(found.effects.to_numpy(float))))
    return pd.concat(tables, ignore_index=True).sort_values(
        ["layer", "head"], kind="stable", ignore_index=True
    )


def _on_text(model: Model, heads: Sequence[Head], text: NeutralText) -> Interval:
    loss = losses(model, text, [[], model.heads, *([head] for head in heads)])
    added = loss[:, 1:] - loss[:, :1]
    texts = [np.arange(len(loss))]
    of_all = mean_interval(added[:, :1], texts)
    if of_all.low[0] <= 0 <= of_all.high[0]:
        raise UndefinedError(
            "the removal of all heads of the model does not change its loss on the neutral text, "
            "so that there is nothing to take a share of."
        )
    return ratio_interval(added[:, 1:], added[:, 0], texts)


def _rows(heads: Sequence[Head], control: str, share: Interval) -> pd.DataFrame:
    return pd.DataFrame(
        {
            "layer": [head.layer for head in heads],
            "head": [head.head for head in heads],
            "control": control,
            "effect": share.estimate,
            "low": share.low,
            "high": share.high,
        }
    )
