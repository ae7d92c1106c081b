"""A made-up run with the columns of a real one. No model is behind it."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd

from interp.store import Run

TIERS = ("everywhere", "query", "edge")
TOKENS = ("<|endoftext|>", "The", " keys", " near", " the", " box", " near")


def example_run(n_layers: int, n_heads: int) -> Run:
    """Few heads attend, few matter, and the two sets overlap in part."""
    verdicts = _verdicts(n_layers, n_heads)
    return Run(
        settings={**settings(n_layers, n_heads), "gap": 3.42, "noise_floor": 2.4e-6},
        tables={
            "behaviour": behaviour(),
            "cells": cells(),
            "verdicts": verdicts,
            "league": _league(n_layers * n_heads),
            "captured": _captured(),
            "left_out": pd.DataFrame(
                [("rollout", "", "it is of a layer, not of a head")],
                columns=["measure", "tier", "reason"],
            ),
            "threshold_sweep": pd.DataFrame(
                [(0.05, 0.02, 9, 14, 5, 3), (0.05, 0.1, 9, 3, 2, 6)],
                columns=["attends", "matters", "n_attend", "n_matter", "n_both", "n_idle_looking"],
            ),
            "by_template": _by_template(verdicts),
            "battery": _battery(verdicts),
            "controls": _controls(),
            **examples(verdicts),
        },
    )


def examples(
    verdicts: pd.DataFrame, tokens: Sequence[str] = TOKENS, *, left_out: int = 0
) -> dict[str, pd.DataFrame]:
    """Two items: the first token is the sink, the third the source, the last the query.

    What is left out stood before the query.
    """
    random = np.random.default_rng(2)
    item_ids = ["agreement.0000.a", "agreement.0000.b"]
    places = [*range(len(tokens) - 1), len(tokens) - 1 + left_out]
    items = pd.DataFrame(
        {
            "item_id": item_ids,
            "template_id": "beside_knew",
            "answer": [" is", " are"],
            "foil": [" are", " is"],
            "n_tokens": len(tokens) + left_out,
            "left_out": left_out,
            "intact": [2.5, 1.5],
            "corrupt": [-1.5, -2.5],
        }
    )
    shown = pd.DataFrame(
        {
            "item_id": np.repeat(item_ids, len(tokens)),
            "position": places * 2,
            # as objects: the string type of pandas holds no half an emoji
            "token": pd.Series(list(tokens) * 2, dtype=object),
            "is_source": [place == 2 for place in places] * 2,
            "is_distractor": [place == len(tokens) - 2 for place in places] * 2,
            "is_query": [place == places[-1] for place in places] * 2,
            "is_special": [place == 0 for place in places] * 2,
        }
    )
    heads = verdicts[["layer", "head"]]
    effects = pd.concat(heads.assign(item_id=item_id) for item_id in item_ids)
    for tier in TIERS:
        effects[f"effect_{tier}"] = random.normal(0, 0.5, len(effects))
    keys = places + [-1] * bool(left_out)
    cells = effects[["item_id", "layer", "head"]].merge(
        pd.DataFrame({"position": keys}), how="cross"
    )
    n_rows = len(effects)
    cells["raw"] = random.dirichlet(np.full(len(keys), 0.4), n_rows).ravel().round(4)
    cells["norm_share"] = random.dirichlet(np.full(len(keys), 0.4), n_rows).ravel().round(4)
    cells["projected"] = random.normal(0, 0.3, len(cells)).round(4)
    return {
        "examples": items,
        "example_tokens": shown,
        "example_effects": effects,
        "example_attention": cells,
    }


def without(run: Run, *columns: str) -> Run:
    """The run as it comes out where these columns of the verdicts could not be measured."""
    tables = dict(run.tables)
    ends = ("", "_low", "_high", "_p")
    gone = [f"{column}{end}" for column in columns for end in ends]
    verdicts, templates = tables["verdicts"], tables["by_template"]
    tables["verdicts"] = verdicts.assign(
        **dict.fromkeys(verdicts.columns.intersection(gone), np.nan)
    )
    tables["by_template"] = templates.drop(columns=gone, errors="ignore")
    for name in ("league", "captured"):
        table = tables[name]
        is_gone = table["measure"].isin(columns) | ("effect_" + table["tier"]).isin(columns)
        is_gone |= "raw" in columns  # no source, no leagues
        tables[name] = pd.DataFrame() if is_gone.all() else table[~is_gone]
    if "raw" in columns:  # nothing attends, at whatever threshold
        del tables["threshold_sweep"]
    controls = tables["controls"]
    tables["controls"] = controls[~controls["measure"].isin(columns)]
    return Run(settings={**run.settings, "preset": "own pairs"}, tables=tables)


def without_source(run: Run, *columns: str) -> Run:
    """No head can be said to attend: what is left is whether it matters."""
    bare = without(run, "raw", "sink_corrected", "margin", "cas", "effect_edge", *columns)
    verdicts = bare.tables["verdicts"]
    matters = verdicts[[f"matters_{tier}" for tier in TIERS]].any(axis=1)
    verdict = np.where(matters, "causal", "neither")
    tables = {**bare.tables, "verdicts": verdicts.assign(verdict=verdict, attends=False)}
    return Run(settings=bare.settings, tables=tables)


def failing_run() -> Run:
    """No template passes its gate: there is nothing but the behaviour."""
    failing = behaviour().assign(
        contrast=[0.31, 0.12, -0.2],
        contrast_low=[0.1, -0.1, -0.5],
        contrast_high=[0.5, 0.3, 0.1],
        passes=False,
        reason="its mean contrast is below 0.5 logits",
    )
    return Run(settings=settings(6, 12), tables={"behaviour": failing, "cells": cells()})


def settings(n_layers: int, n_heads: int) -> dict[str, Any]:
    return {
        "task": "agreement",
        "model": "SmolLM2-135M-Instruct",
        "model_hash": "5f0c1a9e",
        "dtype": "float32",
        "weights": "as trained",
        "prefix": "<|endoftext|>",
        "preset": "standard",
        "n_pairs": 128,
        "n_items": 256,
        "thresholds": {"attends": 0.05, "matters": 0.05, "alpha": 0.05},
        "seed": 0,
        "versions": {"interp": "0.1.0", "torch": "2.9.0", "transformers": "5.24.0"},
        "leagues": {
            "halves": "Heads are ordered on the discovery half of the items and removed on the "
            "confirmation half, which has other wordings and other words.",
            "n_pairs_scored": 64,
            "n_pairs_floor": 16,
            "n_pairs_held_out": {"everywhere": 32, "query": 64, "edge": 63},
            "no_share": {},
        },
        "check": {
            "heads": ["L0H0", "L14H3", "L29H8"],
            "largest_difference": 3.1e-6,
            "largest_logit": 24.3,
            "scopes": ["everywhere", "query", "edge"],
        },
        "n_heads": n_heads,
        "n_layers": n_layers,
        "metric": "logit_difference",
        "baseline": "resample from the pair",
        "n_clusters": [40, 38],
        "n_items_in_halves": [128, 128],
        "cautions": [],
    }


def behaviour() -> pd.DataFrame:
    return pd.DataFrame(
        {
            "template_id": ["beside_knew", "near_saw", "behind_met"],
            "n_pairs": 43.0,
            "n_clusters": 32.0,
            "n_tokens": [9.0, 9.0, 11.0],
            "contrast": [3.9, 3.1, 0.2],
            "contrast_low": [3.5, 2.8, -0.1],
            "contrast_high": [4.3, 3.4, 0.5],
            "p_value": [0.0001, 0.0001, 0.31],
            "share_flipped": [1.0, 0.98, 0.56],
            "accuracy": [0.97, 0.93, 0.52],
            "passes": [True, True, False],
            "reason": ["", "", "its mean contrast is below 0.5 logits"],
        }
    )


def cells() -> pd.DataFrame:
    return pd.DataFrame(
        [
            (template, f"source={source}, distractor={distractor}", 64.0, 1.9, 1.6, 2.2, 0.93)
            for template in ("beside_knew", "near_saw", "behind_met")
            for source, distractor in (("singular", "plural"), ("plural", "singular"))
        ],
        columns=[
            *(
                "template_id",
                "cell",
                "n_items",
                "logit_difference",
                "logit_difference_low",
                "logit_difference_high",
                "accuracy",
            )
        ],
    )


def _verdicts(n_layers: int, n_heads: int) -> pd.DataFrame:
    random = np.random.default_rng(0)
    layer, head = np.divmod(np.arange(n_layers * n_heads), n_heads)
    n = len(layer)
    depth = layer / max(n_layers - 1, 1)
    cas = random.normal(0, 0.015, n) + depth * random.gamma(0.15, 0.25, n)
    edge = random.normal(0, 0.004, n)
    order = np.argsort(-cas, kind="stable")
    edge[order[[1, 3, 4, 6]]] = [0.41, 0.13, 0.09, -0.07]
    query = edge + random.normal(0, 0.006, n)
    query[order[[2, 20, 40]]] += [0.16, 0.11, -0.08]
    everywhere = query + random.normal(0, 0.008, n)
    everywhere[order[50]] += 0.19
    raw = np.clip(cas + random.gamma(1, 0.05, n), 0, 1)
    attends = (raw >= 0.05) & (cas > 0.12)
    matters = np.maximum(np.abs(query), np.abs(everywhere)) >= 0.05
    on_edge = np.abs(edge) >= np.abs(query) / 2
    table = pd.DataFrame(
        {
            "layer": layer,
            "head": head,
            "label": [f"L{a}H{b}" for a, b in zip(layer, head, strict=True)],
            "raw": raw,
            "sink_mass": random.beta(3, 2, n) * (1 - raw),
            "sink_corrected": np.clip(raw * 1.5, 0, 1),
            "margin": cas * 0.9,
            "cas": cas,
            "attends": attends,
            "verdict": np.select(
                [attends & matters & on_edge, attends & matters, attends, matters],
                [
                    "attention-consistent",
                    "wrong edge",
                    "attends but idle",
                    "silent but causal",
                ],
                "neither",
            ),
        }
    )
    for score in ("raw", "margin", "cas"):
        table[f"{score}_low"] = table[score] - 0.02
        table[f"{score}_high"] = table[score] + 0.02
    for tier, effect in zip(TIERS, (everywhere, query, edge), strict=True):
        half = 0.006 + 0.12 * np.abs(effect)
        table[f"effect_{tier}"] = effect
        table[f"effect_{tier}_low"] = effect - half
        table[f"effect_{tier}_high"] = effect + half
        table[f"effect_{tier}_p"] = np.where(np.abs(effect) > 0.05, 0.0001, 0.8)
        table[f"matters_{tier}"] = (np.abs(effect) >= 0.05) & matters
    return table.assign(subtype="", n_pairs_to_decide=np.nan)


def _controls() -> pd.DataFrame:
    names = (
        "measured", "label swap", "label swap, best head", "even", "fixed offset", "random init",
        "random init, embeddings kept",
    )  # fmt: skip
    values = {
        "raw": (0.71, 0.05, np.nan, 0.2, 0.5, 0.22, 0.25),
        "cas": (0.6, 0.11, 0.15, 0.0, np.nan, 0.01, 0.02),
    }
    return pd.DataFrame(
        [
            {
                "measure": measure,
                "control": name,
                "head": "L1H0" * (place in (0, 1, 3)),
                "value": value,
            }
            for measure, of_measure in values.items()
            for place, (name, value) in enumerate(zip(names, of_measure, strict=True))
        ]
    )


MEASURES = (
    ("raw", "pattern only", 0.66, 0.41),
    ("cas", "pattern only", 0.72, 0.78),
    ("margin", "pattern only", 0.69, 0.74),
    ("sink_corrected", "pattern only", 0.61, 0.4),
    ("norm", "value-aware", 0.7, 0.5),
    ("attribution", "metric-aware", 0.83, 0.92),
)


def _league(n_heads: int) -> pd.DataFrame:
    rows = []
    for tier, drop in (("everywhere", 0.2), ("query", 0.12), ("edge", 0.0)):
        for measure, league, rho, area in MEASURES:
            row: dict[str, Any] = {
                "measure": measure, "league": league, "tier": tier, "n_heads": n_heads,
            }  # fmt: skip
            row |= _bounds("spearman", rho - drop, 0.07) | _bounds("kendall", 0.7 * rho, 0.05)
            row |= {
                "partial": rho - 0.1, "p": 0.0005, "ceiling": 0.9, "of_ceiling": rho / 0.9,
                "random_init": 0.04, "label_swap": np.nan if measure == "cas" else 0.3, "k_max": 20,
            }  # fmt: skip
            row |= _bounds("area", area - drop, 0.09)
            row |= _bounds("area_over_raw", area - 0.41, 0.08 * (measure != "raw"))
            rows.append(row)
    return pd.DataFrame(rows)


def _captured() -> pd.DataFrame:
    rows = []
    for tier in TIERS:
        measures = [(name, area) for name, _, _, area in MEASURES] + [
            ("causal", 1),
            ("random", 0.1),
        ]
        for measure, area in measures:
            for k in range(1, 21):
                share = area * (1 if measure == "causal" else k / (k + 2))
                row: dict[str, Any] = {"measure": measure, "tier": tier, "k": k, "effect": share}
                row |= _bounds("share", share, 0.1 * (measure != "causal"))
                over = np.nan if measure == "random" else share - 0.41 * k / (k + 2)
                row |= _bounds("over_raw", over, 0.1 * (measure != "raw"))
                rows.append(row)
    return pd.DataFrame(rows)


def _bounds(name: str, value: float, half: float) -> dict[str, float]:
    return {name: value, f"{name}_low": value - half, f"{name}_high": value + half}


def _by_template(verdicts: pd.DataFrame) -> pd.DataFrame:
    columns = ["layer", "head", "label", "raw", "cas", *(f"effect_{tier}" for tier in TIERS)]
    return pd.concat(
        verdicts[columns].assign(template_id=template) for template in ("beside_knew", "near_saw")
    )


def _battery(verdicts: pd.DataFrame) -> pd.DataFrame:
    random = np.random.default_rng(1)
    scores = ("previous_token", "duplicate", "induction", "first_token")
    return verdicts[["layer", "head", "label"]].assign(
        **{score: random.beta(0.3, 3, len(verdicts)) for score in scores}
    )
