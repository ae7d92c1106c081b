"""The table of behaviour in words: what was measured, what does not pass, how far it reaches."""

from collections.abc import Sequence

import pandas as pd

from interp.report.distances import reach
from interp.report.spelling import number

_MODES = ("fixed_source", "fixed_query")
_HEAD = """\
# Behaviour: where head claims are possible

Families of items on {model}, under each prefix, before any head is touched. Made by
`python -m analyses.behaviour`, which writes this text too and goes on where it was left.

{measured}

A family passes where its contrast, clean less counterfactual, is at least half a logit and p < .01
over clusters, all its wordings together. Accuracy never gates. `behaviour.csv` has a row a prefix,
family and wording (`all`: the family whole); `cells.csv` has the mean logit difference and the
accuracy of each cell of the design, with intervals where a cell has eight clusters. There are 64
pairs at distances up to 256 tokens, 16 at 512 and 8 beyond, too few there for a wording alone: read
the row of the whole family.

![contrast by family and distance](contrast.png)

Against distance, prefix {first}, with 95 % intervals; open marks do not pass:

![contrast against distance](distance.png)

By attractor, prefix {first}, where a word of the same kind stands between: a mismatch to the left
of its match is attraction.

![logit difference by attractor](attraction.png)

## Short families that do not pass

{failing}

## How far the long-range behaviours reach

The longest distance, in tokens, up to which every one that was measured passes (of: the longest
that was measured). Where the query stays in place there is filler before the source.

| prefix | family | source in place | query in place |
|---|---|---|---|
{reaches}
"""


def behaviour_words(
    whole: pd.DataFrame, *, model: str, prefixes: Sequence[str], n_families: int
) -> str:
    """A page in Markdown, made from one row a prefix and family (see `contrast_map`).

    Args:
        n_families: how many there are to be measured under each prefix.
    """
    measured = [
        f"- prefix {prefix}: {(whole['prefix'] == prefix).sum()} of {n_families} families measured."
        for prefix in prefixes
    ]
    short = whole[whole["distance"].isna() & ~whole["passes"].astype(bool)]
    failing = [
        f"- {row.family}, prefix {row.prefix}: {number(row.contrast)} logits"
        for row in short.itertuples()
    ]
    far = reach(whole)
    reaches = [
        f"| {prefix} | {kind} | {' | '.join(_reach(of_kind, mode) for mode in _MODES)} |"
        for (prefix, kind), of_kind in far.groupby(["prefix", "kind"], sort=False)
    ]
    return _HEAD.format(
        model=model,
        first=prefixes[0],
        measured="\n".join(measured),
        failing="\n".join(failing or ["None of those measured."]),
        reaches="\n".join(reaches),
    )


def _reach(of_kind: pd.DataFrame, mode: str) -> str:
    rows = of_kind[of_kind["mode"] == mode]
    if rows.empty:
        return "not measured"
    return f"{rows['reach'].iloc[0]} (of {rows['measured'].iloc[0]})"
