"""Scores and effects on the same items, side by side: verdicts on heads, leagues of measures."""

from interp.contrast.captured import CAUSAL, RANDOM
from interp.contrast.contenders import LEAGUES, Contender
from interp.contrast.estimates import attending, estimates, mattering, selectivity
from interp.contrast.halves import on_halves
from interp.contrast.labels import Verdict
from interp.contrast.league import league
from interp.contrast.observations import (
    HALVES,
    TIERS,
    Observations,
    by_template,
    cluster_labels,
    head_effects,
    observations,
)
from interp.contrast.stability import stability
from interp.contrast.threshold_sweep import threshold_sweep
from interp.contrast.thresholds import Thresholds
from interp.contrast.verdicts import EVIDENCE, judged, verdicts

__all__ = [
    "CAUSAL",
    "EVIDENCE",
    "HALVES",
    "LEAGUES",
    "RANDOM",
    "TIERS",
    "Contender",
    "Observations",
    "Thresholds",
    "Verdict",
    "attending",
    "by_template",
    "cluster_labels",
    "estimates",
    "head_effects",
    "judged",
    "league",
    "mattering",
    "observations",
    "on_halves",
    "selectivity",
    "stability",
    "threshold_sweep",
    "verdicts",
]
