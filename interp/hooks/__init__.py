"""Hook functions for TransformerLens's bridge: pure, checked, ready for one's own research.

Each factory returns `(hook name, function)` pairs for `bridge.run_with_hooks(ids, fwd_hooks=...)`
or `with bridge.hooks(fwd_hooks=...)`; lists of several factories add up. No function edits in
place, and all tensors are checked: whatever would broadcast silently is an error.
"""

from interp.hooks.baselines import Baseline, Mean, Resample, Zero
from interp.hooks.edges import Edge, close_edge, resample_edge, zero_edge
from interp.hooks.paths import MLPs, direct, path
from interp.hooks.patterns import freeze_pattern, uniform_pattern
from interp.hooks.sites import Site, ablate, key, output, patch, query, value

__all__ = [
    "Baseline",
    "Edge",
    "MLPs",
    "Mean",
    "Resample",
    "Site",
    "Zero",
    "ablate",
    "close_edge",
    "direct",
    "freeze_pattern",
    "key",
    "output",
    "patch",
    "path",
    "query",
    "resample_edge",
    "uniform_pattern",
    "value",
    "zero_edge",
]
