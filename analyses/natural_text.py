"""In natural text, which head finds the subject, and which the antecedent of a pronoun?

GUM's dev part is read from the folder that INTERP_PUBLIC_DATA names; none of its text is written.
Run: `python -m analyses.natural_text`.
"""

import os
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pandas as pd

from interp.encode_text import all_items, encode_texts
from interp.items import ScoringItem
from interp.measures.held_out import best_heads
from interp.models import Model, load
from interp.progress import on_stderr
from interp.tasks.readers import read_pronouns, read_subjects
from interp.tasks.readers.dependencies import read_dependencies

MODELS = {"minilm-l6": 8, "smollm2-135m": 4}  # texts of each document and task
N_SEEDS = 3
N_SENTENCES = 2  # a pronoun's own and the one before
LONGEST = 256  # tokens
LEAST_ITEMS = 40
FOLDER = Path("reports") / "natural_text"
COUNTS = ", ".join(f"{n_texts} for {name}" for name, n_texts in MODELS.items())
CAPTION = f"""# The best head for a relation in natural text

GUM, dev part: the first texts of each document that have a subject, and the first that have a
pronoun ({COUNTS}); a pronoun's text is its sentence and the one before.
A word receives what its tokens receive; it gives the mean of their rows in the encoder, and the row
of its last token in the decoder, which sees only what stands before. *Open*: of all words but the
query and special tokens the head attends most to the right one; *among*: of the candidates alone
(words of the same part of speech, or heads of mentions). A relation that a model sees in fewer than
{LEAST_ITEMS} cases is left out, such as that from a subject to a verb behind it in the decoder.

Each head is chosen on every second document and counted on the others; the interval is over these
documents. All that it must beat is chosen and counted likewise: the best fixed offset, the nearest
candidate, even attention (chance), and the best head of models of the same shape that have learned
nothing ({N_SEEDS} seeds: mean, and the greatest), also with the trained embeddings kept. *Swapped*
is how often the same head selects the distractor that stands nearest to the source instead. *Raw*
attention to the source stands beside what goes to the sink, and beside its share of the rest. An
offset or a neighbour that does as well says that the head may know places and not roles.
The encoder also sees what follows, and its items are more: rows of the two models are not compared.
`best_heads.csv` has the figures in full. Head-level claims are relative to these texts.

"""


def main() -> None:
    """Ask every head of each model, and write the best with all that it must beat."""
    public = os.environ.get("INTERP_PUBLIC_DATA")
    if public is None:
        raise SystemExit("INTERP_PUBLIC_DATA names no folder with gum/en_gum-ud-dev.conllu in it.")
    path = Path(public) / "gum" / "en_gum-ud-dev.conllu"
    tables = [
        of_model(load(name), list(few_texts(path, n_texts))) for name, n_texts in MODELS.items()
    ]
    table = pd.concat(tables, ignore_index=True).round(4)
    FOLDER.mkdir(parents=True, exist_ok=True)
    table.to_csv(FOLDER / "best_heads.csv", index=False, lineterminator="\n")
    (FOLDER / "README.md").write_text(CAPTION + as_markdown(table), encoding="utf-8")
    print(as_markdown(table))


def few_texts(path: Path, n_texts: int) -> Iterator[ScoringItem]:
    """All items of the first texts of each document, with the relation's name for a task.

    A few of each, so that long documents count no more than others.
    """
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
            if item.text in of_document or len(of_document) < n_texts:
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


def as_markdown(table: pd.DataFrame) -> str:
    """The table with its controls, to two decimals."""

    def two(row: Any, *names: str) -> str:
        return " / ".join(f"{row[name]:.2f}" for name in names)

    rows = [
        {
            "model": row["model"],
            "relation": row["relation"],
            "choice": row["choice"],
            "items": f"{row['n_items']}",
            "seen": f"{row['coverage']:.0%}",
            "head": row["head"],
            "accuracy": f"{two(row, 'accuracy')} ({two(row, 'accuracy_low', 'accuracy_high')})",
            "offset": f"{two(row, 'offset_accuracy')} (at {row['offset']})",
            "nearest": two(row, "nearest"),
            "chance": two(row, "chance"),
            "random": two(row, "random_init", "random_init_most"),
            "random, embeddings": two(row, "random_embeddings", "random_embeddings_most"),
            "swapped": two(row, "decoy"),
            "raw / sink / corrected": two(row, "raw", "sink_mass", "sink_corrected"),
        }
        for _, row in table.iterrows()
    ]
    lines = [list(rows[0]), ["---"] * len(rows[0]), *(list(row.values()) for row in rows)]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


def _before(item: ScoringItem) -> ScoringItem:
    """The item with what stands before its query alone, which is what a causal model sees."""
    source, distractors = (
        tuple(span for span in spans if span.end <= item.query.start)
        for spans in (item.source, item.distractors)
    )
    return replace(item, source=source, distractors=distractors)


if __name__ == "__main__":
    main()
