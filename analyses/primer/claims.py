"""The seven claims, in their order."""

from analyses.primer import (
    blending,
    bottleneck,
    division,
    independence,
    masks,
    misleading,
    scaling,
)

CLAIMS = (
    scaling.CLAIM,
    blending.CLAIM,
    masks.CLAIM,
    independence.CLAIM,
    division.CLAIM,
    bottleneck.CLAIM,
    misleading.CLAIM,
)
