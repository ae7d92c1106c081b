"""What a verdict on a head rests on, beside its attention and its effect: measured on the model.

Removals (a mean, nothing, a pair that takes the decisive word away) are shares of m_clean − m_∅,
all heads so removed; resamples from a pair that turns the answer are shares of the gap m_clean −
m_corrupt. The two scales are never mixed.
"""

from interp.evidence.content import carried_content
from interp.evidence.direct import direct_where_defined
from interp.evidence.folds import Fold, halves, mean_folds
from interp.evidence.gather import MOST_HEADS, Evidence, gathered
from interp.evidence.idle import idle_together
from interp.evidence.idle_subtype import idle_subtype
from interp.evidence.neutral import NeutralText, neutral_text
from interp.evidence.pattern_change import pattern_change
from interp.evidence.redundancy import redundancy
from interp.evidence.removal import Removal, removal
from interp.evidence.sources import where_from
from interp.evidence.specificity import Control, specificity
from interp.evidence.uniform import uniform_pattern

__all__ = [
    "MOST_HEADS",
    "Control",
    "Evidence",
    "Fold",
    "NeutralText",
    "Removal",
    "carried_content",
    "direct_where_defined",
    "gathered",
    "halves",
    "idle_subtype",
    "idle_together",
    "mean_folds",
    "neutral_text",
    "pattern_change",
    "redundancy",
    "removal",
    "specificity",
    "uniform_pattern",
    "where_from",
]
