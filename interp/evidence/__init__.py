"""What a verdict on a head rests on, beside its attention and its effect: measured on the model.

Removals (a mean, nothing, a pair that takes the decisive word away) are shares of m_clean − m_∅,
all heads so removed; resamples from a pair that turns the answer are shares of the gap m_clean −
m_corrupt. The two scales are never mixed.
"""

from interp.evidence.folds import Fold, halves, mean_folds
from interp.evidence.idle import idle_together
from interp.evidence.redundancy import redundancy
from interp.evidence.removal import Removal, removal

__all__ = [
    "Fold",
    "Removal",
    "halves",
    "idle_together",
    "mean_folds",
    "redundancy",
    "removal",
]
