"""In natural text, which head finds the subject, and which the antecedent of a pronoun?

GUM's dev part is read from the folder that INTERP_PUBLIC_DATA names; none of its text is written.
Run: `python -m analyses.natural_text`.
"""

import os
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pandas as pd

from interp.encode_text import all_items, encode_texts
from interp.items import ScoringItem
from interp.measures.held_out import best_heads
from interp.models import Model, load
from interp.progress import on_stderr
from interp.tasks.readers import read_pronouns, read_subjects
from interp.tasks.readers.dependencies import read_dependencies

MODELS = ("minilm-l6", "smollm2-135m")
N_SEEDS = 3
N_SENTENCES = 2  # a pronoun's own and the one before
N_TEXTS = 8  # of each document and task, so that long documents count no more than others
LONGEST = 256  # tokens
LEAST_ITEMS = 40
FOLDER = Path("reports") / "natural_text"


def main() -> None:
    """Ask every head of each model, and write the best with all that it must beat."""
    public = os.environ.get("INTERP_PUBLIC_DATA")
    if public is None:
        raise SystemExit("INTERP_PUBLIC_DATA names no folder with gum/en_gum-ud-dev.conllu in it.")
    items = list(few_texts(Path(public) / "gum" / "en_gum-ud-dev.conllu"))
    tables = [of_model(load(name), items) for name in MODELS]
    table = pd.concat(tables, ignore_index=True)
    FOLDER.mkdir(parents=True, exist_ok=True)
    table.to_csv(FOLDER / "best_heads.csv", index=False, float_format="%.4f", lineterminator="\n")
    print(table.to_string(index=False, float_format=lambda value: f"{value:.2f}"))


def few_texts(path: Path) -> Iterator[ScoringItem]:
    """All items of the first texts of each document, with the relation's name for a task."""
    named = {
        "to dependent": "verb to subject",
        "to head": "subject to verb",
        "before verb": "word before the verb to subject",
        "pronoun": "pronoun to antecedent",
        "before pronoun": "word before the pronoun to antecedent",
    }
    pairs = read_dependencies(path, "nsubj").items
    before_verb = [i for i in read_subjects(path).items if i.labels["query"] == "before verb"]
    pronouns = read_pronouns(path, n_sentences=N_SENTENCES).items
    for of_task in ((*pairs, *before_verb), pronouns):
        texts: dict[str, set[str]] = {}
        for item in of_task:
            of_document = texts.setdefault(item.clusters[0], set())
            if item.text in of_document or len(of_document) < N_TEXTS:
                of_document.add(item.text)
                name = named[item.labels.get("direction") or item.labels["query"]]
                yield replace(item, task=name)


def of_model(model: Model, items: list[ScoringItem]) -> pd.DataFrame:
    """The best heads of a model, a row a relation that it can see often enough."""
    seen = [item for item in map(_before, items) if item.source] if model.is_causal else items
    counts = pd.Series([item.task for item in seen]).value_counts()
    kept = [item for item in seen if counts[item.task] >= LEAST_ITEMS]
    before, after = model.prefix.before, model.prefix.after
    encoded = encode_texts(kept, model.tokenizer, before=before, after=after, longest=LONGEST)
    names = [item.task for item in all_items(encoded.batches)]
    table = best_heads(model, encoded.batches, names, n_seeds=N_SEEDS, progress=on_stderr)
    whole = pd.Series([item.task for item in items]).value_counts()
    return table.assign(coverage=table["relation"].map(pd.Series(names).value_counts() / whole))


def _before(item: ScoringItem) -> ScoringItem:
    """The item with what stands before its query alone, which is what a causal model sees."""
    source, distractors = (
        tuple(span for span in spans if span.end <= item.query.start)
        for spans in (item.source, item.distractors)
    )
    return replace(item, source=source, distractors=distractors)


if __name__ == "__main__":
    main()
