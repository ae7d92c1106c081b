"""Claim 5: different heads track syntax, coreference, semantic similarity.

A head is *syntactic* when it finds the other end of a dependency more often than the best fixed
offset; *coreferential* when from a pronoun it looks at the name that is meant rather than at the
other, which in half of the pairs is the nearer one; *semantic* when it looks from noun to noun the
more, the more alike the two are, places and frequency held still. All three are of attention alone;
removing the heads that lead each group shows whether the model uses them for it.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from random import Random

import pandas as pd

from analyses.primer.claim import Claim, Finding, Setting, Tables, minilm, smollm2
from analyses.primer.groups import GROUPS, LEAST_ADVANTAGE, LEAST_RHO, SCORES, overlaps, scores_of
from analyses.primer.rule import Ask, Estimate, Rule
from analyses.primer.together import RANDOM, over_random, removal_table, share, with_random
from interp.effects.scopes import Scope
from interp.heads import Head
from interp.items import Item
from interp.models import Model
from interp.report import plots
from interp.report.canvas import COLOURS
from interp.report.page import Plate
from interp.report.spelling import listed, number, whole_percent
from interp.tasks import build, pairs
from interp.tasks.parsed import noun_classes, parsed_sentences
from interp.tasks.readers.treebank import Sentence, read_sentences
from interp.tokens import text_ids

TASK_OF = {"syntactic": "agreement", "coreferential": "coreference", "semantic": "word lists"}
RULE = Rule(
    (
        Ask(
            name="overlap",
            what="Jaccard overlap of two of the three groups of heads, the largest in either model",
            at_most=1 / 3,
        ),
        Ask(
            name="syntactic", what="syntactic heads, in the model with fewer", at_least=1, digits=0
        ),
        Ask(name="coreferential", what="coreferential heads, likewise", at_least=1, digits=0),
        Ask(name="semantic", what="semantic heads, likewise", at_least=1, digits=0),
        *(
            Ask(
                name=f"{group}_used",
                what=f"share of the gap in {TASK_OF[group]} that goes with SmolLM2's leading "
                f"{group} heads, less that with random heads of their layers",
                at_least=0.0,
                is_core=False,
            )
            for group in GROUPS
        ),
    )
)
N_LEADING = 8
N_RANDOM = 3


@dataclass(frozen=True)
class Size:
    """How much is measured."""

    n_sentences: int
    n_pairs: int


SIZES = {"quick": Size(120, 16), "standard": Size(400, 64)}


def measure(setting: Setting) -> Finding:
    """Three scores of every head of both models; then the removal of each group's leaders."""
    size = SIZES[setting.preset]
    with setting.progress("claim 5: division", 3) as advance:
        sentences = sentences_of(setting, size.n_sentences)
        scored = []
        for model in (minilm(), smollm2()):
            scored.append(scores_of(model, sentences, n_pairs=size.n_pairs, seed=setting.seed))
            advance(1)
        heads = pd.concat(scored, ignore_index=True)
        removed = removals(smollm2(), heads, size, seed=setting.seed)
        advance(1)
    return Finding(
        evidence=evidence_of(heads, removed),
        sentences=_sentences(heads, removed, setting),
        tables={"heads": heads, "overlaps": overlaps(heads), "removed": shares(removed)},
    )


def sentences_of(setting: Setting, n_sentences: int) -> list[Sentence]:
    """The first sentences of the treebank that is named, or as many generated ones."""
    if setting.conllu:
        return list(islice(read_sentences(setting.conllu), n_sentences))
    return parsed_sentences(n_sentences, seed=setting.seed)


def word_lists(model: Model, *, n_pairs: int, seed: int) -> list[Item]:
    """Lists of things of one kind: what comes next is of that kind too. Nouns are single tokens."""
    kinds = {
        name: [noun for noun in nouns if len(text_ids(f" {noun}", model.tokenizer)) == 1]
        for name, nouns in noun_classes().items()
    }
    usable = [name for name, nouns in kinds.items() if len(nouns) >= 4]
    rng = Random(f"{seed}.lists")
    records = []
    for number_of_pair in range(n_pairs):
        first, second = rng.sample(usable, 2)
        words, others = rng.sample(kinds[first], 4), rng.sample(kinds[second], 4)
        records.append(
            {
                "pair_id": f"list{number_of_pair}",
                "clean": f"Words: {', '.join(words[:3])},",
                "corrupt": f"Words: {', '.join(others[:3])},",
                "answer": f" {words[3]}",
                "foil": f" {others[3]}",
                "clusters": [f"pair:{number_of_pair}"],
            }
        )
    return pairs(records)


def removals(model: Model, heads: pd.DataFrame, size: Size, *, seed: int) -> pd.DataFrame:
    """What each task loses with the leading heads of each group, and with random ones like them.

    Everywhere, the output exchanged for that in the counterfactual. One row a task, set and item.
    """
    of_model = heads[heads["model"] == model.name]
    leaders: dict[str, list[Head]] = {}
    for group, score in zip(GROUPS, SCORES, strict=True):
        among = of_model[of_model[f"is_{group}"]].nlargest(N_LEADING, score)
        leaders[group] = [Head(int(row.layer), int(row.head)) for row in among.itertuples()]
    sets = with_random(leaders, model, n_random=N_RANDOM, seed=seed)
    tasks = {
        "agreement": build("agreement", model.tokenizer, n_pairs=size.n_pairs, seed=seed),
        "coreference": build("coreference/name", model.tokenizer, n_pairs=size.n_pairs, seed=seed),
        "word lists": word_lists(model, n_pairs=size.n_pairs, seed=seed),
    }
    return pd.concat(
        [
            removal_table(model, items, sets, scope=Scope.EVERYWHERE).assign(task=task)
            for task, items in tasks.items()
        ],
        ignore_index=True,
    )


