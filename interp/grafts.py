"""Plants in a pretrained model's own weights: a head silenced, and a head that gains an effect.

Only the output projection of one head changes, so every pattern of its layer and of those below
stays as it was. All other weights are shared with the model that was given.
"""

import hashlib
from collections.abc import Sequence
from dataclasses import replace

import pandas as pd
import torch
from jaxtyping import Float
from torch import Tensor, nn

from interp.behaviour import item_table
from interp.contrast import Thresholds, observations, verdicts
from interp.effects.direct import output_projections
from interp.effects.engine import sweep
from interp.effects.metrics import LOGIT_DIFFERENCE
from interp.effects.scopes import Scope
from interp.encode import Batch
from interp.heads import Head
from interp.measures.relations import chance, relation_scores
from interp.models import Model
from interp.models.plain import Plain
from interp.models.record import first_tensor, record
from interp.models.sharing import twin

RIDGE = 0.1


def silenced(model: Model, batch: Batch, head: Head) -> Model:
    """The model with a head that attends as before and writes nothing.

    Args:
        batch: any items, on which the parts of the model are found.

    Raises:
        ValueError: the model does not add its heads' outputs, or not by a plain linear layer.
    """
    planted, weight = _apart(model, batch, head, f"{head.label} silenced")
    weight.zero_()
    return planted


def grafted(model: Model, batch: Batch, head: Head, *, share: float) -> Model:
    """The model with a head that gives `share` of the gap at the query, and attends as before.

    The head is made to say again what the model itself comes to. Said is the one direction in which
    answers and foils differ most in the unembedding, either way round; asked is how far the last
    residual moves along it from prompt to counterfactual, as the head's own z tells (by ridge
    regression, on half of the pairs). No label enters: which way round is in the model's own
    residual. How loudly is set by the exact effect on the other half.

    Args:
        batch: eight pairs or more; measure on others.
        share: of the gap, by resample at the query; met to within a tenth of it.

    Raises:
        ValueError: as `silenced`, or the head's z does not tell a prompt from its counterfactual.
        ArithmeticError: no loudness gives that share.
    """
    if share <= 0:
        raise ValueError(f"share must be positive, got {share}; .05 is the usual threshold.")
    fitted, heard = _halves(batch)
    unit = _said_again(model, fitted, head)
    planted, weight = _apart(model, batch, head, f"{head.label} grafted ({share:g})")
    own = weight.clone()
    loudness, before = share, (0.0, _share(model, heard, head))
    for _ in range(6):
        weight.copy_(own + loudness * unit)
        found = _share(planted, heard, head)
        if abs(found - share) <= share / 10:
            return planted
        slope = (found - before[1]) / (loudness - before[0])
        before, loudness = (loudness, found), loudness + (share - found) / slope
    raise ArithmeticError(
        f"no loudness of {head.label} gave {share:.0%} of the gap, the last {found:.1%}; choose a "
        "head in a later layer."
    )


def detection(
    model: Model,
    batch: Batch,
    tested: Batch,
    head: Head,
    shares: Sequence[float],
    *,
    heads: Sequence[Head],
) -> pd.DataFrame:
    """How each planted share is found again, on other items than those that set the graft.

    One row a share: `planted`, the `effect` at the query as a share of the gap with its interval
    (`low`, `high`), the p-value adjusted for `heads`, and the head's `reading`. A share of 0 is the
    model as it is.

    Args:
        batch: for the grafts; `tested` shares no pair with it.
        heads: those that are tested together, `head` among them.
    """
    rows = []
    for share in shares:
        planted = grafted(model, batch, head, share=share) if share else model
        recorded = record(planted.plain, tested)
        data = observations(
            relation_scores(recorded),
            sweep(planted, [tested], heads=heads),
            item_table(planted, [tested], LOGIT_DIFFERENCE),
        )
        table = verdicts(data, Thresholds(), seed=0, chance=chance([tested]))
        found = table.set_index("label").loc[head.label]
        rows.append(
            {
                "planted": share,
                "effect": found["effect_query"],
                "low": found["effect_query_low"],
                "high": found["effect_query_high"],
                "p": found["effect_query_p"],
                "reading": found["reading"],
            }
        )
    return pd.DataFrame(rows)


