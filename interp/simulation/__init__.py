"""Do the statistics hold? Simulated sweeps whose truth is known, drawn from a real sweep's effects.

The nulls are the effects of every head of SmolLM2 on two phenomena, recentred by the structure of
their clusters: skewed, correlated between heads and crossed as effects are, with a true mean of 0.
Beside each stands a Gaussian null of the same covariance.
"""

from interp.simulation.table import statistics

__all__ = ["statistics"]
