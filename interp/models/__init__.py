"""Pretrained models, loaded once and held two ways. The only code that names the libraries."""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from interp.models.loading import load
    from interp.models.model import Model

__all__ = ["Model", "load"]


def __getattr__(name: str) -> Any:
    """`load` and `Model`, imported when first asked for: they bring torch and transformers."""
    if name == "load":
        from interp.models.loading import load

        return load
    if name == "Model":
        from interp.models.model import Model

        return Model
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
