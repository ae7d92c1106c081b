"""Statistics over heads: intervals, tests and agreement from items that come in clusters.

`values` are `[item, head]`, or have any trailing axes in place of `head`; every function treats
all heads at once. `clusters` is one array of labels, or two in a crossed design.
"""

from interp.stats.agreement import Correlation, RankAgreement, rank_agreement, rank_agreements
from interp.stats.behaviour import LEAST_CONTRAST, Gate, gate
from interp.stats.bootstrap import bootstrap_t
from interp.stats.clusters import MIN_CLUSTERS, Clusters, n_clusters, support_note
from interp.stats.equivalence import Equivalence, equivalence, false_discovery
from interp.stats.flip_test import sign_flip_t
from interp.stats.intervals import Interval, mean_interval, ratio_interval
from interp.stats.max_t import max_t
from interp.stats.multiplicity import MaxT, adjusted_p, reach_note
from interp.stats.resampling import N_DRAWS
from interp.stats.sign_flips import FlipNull, flip_null

__all__ = [
    "LEAST_CONTRAST",
    "MIN_CLUSTERS",
    "N_DRAWS",
    "Clusters",
    "Correlation",
    "Equivalence",
    "FlipNull",
    "Gate",
    "Interval",
    "MaxT",
    "RankAgreement",
    "adjusted_p",
    "bootstrap_t",
    "equivalence",
    "false_discovery",
    "flip_null",
    "gate",
    "max_t",
    "mean_interval",
    "n_clusters",
    "rank_agreement",
    "rank_agreements",
    "ratio_interval",
    "reach_note",
    "sign_flip_t",
    "support_note",
]
