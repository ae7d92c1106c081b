"""Verdicts and a league small enough to work every sentence out by hand."""

import pandas as pd

CONSISTENT, WRONG_EDGE = "attention-consistent", "wrong edge"
IDLE, SILENT = "attends but idle", "silent but causal"
COLUMNS = ["label", "verdict", "raw", "cas", "effect_everywhere", "effect_query", "effect_edge"]
LEAGUE = pd.DataFrame(
    [("raw", "edge", 0.6, 0.5, 0.7, 0.4, 4), ("cas", "edge", 0.72, 0.61, 0.8, 0.5, 4)],
    columns=["measure", "tier", "spearman", "spearman_low", "spearman_high", "kendall", "n_heads"],
)


def heads(*rows):
    """Verdicts whose intervals reach 0.02 to either side."""
    table = pd.DataFrame(rows, columns=COLUMNS)
    for column in ("cas", "effect_everywhere", "effect_query", "effect_edge"):
        table[f"{column}_low"] = table[column] - 0.02
        table[f"{column}_high"] = table[column] + 0.02
    table["attends"] = table["verdict"].isin([CONSISTENT, WRONG_EDGE, IDLE])
    for tier in ("everywhere", "query", "edge"):
        is_causal = table["verdict"].isin([CONSISTENT, WRONG_EDGE, SILENT])
        table[f"matters_{tier}"] = is_causal & (table[f"effect_{tier}"].abs() >= 0.05)
    table["subtype"] = ""
    table["n_pairs_to_decide"] = float("nan")
    return table


FOUR = heads(
    ("L0H2", "neither", 0.1, -0.01, 0.0, 0.001, 0.0),
    ("L1H0", SILENT, 0.03, 0.01, 0.18, -0.01, 0.002),
    ("L2H0", IDLE, 0.84, 0.57, 0.01, 0.004, -0.003),
    ("L2H8", CONSISTENT, 0.79, 0.48, 0.46, 0.45, 0.44),
)
QUIET = heads(
    ("L0H0", "neither", 0.1, 0.04, 0.01, 0.03, 0.0), ("L0H1", "neither", 0.1, 0.01, 0, 0, 0)
)
