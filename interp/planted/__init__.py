"""Models whose heads are known, made by hand: what the toolkit finds in them can be right or wrong.

`models.load("planted/induction")` boots one like any other model. `build("induction")` gives its
weights, the items on which its heads are known, and what is known.
"""

from pathlib import Path

from interp.heads import nearest_name
from interp.planted import composed, lookalikes, repair, silent, variants
from interp.planted.known import Builder, Known, Planted

__all__ = ["NAMES", "Known", "Planted", "build", "check_name", "write"]

_BUILDERS: dict[str, Builder] = {
    "induction": composed.induction,
    "either": composed.either,
    "both": composed.both,
    "agreement": composed.agreement,
    "decoys": lookalikes.decoys,
    "lookalikes": lookalikes.lookalikes,
    "wrong-edge": lookalikes.wrong_edge,
    "diffuse": silent.diffuse,
    "relay": silent.relay,
    "elsewhere": silent.elsewhere,
    "query-modifier": silent.query_modifier,
    "chain": silent.chain,
    "pointer": silent.pointer,
    "mlp": silent.through_mlp,
    "backup": repair.backup,
    "eraser": repair.eraser,
    "norm-repair": repair.norm_repair,
    "grouped": variants.grouped,
    "ballast": variants.ballast,
    "bidirectional": variants.bidirectional,
    "rotary": variants.rotary,
    "crowd": variants.crowd,
}

NAMES = tuple(_BUILDERS)
"""The planted models."""


def build(name: str) -> Planted:
    """The planted model called `name`, without `planted/` before it.

    Raises:
        ValueError: there is none of that name.
    """
    check_name(name)
    return _BUILDERS[name]()


def check_name(name: str) -> None:
    """Raise a ValueError that names the nearest, if there is no planted model of that name."""
    if name not in _BUILDERS:
        nearest = nearest_name(name, NAMES)
        hint = f"did you mean 'planted/{nearest}'?" if nearest else f"there are {', '.join(NAMES)}."
        raise ValueError(f"there is no planted model {name!r}; {hint}")


def write(name: str, folder: Path) -> None:
    """Write a planted model into an empty folder, as transformers saves one: no pickles."""
    from interp.planted.words import write_tokenizer

    planted = build(name)
    planted.files.write(folder)
    write_tokenizer(folder)
