"""How far a head's output tells what the last residual comes to: a linear fit, cross-validated."""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float, Shaped

N_FOLDS = 5
PENALTIES = tuple(float(10.0**power) for power in np.arange(-3, 2.5, 0.5))


@dataclass(frozen=True, kw_only=True)
class Fit:
    """A ridge regression through the origin.

    Attributes:
        coefficients: what a prediction is, for each unit of the inputs.
        penalty: as a multiple of the inputs' mean sum of squares, the one that foretold best.
        r_squared: 1 − (sum of squared errors) / (sum of squared outcomes), each outcome foretold
            from groups other than its own; 1 at best, negative where 0 would have been nearer.
    """

    coefficients: Float[np.ndarray, " d_head"]
    penalty: float
    r_squared: float


def fit(
    inputs: Float[np.ndarray, "pair d_head"],
    outcomes: Float[np.ndarray, " pair"],
    groups: Shaped[np.ndarray, " pair"],
) -> Fit:
    """The ridge regression whose penalty foretells left-out groups best, fitted to all pairs.

    Inputs and outcomes are differences between the two sides of a pair, either way round, so that
    there is no constant to fit.

    Args:
        groups: pairs of one group are left out together; five folds, in order of the labels.

    Raises:
        ValueError: there are fewer groups than folds, or the inputs or outcomes are all 0.
    """
    labels, group = np.unique(groups, return_inverse=True)
    if len(labels) < N_FOLDS:
        raise ValueError(
            f"expected {N_FOLDS} groups or more to leave out in turn, got {len(labels)}; give "
            "pairs with other words."
        )
    if not (inputs.any() and outcomes.any()):
        raise ValueError(
            "expected differences between the two sides of a pair, got zeros only; see that the "
            "head's output at the query differs between them."
        )
    errors = np.zeros(len(PENALTIES))
    for fold in range(N_FOLDS):
        out = group % N_FOLDS == fold
        for number, penalty in enumerate(PENALTIES):
            coefficients = ridge(inputs[~out], outcomes[~out], penalty)
            errors[number] += ((outcomes[out] - inputs[out] @ coefficients) ** 2).sum()
    best = int(errors.argmin())
    return Fit(
        coefficients=ridge(inputs, outcomes, PENALTIES[best]),
        penalty=PENALTIES[best],
        r_squared=float(1 - errors[best] / (outcomes**2).sum()),
    )


def ridge(
    inputs: Float[np.ndarray, "pair d_head"], outcomes: Float[np.ndarray, " pair"], penalty: float
) -> Float[np.ndarray, " d_head"]:
    """`(XᵀX + penalty · mean(diag XᵀX) · I)⁻¹ Xᵀy`.

    Source: Hoerl and Kennard 1970, Technometrics 12.
    """
    square = inputs.T @ inputs
    square += penalty * square.diagonal().mean() * np.eye(len(square))
    solved: Float[np.ndarray, " d_head"] = np.linalg.solve(square, inputs.T @ outcomes)
    return solved
