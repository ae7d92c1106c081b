"""What intervention shows: the exact effect of removing each head."""

from interp.effects.metrics import LOGIT_DIFFERENCE, Metric
from interp.effects.scopes import Scope
from interp.effects.sweep import sweep

__all__ = ["LOGIT_DIFFERENCE", "Metric", "Scope", "sweep"]
