"""Where the files of `data` are."""

from importlib import resources
from importlib.resources.abc import Traversable
from pathlib import Path


def data_folder() -> Traversable:
    """`data`: inside the package when installed, beside it in a checkout."""
    packaged = resources.files("interp") / "data"
    return packaged if packaged.is_dir() else Path(__file__).parents[1] / "data"
