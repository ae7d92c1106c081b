"""What a run is told, and what its figures depend on."""

import platform
from collections.abc import Sequence
from dataclasses import dataclass, field
from importlib.metadata import version
from typing import Any

from interp.contrast import Thresholds
from interp.effects.metrics import LOGIT_DIFFERENCE, Metric
from interp.effects.pieces import ROWS_A_BATCH
from interp.items import Item, items_hash
from interp.models.model import Model

N_PAIRS = {"quick": 32, "standard": 128, "full": 512}
QUICK = "quick"
"""The preset that stops at single removals: it looks for no backups, and holds nothing out."""
_PACKAGES = ("torch", "transformers", "transformer-lens", "numpy", "pandas")


@dataclass(frozen=True, kw_only=True)
class Settings:
    """What a run is told: with the model and the items, all that decides its figures."""

    task: str
    preset: str = "quick"
    seed: int = 0
    metric: Metric = LOGIT_DIFFERENCE
    thresholds: Thresholds = field(default_factory=Thresholds)


def deciding(model: Model, items: Sequence[Item], settings: Settings) -> dict[str, Any]:
    """What the figures depend on. Versions and times are recorded, and do not stand here."""
    return {
        "task": settings.task,
        "preset": settings.preset,
        "items": items_hash(items),
        "model": model.name,
        "model_hash": model.weights_hash,
        "dtype": model.dtype,
        "prefix": list(model.prefix.before),
        "metric": settings.metric.name,
        "baseline": "resample",
        "seed": settings.seed,
        "thresholds": settings.thresholds.as_dict(),
        "rows_a_batch": ROWS_A_BATCH,
    }


def recorded(model: Model, items: Sequence[Item], settings: Settings) -> dict[str, Any]:
    """What stands in every run, whatever it finds."""
    return {
        "task": settings.task,
        "model": model.name,
        "model_hash": model.weights_hash,
        "n_layers": model.n_layers,
        "n_heads": model.n_heads,
        "dtype": model.dtype,
        "weights": "as trained (nothing folded or centred)",
        "prefix": model.prefix.text,
        "preset": settings.preset,
        "seed": settings.seed,
        "n_pairs": len({item.pair_id for item in items}),
        "n_items": len(items),
        "metric": settings.metric.name,
        "thresholds": settings.thresholds.as_dict(),
        "versions": versions(),
        "decides": deciding(model, items, settings),
    }


def versions() -> dict[str, str]:
    """Of Python, and of the packages that compute."""
    return {
        "python": platform.python_version(),
        **{name: version(name) for name in _PACKAGES},
    }