def _said_again(model: Model, batch: Batch, head: Head) -> Float[Tensor, "d_model d_head"]:
    """An output projection by which a head would say what the last residual says already."""
    rows = torch.arange(len(batch))
    z = record(model.plain, batch).z[head.layer][rows, head.head, batch.query]
    weights = model.plain.module.get_output_embeddings().weight
    said = torch.linalg.svd(weights[batch.answer] - weights[batch.foil], full_matrices=False)[2][0]
    states = _last_states(model, batch) @ said
    moved = z - z[batch.donor]
    if not moved.norm() > 1e-4 * z.norm():
        raise ValueError(
            f"the output of {head.label} at the query is the same in a prompt and its "
            "counterfactual; choose a head that attends to something that differs."
        )
    return torch.outer(said, _ridge(moved, states - states[batch.donor]))


def _ridge(
    inputs: Float[Tensor, "item d_head"], outputs: Float[Tensor, " item"]
) -> Float[Tensor, " d_head"]:
    """Coefficients of a linear fit, held small by a tenth of the inputs' mean variance."""
    square = inputs.T @ inputs
    penalty = RIDGE * square.diagonal().mean()
    solved: Tensor = torch.linalg.solve(
        square + penalty * torch.eye(len(square)), inputs.T @ outputs
    )
    return solved


def _apart(model: Model, batch: Batch, head: Head, what: str) -> tuple[Model, Tensor]:
    """The model with an output projection of its own in one layer, and the head's part of it.

    That part, `[d_model, d_head]`, is there to be written into before anything else is done.
    """
    projection = output_projections(model, batch.first(2))[head.layer]
    if not isinstance(projection, nn.Linear):
        raise ValueError(
            f"the output projection of {head.label} is a {type(projection).__name__}, expected a "
            "Linear; graft into a family such as llama."
        )
    names = {part: name for name, part in model.plain.module.named_modules()}
    module = twin(model.plain.module)
    module.set_attn_implementation("eager")  # ours answers only modules that a `Plain` holds
    own = nn.Parameter(projection.weight.detach().clone(), requires_grad=False)
    module.get_submodule(names[projection]).weight = own
    d_head = own.shape[1] // model.n_heads
    apart = replace(
        model,
        name=f"{model.name}, {what}",
        plain=Plain(module),
        weights_hash=hashlib.sha256(f"{model.weights_hash} {what}".encode()).hexdigest(),
    )
    return apart, own[:, head.head * d_head : (head.head + 1) * d_head]


def _share(model: Model, batch: Batch, head: Head) -> float:
    """A head's effect at the query as a share of the gap."""
    means = sweep(model, [batch], scopes=[Scope.QUERY], heads=[head])[
        ["intact", "edited", "corrupt"]
    ].mean()
    return float((means["intact"] - means["edited"]) / (means["intact"] - means["corrupt"]))


def _last_states(model: Model, batch: Batch) -> Float[Tensor, "item d_model"]:
    """The last block's output at the query, normed where the model norms it."""
    kept: list[Tensor] = []
    handle = model.plain.anatomy.layers[-1].register_forward_hook(
        lambda block, inputs, output: kept.append(first_tensor(output))
    )
    try:
        with torch.inference_mode():
            model.plain.states(batch.ids)
            states = kept[0][torch.arange(len(batch)), batch.query]
            norm = model.plain.anatomy.final_norm
            return states if norm is None else norm(states)
    finally:
        handle.remove()


def _halves(batch: Batch) -> tuple[Batch, Batch]:
    """Every other pair of a batch, and the others."""
    pairs = sorted({tuple(sorted((row, int(donor)))) for row, donor in enumerate(batch.donor)})
    one, other = (
        batch.reordered(torch.tensor(sorted(row for pair in pairs[start::2] for row in pair)))
        for start in (0, 1)
    )
    return one, other
