"""Our sweep beside the plain TransformerLens loop, in one process."""

from interp.bench.scenarios import SCENARIOS, Scenario
from interp.bench.table import bench

__all__ = ["SCENARIOS", "Scenario", "bench"]
