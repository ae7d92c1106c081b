"""Agreement by attractor: what a word of the same kind between source and query does to it."""

import matplotlib as mpl
import pandas as pd
from matplotlib.figure import Figure

from interp.report.canvas import COLOURS, STYLE, legend_above, panels
from interp.report.figures import dots
from interp.report.spelling import listed, unit, visible, whole_percent

_PALETTE = {"match": COLOURS[0], "mismatch": COLOURS[3]}
_FEATURE = "source_"


def by_attractor(cells: pd.DataFrame, metric: str) -> pd.DataFrame:
    """The cells of designs that cross a source with a distractor that matches it or not.

    One row a cell: `row`, its template or family with the feature of the source; `match`, `match`
    or `mismatch`; `value`, `low`, `high`, the metric; `accuracy`. Empty where no template has such
    cells.

    Args:
        cells: `template_id`, `cell` (labels such as "match=match, source_number=plural"),
            the metric with its bounds, `accuracy`.
        metric: the name of its column.
    """
    labels = [_labels(cell) for cell in cells["cell"]]
    crossed = cells.loc[["match" in each for each in labels]]
    of_cell = [each for each in labels if "match" in each]
    names = zip(crossed["template_id"], of_cell, strict=True)
    return pd.DataFrame(
        {
            "row": [", ".join([visible(name), *_source(each)]) for name, each in names],
            "match": [each["match"] for each in of_cell],
            "value": crossed[metric],
            "low": crossed[f"{metric}_low"],
            "high": crossed[f"{metric}_high"],
            "accuracy": crossed["accuracy"],
        }
    )


@mpl.rc_context(STYLE)
def attraction(table: pd.DataFrame, metric: str) -> Figure:
    """A line for each template and feature of the source; between its marks lies attraction.

    Args:
        table: from `by_attractor`.
    """
    figure, (axes,) = panels(1, height=0.9 + 0.3 * table["row"].nunique())
    dots(axes, table.sort_values("row", kind="stable"), hue="match", palette=_PALETTE)
    axes.set(xlabel=f"the answer less the other ({unit(metric)})")
    legend_above(figure, axes)
    return figure


def caption(table: pd.DataFrame) -> str:
    """What to see in `attraction`."""
    accuracy = table.groupby("match")["accuracy"].mean()
    rates = listed(
        [f"{whole_percent(accuracy[name])} of items ({name})" for name in accuracy.index]
    )
    return (
        "The behaviour by what stands between source and query: a word with the source's feature "
        "(match) or with the other (mismatch). A mismatch to the left of its match is attraction; "
        "left of 0 the model prefers the answer that the other word calls for. Bars: 95 % "
        f"intervals, where a cell has eight clusters or more. Right: {rates}."
    )


def _labels(cell: str) -> dict[str, str]:
    """ "match=match, source_number=plural" by name."""
    parts = (part.partition("=") for part in str(cell).split(", ") if "=" in part)
    return {name: value for name, _, value in parts}


def _source(labels: dict[str, str]) -> list[str]:
    return [value for name, value in labels.items() if name.startswith(_FEATURE)]
