"""Our attention against the model's own, family by family: the table that shows it."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache, partial
from math import inf, nan
from typing import Any

import numpy as np
import pandas as pd
import torch
from torch import Tensor

from interp.heads import nearest_name
from interp.models.beside import BESIDE_COLUMNS, beside
from interp.models.families import output_of, small_ids, small_model
from interp.models.loading import pretrained
from interp.models.names import BUNDLED
from interp.models.plain import Call, Plain, attend
from interp.models.second_route import formula_z, output_projections, output_with_z
from interp.models.sharing import twin
from interp.models.variants import VARIANTS
from interp.progress import Progress, silent

POINTS = ("query", "key", "value", "scores", "pattern", "z")
LIMITS = {"output": 1e-5, "edits": 1e-5, "zeroed": 1e-6, "padding": 1e-5}
LEAST_MOVEMENT = 1e-3
PARITY_COLUMNS = ["variant", "family", *LIMITS, "live", *BESIDE_COLUMNS, "passes", "reason"]
_HEAD = 2
_LENGTHS = (8, 5)


@dataclass(frozen=True, kw_only=True)
class Subject:
    """A model that parity is shown on.

    Attributes:
        name: as it stands in the table, such as `"llama, grouped"` or `"smollm2-135m"`.
        family: transformers' `model_type`.
        fresh: gives the model as transformers runs it, changed by nobody.
        n_layers: in how many layers, evenly spread, heads are edited; all when None.
    """

    name: str
    family: str
    fresh: Callable[[], Any]
    n_layers: int | None = None


def subjects() -> list[Subject]:
    """Every variant of every family, on small random weights, and the bundled models."""
    small = [
        Subject(name=variant.name, family=variant.family, fresh=partial(small_model, variant))
        for variant in VARIANTS
    ]
    real = [
        Subject(name=name, family=bundled.family, fresh=partial(_fresh, name), n_layers=3)
        for name, bundled in BUNDLED.items()
    ]
    return small + real


def parity(families: Sequence[str] | None = None, *, progress: Progress = silent) -> pd.DataFrame:
    """One row for each variant of each family, on small random models, and each bundled model.

    All figures are shares of the largest logit (of the largest last hidden value, where there is
    no head): `output`, our attention against the family's own, intact; `edits`, the largest
    difference over edits at the six points in each layer, against NumPy from the formula with z
    put into the family's own model; `zeroed`, a pattern of 0 against a z of 0; `padding`, rows
    padded on the left and on the right against the same rows alone. `live` is the least that any
    of the edits moved the output. Columns `tl_*` are what TransformerLens alone does (see
    `interp.models.beside`). `passes` says whether all figures keep to `LIMITS` and `live` is
    above 1e-3; if not, `reason` says which does not, or why loading refused.

    Args:
        families: names of families (`"llama"`), variants (`"llama, grouped"`) or bundled models;
            all when None.

    Raises:
        ValueError: a name that is none of these.
    """
    compared = chosen(families)
    rows = []
    with progress("parity", len(compared)) as advance:
        for subject in compared:
            rows.append(_row(subject))
            advance(1)
    return pd.DataFrame(rows, columns=PARITY_COLUMNS)


@cache
def _pretrained(name: str) -> Any:
    return pretrained(name)


def _fresh(name: str) -> Any:
    """A bundled model of its own modules, around weights that are read once."""
    module = twin(_pretrained(name))
    module.set_attn_implementation("eager")
    return module


def chosen(names: Sequence[str] | None = None) -> list[Subject]:
    """The models of these families, variants or bundled names; all when None.

    Raises:
        ValueError: a name that is none of these.
    """
    if names is None:
        return list(subjects())
    known = {name for subject in subjects() for name in (subject.name, subject.family)}
    for name in names:
        if name not in known:
            nearest = nearest_name(name, known)
            hint = f"did you mean {nearest!r}?" if nearest else "see `interp.models.variants`."
            raise ValueError(f"there is no family or variant {name!r}; {hint}")
    return [each for each in subjects() if each.name in names or each.family in names]


def _row(subject: Subject) -> dict[str, Any]:
    row = {"variant": subject.name, "family": subject.family}
    row |= beside(subject.fresh, name=subject.name)
    try:
        figures = measure(subject)
    except ValueError as refusal:
        nothing = dict.fromkeys([*LIMITS, "live"], nan)
        return {**row, **nothing, "passes": False, "reason": str(refusal)}
    failures = [
        f"{name} is {figures[name]:.1g}, allowed {limit:g}"
        for name, limit in LIMITS.items()
        if not figures[name] <= limit
    ]
    if not figures["live"] > LEAST_MOVEMENT:
        failures.append(f"an edit moved the output by {figures['live']:.1g} only")
    return {**row, **figures, "passes": not failures, "reason": "; ".join(failures)}


def measure(subject: Subject) -> dict[str, float]:
    """`output`, `edits`, `zeroed`, `padding` and `live` of one model (see `parity`).

    Raises:
        ValueError: the model does not load with our attention.
    """
    plain, own, ids = Plain(subject.fresh()), subject.fresh(), small_ids(2)
    calls: list[Call] = []
    z: list[Tensor] = []

    def keep(call: Call) -> Tensor:
        calls.append(call)
        z.append(attend(call))
        return z[-1]

    with torch.inference_mode():
        intact = output_of(own(input_ids=ids, use_cache=False))
        with plain.attending(keep):
            ours = output_of(plain(ids))
        largest = intact.abs().max().item()
        projections = output_projections(own, ids, z)
        edits, live, zeroed = 0.0, inf, 0.0
        every = max(1, len(calls) // (subject.n_layers or len(calls)))
        for call, projection in list(zip(calls, projections, strict=True))[::-every]:
            for point in POINTS:
                edited = _output(plain, call.layer, partial(_edit, call, point))
                expected = output_with_z(
                    own, ids, projection, formula_z(call, partial(_edit, call, point))
                )
                edits = max(edits, _apart(edited, expected))
                live = min(live, _apart(edited, ours))
            outputs = [
                _output(plain, call.layer, partial(_zero, point)) for point in ("pattern", "z")
            ]
            zeroed = max(zeroed, _apart(*outputs))
    figures = {"output": _apart(ours, intact), "edits": edits, "zeroed": zeroed, "live": live}
    shares = {name: figure / largest for name, figure in figures.items()}
    return {**shares, "padding": padding_error(plain)}


def padding_error(plain: Plain) -> float:
    """How far rows padded on the left and on the right are from the same rows alone."""
    ids, pad = small_ids(len(_LENGTHS), max(_LENGTHS)), plain.module.config.pad_token_id
    positions = torch.arange(ids.shape[1])
    lengths = torch.tensor(_LENGTHS)[:, None]
    worst = largest = 0.0
    with torch.inference_mode():
        for is_left in (True, False):
            start = ids.shape[1] - lengths if is_left else torch.zeros_like(lengths)
            mask = (positions >= start) & (positions < start + lengths)
            padded = torch.full_like(ids, pad)
            padded[mask] = ids[positions < lengths]
            output = output_of(plain(padded, mask.long()))
            if output.isnan().any():
                return nan
            for item, length in enumerate(_LENGTHS):
                alone = output_of(plain(ids[item : item + 1, :length]))[0]
                worst = max(worst, _apart(output[item][mask[item]], alone))
                largest = max(largest, alone.abs().max().item())
    return worst / largest


def _output(plain: Plain, layer: int, edit: Any) -> Tensor:
    def hook(here: int, name: str, tensor: Tensor) -> Tensor:
        return edit(name, tensor) if here == layer else tensor

    with plain.hooked(hook):
        return output_of(plain(small_ids(2)))


def _edit(call: Call, point: str, name: str, quantity: Any) -> Any:
    """One head turned round at `point`, or closed to every other key: for tensors and arrays."""
    if name != point:
        return quantity
    edited = quantity.copy() if isinstance(quantity, np.ndarray) else quantity.clone()
    head = _HEAD * quantity.shape[1] // call.query.shape[1]
    if point == "scores":
        edited[:, head, :, 1::2] = -inf
    elif point == "pattern":
        edited[:, head, :, 1::2] = 0
    else:
        edited[:, head] = -edited[:, head]
    return edited


def _zero(point: str, name: str, tensor: Tensor) -> Tensor:
    if name != point:
        return tensor
    head = torch.arange(tensor.shape[1])[:, None, None] == _HEAD
    return tensor.masked_fill(head, 0.0)


def _apart(one: Tensor, other: Tensor) -> float:
    return (one - other).abs().max().item()
