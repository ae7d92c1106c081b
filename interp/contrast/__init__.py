"""Scores and effects on the same items, side by side: verdicts on heads, leagues of measures."""

from interp.contrast.captured import CAUSAL, RANDOM
from interp.contrast.contenders import LEAGUES, Contender
from interp.contrast.league import league
from interp.contrast.observations import (
    TIERS,
    Observations,
    by_template,
    cluster_labels,
    head_effects,
    observations,
)
from interp.contrast.threshold_sweep import threshold_sweep
from interp.contrast.thresholds import Thresholds
from interp.contrast.verdicts import (
    ELSEWHERE,
    MATTERS,
    NEITHER,
    NO_EFFECT,
    ON_EDGE,
    PARTLY,
    SILENT,
    SMALL,
    UNCERTAIN,
    UNLOCATED,
    UNSEEN,
    selectivity,
    verdicts,
)

__all__ = [
    "CAUSAL",
    "ELSEWHERE",
    "LEAGUES",
    "MATTERS",
    "NEITHER",
    "NO_EFFECT",
    "ON_EDGE",
    "PARTLY",
    "RANDOM",
    "SILENT",
    "SMALL",
    "TIERS",
    "UNCERTAIN",
    "UNLOCATED",
    "UNSEEN",
    "Contender",
    "Observations",
    "Thresholds",
    "by_template",
    "cluster_labels",
    "head_effects",
    "league",
    "observations",
    "selectivity",
    "threshold_sweep",
    "verdicts",
]
