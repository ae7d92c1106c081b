"""Exact effects of the heads that a gradient puts first, and how many it may have missed."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
import torch
from scipy.stats import beta, spearmanr

from interp.effects.attribution import mean_attribution
from interp.effects.baselines import Baseline, Resample
from interp.effects.engine import sweep
from interp.effects.metrics import LOGIT_DIFFERENCE, Metric, MetricFunction, as_metric
from interp.effects.scopes import AnyScope, Scope, as_scope
from interp.encode import Batch
from interp.heads import Head
from interp.models.model import Model
from interp.progress import Progress, silent

_RESAMPLE = Resample()


@dataclass(frozen=True, kw_only=True)
class Screening:
    """What was screened, what was measured, and how far the one can be trusted for the other.

    Attributes:
        effects: as from `sweep`, of the measured heads only.
        heads: one row a head of the model: `layer`, `head`, `attribution` (mean over items, in the
            metric's unit) and `measured`: `"top"`, `"random"`, or `"no"`.
        rank_agreement: Spearman's ρ of |attribution| with |exact effect| over the measured heads.
        k: the number of leading heads that `recall` speaks of.
        recall: estimated share of the exact top k that was measured; `low` and `high` bound it
            with 95 % confidence (Clopper-Pearson, from the random sample of the rest).
    """

    effects: pd.DataFrame
    heads: pd.DataFrame
    rank_agreement: float
    k: int
    recall: float
    low: float
    high: float

    def __str__(self) -> str:
        n_measured = int((self.heads["measured"] != "no").sum())
        return (
            f"{n_measured} of {len(self.heads)} heads measured exactly, the others screened out "
            f"and not measured; rank agreement of the screen with exact effects "
            f"{self.rank_agreement:.2f}; estimated recall of the top {self.k} {self.recall:.2f} "
            f"({self.low:.2f} to {self.high:.2f})"
        )


def screened(
    model: Model,
    batches: Sequence[Batch],
    *,
    screen: float = 0.3,
    sample: float = 0.1,
    k: int = 20,
    seed: int = 0,
    scope: AnyScope | str = Scope.EVERYWHERE,
    baseline: Baseline = _RESAMPLE,
    metric: Metric | MetricFunction = LOGIT_DIFFERENCE,
    memory: int | None = None,
    progress: Progress = silent,
) -> Screening:
    """Exact effects of the share of heads that attribution puts first, and of some of the rest.

    Args:
        screen: share of all heads that is measured because of its attribution.
        sample: share of all heads that is drawn at random from the rest and measured too.
        k: of how many leading heads the recall is estimated.

    Raises:
        ValueError: a share is not between 0 and 1, k heads are not measured, or see
            `mean_attribution`.
    """
    if not (0 < screen <= 1 and 0 <= sample <= 1):
        raise ValueError(f"screen and sample are shares of the heads, got {screen} and {sample}.")
    where, measured = as_scope(scope), as_metric(metric)
    found = [mean_attribution(model, batch, where, baseline, measured) for batch in batches]
    weights = torch.tensor([float(len(batch)) for batch in batches])
    mean = torch.tensordot(weights / weights.sum(), torch.stack(found), dims=1)
    attribution = mean.flatten().float().numpy()
    chosen = _chosen(attribution, screen, sample, np.random.default_rng(seed))
    n_measured = int((chosen != "no").sum())
    if n_measured < k:
        raise ValueError(
            f"{n_measured} heads would be measured, fewer than the {k} that recall speaks of; "
            "raise screen, or lower k."
        )
    heads = [head for head, how in zip(model.heads, chosen, strict=True) if how != "no"]
    effects = sweep(
        model, batches, scopes=[where], baseline=baseline, metric=measured, heads=heads,
        memory=memory, progress=progress,
    )  # fmt: skip
    exact = _sizes(effects, heads)
    agreement = spearmanr(np.abs(attribution[chosen != "no"]), exact).statistic
    table = pd.DataFrame(model.heads, columns=["layer", "head"])
    recall, low, high = _recall(exact, chosen, k)
    return Screening(
        effects=effects,
        heads=table.assign(attribution=attribution, measured=chosen),
        rank_agreement=float(agreement),
        k=k,
        recall=recall,
        low=low,
        high=high,
    )


def _chosen(
    attribution: np.ndarray, screen: float, sample: float, generator: np.random.Generator
) -> np.ndarray:
    n_heads = len(attribution)
    order = np.argsort(-np.abs(attribution), kind="stable")
    n_top = int(np.ceil(screen * n_heads))
    rest = generator.permutation(order[n_top:])
    chosen = np.full(n_heads, "no", dtype=object)
    chosen[order[:n_top]] = "top"
    chosen[rest[: int(np.ceil(sample * n_heads))]] = "random"
    return chosen


def _sizes(effects: pd.DataFrame, heads: Sequence[Head]) -> np.ndarray:
    """|mean effect| of each measured head."""
    effect = (effects["intact"] - effects["edited"]).groupby([effects["layer"], effects["head"]])
    sizes: np.ndarray = effect.mean().abs().loc[[tuple(head) for head in heads]].to_numpy(float)
    return sizes


def _recall(exact: np.ndarray, chosen: np.ndarray, k: int) -> tuple[float, float, float]:
    """k over k and those missed: the share of the random sample that belongs to the leading ones.

    With no random sample and heads left out nothing is known: 0 to 1 (NaN the estimate).
    """
    n_unmeasured = int((chosen == "no").sum())
    if n_unmeasured == 0:
        return 1.0, 1.0, 1.0
    was_random = chosen[chosen != "no"] == "random"
    n_random = int(was_random.sum())
    if n_random == 0:
        return float("nan"), 0.0, 1.0
    n_leading = int((exact[was_random] >= np.sort(exact)[-k]).sum())
    share = n_leading / n_random
    lower = beta.ppf(0.025, n_leading, n_random - n_leading + 1) if n_leading else 0.0
    upper = beta.ppf(0.975, n_leading + 1, n_random - n_leading) if n_leading < n_random else 1.0
    recall, low, high = (k / (k + p * n_unmeasured) for p in (share, upper, lower))
    return float(recall), float(low), float(high)
