"""Does a head do what its attention says? Attention and exact ablation, on the same items.

The shortest way in: `load` a model, make items with `pairs` or `read_pairs`, and `sweep`.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from interp.contrast import head_effects
    from interp.effects import LOGIT_DIFFERENCE, Metric, Scope
    from interp.effects.sweep import sweep
    from interp.models import Model, load
    from interp.progress import on_stderr
    from interp.store import Run
    from interp.tasks import build, pairs, read_pairs

_HOMES = {
    "LOGIT_DIFFERENCE": "interp.effects",
    "Metric": "interp.effects",
    "Model": "interp.models",
    "Run": "interp.store",
    "Scope": "interp.effects",
    "build": "interp.tasks",
    "head_effects": "interp.contrast",
    "load": "interp.models",
    "on_stderr": "interp.progress",
    "pairs": "interp.tasks",
    "read_pairs": "interp.tasks",
    "sweep": "interp.effects",
}
__all__ = [
    "LOGIT_DIFFERENCE",
    "Metric",
    "Model",
    "Run",
    "Scope",
    "build",
    "head_effects",
    "load",
    "on_stderr",
    "pairs",
    "read_pairs",
    "sweep",
]


def __getattr__(name: str) -> Any:
    """Import a public name when it is first used; `import interp` itself brings nothing heavy."""
    if name not in _HOMES:
        raise AttributeError(f"module 'interp' has no attribute {name!r}")
    return getattr(import_module(_HOMES[name]), name)


def __dir__() -> list[str]:
    return sorted(__all__)
