"""How many products of weights each side needs: what the ratio could be, were all else free."""

from dataclasses import dataclass

import torch

from interp.effects.baselines import Baseline
from interp.effects.pieces import Limits
from interp.effects.scopes import Scope
from interp.effects.work import prepare
from interp.encode import Batch
from interp.models.model import Model
from interp.models.routes import route


@dataclass(frozen=True, kw_only=True)
class Counts:
    """Multiplications by weights, for a sweep of all heads.

    Attributes:
        n_tokens, n_nodes, n_rows: of all prompts; distinct prefixes; run again for each head.
        plain, ours: multiplications. Attention itself is left out.
    """

    n_tokens: int
    n_nodes: int
    n_rows: int
    plain: float
    ours: float

    @property
    def ceiling(self) -> float:
        """The ratio that the counts allow."""
        return self.plain / self.ours


def count(model: Model, batch: Batch, scope: Scope, baseline: Baseline, within: Limits) -> Counts:
    """Counts of one sweep."""
    work = prepare(
        model.plain, batch, scope, baseline, torch.arange(len(batch)),
        shares=route(model.plain).shares_prefixes, rows_a_batch=within.rows_a_batch,
    )  # fmt: skip
    layers = model.plain.anatomy.layers
    in_layer = sum(p.numel() for layer in layers for p in layer.parameters()) / len(layers)
    unembedding = model.plain.anatomy.unembedding
    in_head = 0 if unembedding is None else sum(p.numel() for p in unembedding.parameters())
    n_tokens, n_heads = batch.ids.numel(), len(model.heads)
    layers_run = sum(model.n_layers - head.layer for head in model.heads)
    width = int(model.config.hidden_size)
    return Counts(
        n_tokens=n_tokens,
        n_nodes=len(work.start.grown),
        n_rows=work.n_rows,
        plain=n_heads * n_tokens * (model.n_layers * in_layer + in_head),
        ours=in_layer * (len(work.start.grown) * model.n_layers + work.n_rows * layers_run)
        + (2 * width * n_heads * len(batch) if in_head else 0),
    )
