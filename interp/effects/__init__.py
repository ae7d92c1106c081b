"""What intervention shows: the exact effect of removing each head."""

from interp.effects.baselines import Renormalised, Resample, ResampleRandom, Zero
from interp.effects.engine import sweep
from interp.effects.means import mean_by_position, mean_over
from interp.effects.metrics import (
    ANSWER_LOG_PROBABILITY,
    ANSWER_LOGIT,
    KL_DIVERGENCE,
    LOGIT_DIFFERENCE,
    STATE_SHIFT,
    Metric,
)
from interp.effects.scopes import TIERS, Positions, Scope

__all__ = [
    "ANSWER_LOGIT",
    "ANSWER_LOG_PROBABILITY",
    "KL_DIVERGENCE",
    "LOGIT_DIFFERENCE",
    "STATE_SHIFT",
    "TIERS",
    "Metric",
    "Positions",
    "Renormalised",
    "Resample",
    "ResampleRandom",
    "Scope",
    "Zero",
    "mean_by_position",
    "mean_over",
    "sweep",
]
