"""Our sweep beside the plain TransformerLens loop, and beside our own others, in one process."""

from interp.bench.own import OWN, Own, bench_own
from interp.bench.scenarios import SCENARIOS, Scenario
from interp.bench.table import bench

__all__ = ["OWN", "SCENARIOS", "Own", "Scenario", "bench", "bench_own"]
