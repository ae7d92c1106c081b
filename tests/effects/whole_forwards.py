"""Removing one head by one whole forward of the plain model, hooked: the engine's second route."""

from dataclasses import replace

import torch

from interp.effects import Renormalised
from interp.effects.baselines import Mean
from interp.effects.scopes import edge_keys, edited_positions, is_edge
from interp.encode import Batch
from interp.models.families import small_ids
from interp.models.model import Model
from interp.models.prefix import Prefix
from tests.conftest import agreement_pair


def model_of(plain):
    prefix = Prefix(policy="none", text="", before=(), after=())
    return Model(name="small", plain=plain, tokenizer=None, prefix=prefix, weights_hash="")


def small_batch():
    """Four pairs of twelve tokens: shared prefixes, queries before the end, spans at the front."""
    ids = small_ids(8)
    ids[2, :6] = ids[0, :6]
    ids[1::2, :3] = ids[::2, :3]
    items = tuple(
        replace(item, item_id=f"i{row}", template_id="t")
        for row, item in enumerate(agreement_pair("farmer", "pilots", pair_id="p") * 4)
    )
    source, distractor = (torch.zeros(8, 12, dtype=torch.bool) for _ in range(2))
    source[:, 3:5], distractor[:, 6] = True, True
    special = torch.zeros(8, 12, dtype=torch.bool)
    special[:, 0] = True
    return Batch(
        items=items,
        ids=ids,
        donor=torch.tensor([1, 0, 3, 2, 5, 4, 7, 6]),
        query=torch.tensor([8, 8, 9, 9, 11, 11, 11, 11]),
        source=source,
        distractor=distractor,
        special=special,
        answer=torch.arange(8) + 3,
        foil=torch.arange(8) + 13,
    )


def intact(plain, batch):
    """z, pattern and value of every layer."""
    seen = {"z": [], "pattern": [], "value": []}

    def keep(layer, name, tensor):
        if name in seen:
            seen[name].append(tensor)
        return tensor

    with torch.inference_mode(), plain.hooked(keep):
        plain.last_block(batch.ids)
    return seen


def without(plain, batch, seen, heads, scope, baseline):
    """Logits at the query with heads of one layer removed."""
    ((layer, numbers),) = {heads[0][0]: [head for _, head in heads]}.items()
    places, donor = edited_positions(scope, batch), baseline.donors(batch)
    z = seen["z"][layer]
    if donor is not None:
        instead = z[donor]
    elif isinstance(baseline, Mean):
        instead = baseline.z[layer][:, None].expand_as(z)
    else:
        instead = torch.zeros_like(z)
    point = "z"
    if is_edge(scope):
        keys = edge_keys(scope, batch)[:, None, None]
        point = "scores" if isinstance(baseline, Renormalised) else "z"
        pattern, value = seen["pattern"][layer], seen["value"][layer]
        value = value.repeat_interleave(pattern.shape[1] // value.shape[1], dim=1)
        instead = z - (pattern * keys) @ value
        if donor is not None:
            instead = instead + (pattern[donor] * keys) @ value[donor]

    def edit(here, name, tensor):
        if (here, name) != (layer, point):
            return tensor
        chosen = torch.zeros(*tensor.shape[:3], 1, dtype=torch.bool)
        for number in numbers:
            chosen[:, number, :, 0] = places
        if point == "scores":
            return torch.where(chosen & keys, -torch.inf, tensor)
        return torch.where(chosen, instead, tensor)

    rows = torch.arange(len(batch))
    with torch.inference_mode(), plain.hooked(edit):
        return plain(batch.ids).logits[rows, batch.query]
