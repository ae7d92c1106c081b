"""Scores and effects on the same items, side by side: verdicts on heads, leagues of measures."""

from interp.contrast.league import league
from interp.contrast.observations import (
    TIERS,
    Observations,
    by_template,
    cluster_labels,
    head_effects,
    observations,
)
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
    "ELSEWHERE",
    "MATTERS",
    "NEITHER",
    "NO_EFFECT",
    "ON_EDGE",
    "PARTLY",
    "SILENT",
    "SMALL",
    "TIERS",
    "UNCERTAIN",
    "UNLOCATED",
    "UNSEEN",
    "Observations",
    "Thresholds",
    "by_template",
    "cluster_labels",
    "head_effects",
    "league",
    "observations",
    "selectivity",
    "verdicts",
]
