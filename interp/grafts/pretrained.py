"""Silenced heads and grafts in a pretrained model: what is planted, found, and wrong."""

import pandas as pd
from scipy import stats

from interp.grafts.curve import detection, parts
from interp.grafts.found import ACTING, THRESHOLDS
from interp.grafts.silence import silence
from interp.models import load
from interp.progress import Progress, silent
from interp.tasks import build

MODEL, TASK = "smollm2-135m", "agreement"
SILENCED = ("L26H0", "L27H8")
SHARES = (0.03, 0.05, 0.1)
N_SEEDS, N_HOSTS = 2, 1
N_FITTED, N_HEARD, N_TESTED, N_DRAWINGS = 128, 128, 64, 5
CONFIDENCE, LEAST_P = 0.95, 0.01


def check(*, progress: Progress = silent) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Both in SmolLM2: heads silenced (see `silence`), and the detection curve of every seed.

    A seed draws the words and the order of the items, and the heads that are grafted on.
    """
    model = load(MODEL)
    curves = []
    for seed in range(N_SEEDS):
        n_pairs = N_FITTED + N_HEARD + N_TESTED * N_DRAWINGS
        items = build(TASK, model.tokenizer, n_pairs=n_pairs, seed=seed)
        each = parts(model, items, n_fitted=N_FITTED, n_heard=N_HEARD, n_tested=N_TESTED)
        curves.append(detection(model, each, SHARES, n_hosts=N_HOSTS, seed=seed, progress=progress))
    heads = [model.head(label) for label in SILENCED]
    return silence(model, each.tested[0], heads, seed=0), pd.concat(curves, ignore_index=True)


def summary(curve: pd.DataFrame) -> pd.DataFrame:
    """One row a planted share: what is found of it, over heads and seeds.

    `n` grafts (at the share 0, heads without one); the mean `effect` and the mean half width of its
    interval, `half`; how many effects are significant among all heads (`n_significant`), and how
    many heads are found to matter without attending (`n_mattering`; at the share 0, false
    positives); in how many drawings of items, of how many, the interval holds what was planted
    (`n_holding` of `n_drawings`).
    """
    table = curve.assign(
        half=(curve["high"] - curve["low"]) / 2,
        significant=curve["p"] < THRESHOLDS.alpha,
        matters=curve["verdict"] == ACTING,
    )
    return table.groupby("planted", as_index=False).agg(
        n=("head", "size"),
        effect=("effect", "mean"),
        half=("half", "mean"),
        n_significant=("significant", "sum"),
        n_mattering=("matters", "sum"),
        n_holding=("n_holding", "sum"),
        n_drawings=("n_drawings", "sum"),
    )


def complaints(silenced: pd.DataFrame, summary: pd.DataFrame) -> list[str]:
    """What is wrong, a sentence each; none when all is as it must be.

    A silenced head must be found as such. A graft of at least the size that matters must be
    significant, one of twice that size must be found to matter without attending, and without a
    graft no head must be. Intervals must hold what was planted as often as they claim: fewer, and
    it is wrong if so few would come by chance in less than one run of a hundred.
    """
    found = [
        f"{row.head}, silenced, is found otherwise: {row.verdict}, effect {row.effect:.2g}"
        for row in silenced[~silenced["agrees"]].itertuples()
    ]
    for row in summary.itertuples():
        share = f"of {row.n} heads with {row.planted:.0%} planted"
        if row.planted == 0:
            if row.n_mattering:
                found.append(f"of {row.n} heads with nothing planted {row.n_mattering} matter")
            continue
        if row.planted >= THRESHOLDS.matters and row.n_significant < row.n:
            found.append(f"{share} only {row.n_significant} are significant")
        if row.planted >= 2 * THRESHOLDS.matters and row.n_mattering < row.n:
            found.append(f"{share} only {row.n_mattering} are found to matter without attending")
        n_holding, n_drawings = int(row.n_holding), int(row.n_drawings)
        if stats.binomtest(n_holding, n_drawings, CONFIDENCE, "less").pvalue < LEAST_P:
            found.append(f"{share} only {n_holding} of {n_drawings} intervals hold it")
    return found


"""
"""
