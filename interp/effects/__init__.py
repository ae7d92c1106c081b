"""What intervention shows: the exact effect of removing each head."""

from interp.effects.engine import sweep
from interp.effects.metrics import LOGIT_DIFFERENCE, Metric
from interp.effects.scopes import Scope

__all__ = ["LOGIT_DIFFERENCE", "Metric", "Scope", "sweep"]