def evidence_of(heads: pd.DataFrame, removed: pd.DataFrame) -> dict[str, Estimate]:
    """The figures that the rule asks for."""
    by_model = heads.groupby("model")
    evidence = {"overlap": Estimate.exact(float(overlaps(heads)["overlap"].max()))}
    for group in GROUPS:
        evidence[group] = Estimate.exact(float(by_model[f"is_{group}"].sum().min()))
    for group in GROUPS:
        of_task = removed[removed["task"] == TASK_OF[group]]
        evidence[f"{group}_used"] = over_random(of_task, group)
    return evidence


def shares(removed: pd.DataFrame) -> pd.DataFrame:
    """The share of each task's gap that goes with each set: `group, task, value, low, high`."""
    rows = []
    for group in GROUPS:
        for name in (group, f"{RANDOM}{group}"):
            for task, of_task in removed.groupby("task", sort=False):
                found = share(of_task, name)
                rows.append(
                    {"group": name, "task": task}
                    | {"value": found.value, "low": found.low, "high": found.high}
                )
    return pd.DataFrame(rows)


def _sentences(heads: pd.DataFrame, removed: pd.DataFrame, setting: Setting) -> list[str]:
    said = []
    for name, of_model in heads.groupby("model", sort=False):
        numbers = [f"{int(of_model[f'is_{group}'].sum())}" for group in GROUPS]
        counts = f"{numbers[0]} are syntactic, {numbers[1]} coreferential and {numbers[2]} semantic"
        several = int((of_model[[f"is_{group}" for group in GROUPS]].sum(axis=1) > 1).sum())
        best = [of_model.loc[of_model[score].idxmax()] for score in SCORES]
        said.append(
            f"Of the {len(of_model)} heads of {name}, {counts}; {several} are in more than "
            f"one group. In the lead: {best[0]['label']} ({best[0]['relation'].replace(',', '')}, "
            f"{number(best[0]['advantage'])} over the offset), {best[1]['label']} "
            f"({number(0.5 + best[1]['above_half'])} of pronouns) and {best[2]['label']} (ρ = "
            f"{number(best[2]['rho'])})."
        )
    table = shares(removed).set_index(["group", "task"])["value"]
    uses = [
        f"the {group} ones "
        + listed([f"{whole_percent(table[group, task])} of {task}" for task in TASK_OF.values()])
        for group in GROUPS
    ]
    found = overlaps(heads)
    most = found.loc[found["overlap"].idxmax()]
    apart = found[(found["one"] == "syntactic") & (found["other"] == "semantic")]["overlap"].max()
    source = Path(setting.conllu).name if setting.conllu else "generated sentences"
    return [
        " ".join(said) + f" Measured on {source}.",
        f"The two groups that overlap most are the {most['one']} and the {most['other']} heads of "
        f"{most['model']}: of the heads in either, {whole_percent(most['overlap'])} are in both. "
        "From a pronoun to the name of its gender a head may look for likeness alone, and be in "
        f"both. Syntactic and semantic heads share {whole_percent(apart)} at the most.",
        f"Exchanged together, the {N_LEADING} leading heads of each group in SmolLM2 take away "
        f"of the gap: {'; '.join(uses)}.",
    ]


def plates(tables: Tables) -> Iterator[Plate]:
    """The map of heads, and what each group's leaders carry."""
    heads = tables["heads"]
    names = [_name_of(row) for row in heads.to_dict("records")]
    leading = [
        row
        for _, of_model in heads.groupby("model")
        for score in ("advantage", "rho")
        for row in of_model.nlargest(3, score).index
    ]
    palette = {
        "syntactic": COLOURS[0],
        "coreferential": COLOURS[3],
        "semantic": COLOURS[2],
        "several": COLOURS[4],
        "none": "#d5d5d5",
    }
    yield Plate(
        "map",
        "Every head by syntax and by meaning",
        plots.points(
            heads.assign(group=names, is_named=heads.index.isin(leading)),
            x="advantage",
            y="rho",
            hue="group",
            panel="model",
            palette=palette,
            labels=(
                "accuracy over the best offset, best relation",
                "partial ρ with the likeness of nouns",
            ),
            lines=((LEAST_ADVANTAGE,), (LEAST_RHO,)),
        ),
        "Across: how much oftener than the best fixed offset a head finds the other end of a "
        "dependency. Up: how its attention from noun to noun goes with their likeness. Dashed: "
        "from where on a head counts, if it is significant too.",
    )
    table = tables["removed"]
    rows = table[table["group"].isin(GROUPS)]
    rows = rows.assign(row=rows["task"], set=rows["group"])
    yield Plate(
        "removed",
        "What each group's leading heads carry",
        plots.intervals(rows, hue="set", label="share of the gap that goes with them"),
        f"The {N_LEADING} leading heads of each group of SmolLM2, their output exchanged "
        "everywhere for that in the counterfactual; 95 % intervals. What random heads of the same "
        "layers carry is in removed.csv.",
    )


def _name_of(row: dict[str, object]) -> str:
    groups = [group for group in GROUPS if row[f"is_{group}"]]
    return "none" if not groups else groups[0] if len(groups) == 1 else "several"


CLAIM = Claim(
    number=5,
    name="division",
    says="Different heads track syntax, coreference, semantic similarity.",
    how="Every head of MiniLM and SmolLM2 by three scores of attention, each against its baseline; "
    "and in SmolLM2 the removal of the heads that lead each group.",
    rule=RULE,
    measure=measure,
    plates=plates,
)
