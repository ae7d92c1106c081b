"""What a little more attention would do: the metric's gradient at the pattern and at the scores."""

from jaxtyping import Float
from torch import Tensor

from interp.measures.measure import Measure, at_source
from interp.models.record import Record


def attention_gradient(record: Record) -> Float[Tensor, "item layer head"]:
    """`Σ_src A ⊙ ∂m/∂A`: to first order, what the weight on the source is worth; logits, signed.

    m is the logit difference. The other weights are held, so rows need not sum to 1.

    Raises:
        UndefinedError: the model has no logits.
    """
    pairs = zip(record.pattern, record.pattern_gradients, strict=True)
    return at_source(record, [pattern * gradient for pattern, gradient in pairs])


def score_gradient(record: Record) -> Float[Tensor, "item layer head"]:
    """`Σ_src ∂m/∂S`: what a little more score on the source is worth, the row renormalised.

    In logits per unit of score, signed; m is the logit difference.

    Raises:
        UndefinedError: the model has no logits.
    """
    pairs = zip(record.pattern, record.pattern_gradients, strict=True)
    return at_source(record, [through_softmax(*pair) for pair in pairs])


def through_softmax(
    pattern: Float[Tensor, "*row key"], gradient: Float[Tensor, "*row key"]
) -> Float[Tensor, "*row key"]:
    """A gradient at the pattern as one at the scores: `A (g − Σ A g)`, with learned sinks too."""
    return pattern * (gradient - (pattern * gradient).sum(-1, keepdim=True))


ATTENTION_GRADIENT = Measure(
    name="attention_gradient",
    of=attention_gradient,
    league="metric-aware",
    unit="logits, answer less foil",
    chance="zero",
    formula="Σ_src A[q, j] ∂m/∂A[q, j]",
    source="Barkan et al. 2021, doi:10.1145/3459637.3482126, without the rectifier",
)
SCORE_GRADIENT = Measure(
    name="score_gradient",
    of=score_gradient,
    league="metric-aware",
    unit="logits per unit of score",
    chance="zero",
    formula="Σ_src A[q, j] (g_j − Σ_k A[q, k] g_k), g = ∂m/∂A[q]",
    source="here: the same gradient before the softmax",
)
