"""Names beside points, none on top of another: nearest free place first, the same every time."""

from itertools import product

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.text import Annotation, Text
from matplotlib.transforms import Bbox

_DISTANCES = (4, 8, 13, 19, 26, 34, 44)  # points
# diagonals first: interval bars run along the axes
_DIRECTIONS = ((1, 1), (-1, 1), (1, -1), (-1, -1), (1, 0), (-1, 0), (0, 1), (0, -1))
_HORIZONTAL = {1: "left", 0: "center", -1: "right"}
_VERTICAL = {1: "bottom", 0: "center", -1: "top"}


def place_labels(axes: Axes, points: pd.DataFrame, *, named: list[str]) -> list[Annotation]:
    """Write the `named` labels beside their points, the first named first.

    Each goes where, inside the axes, it covers the fewest labels written before, then the fewest
    points, then is nearest. Call it last: limits that change afterwards move the points.

    Args:
        axes: holds the points, on a figure whose size is final.
        points: `x, y, label`, one row for each point drawn; finite.
        named: which of the labels to write.
    """
    figure = axes.get_figure(root=True)
    assert figure is not None, "axes that hold points belong to a figure"
    renderer = FigureCanvasAgg(figure).get_renderer()  # type: ignore[no-untyped-call]
    figure.draw_without_rendering()  # settles where the axes are
    pixels = axes.transData.transform(points[["x", "y"]].to_numpy(float))
    taken: list[Bbox] = []
    notes = []
    for label in named:
        row = points["label"].to_list().index(label)
        note = axes.annotate(
            label,
            tuple(points[["x", "y"]].iloc[row]),
            xytext=(0, 0),
            textcoords="offset points",
            fontsize=7,
            arrowprops={"arrowstyle": "-", "lw": 0.4, "color": "0.5", "shrinkA": 0, "shrinkB": 2},
        )
        note.set_in_layout(False)
        # the extent of the text alone, without its line
        size = np.array(Text.get_window_extent(note, renderer).size)

        boxes = {
            (distance, direction): _beside(
                pixels[row] + np.multiply(direction, distance * figure.dpi / 72), size, direction
            )
            for distance, direction in product(_DISTANCES, _DIRECTIONS)
        }
        distance, (right, up) = min(
            boxes,
            key=lambda place: (
                axes.bbox.count_contains(boxes[place].corners()) < 4,
                boxes[place].count_overlaps(taken),
                boxes[place].count_contains(pixels),
                place[0],
            ),
        )
        taken.append(boxes[distance, (right, up)])
        note.set(position=(distance * right, distance * up))
        note.set(ha=_HORIZONTAL[right], va=_VERTICAL[up])
        notes.append(note)
    return notes


def _beside(anchor: np.ndarray, size: np.ndarray, direction: tuple[int, int]) -> Bbox:
    """A box of this size that touches the anchor and lies in the direction from it."""
    corner = anchor - size * (1 - np.array(direction)) / 2
    return Bbox.from_bounds(*corner, *size)
