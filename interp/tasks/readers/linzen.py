"""Tables of subject and verb in natural sentences, in the format of Linzen et al."""

import re
from pathlib import Path

from interp.items import ScoringItem, Span
from interp.tasks.lines import Line, table_lines
from interp.tasks.readers.reading import Reading, reading

_NOUNS = ("NN", "NNS")


def read_linzen(path: Path | str) -> Reading[ScoringItem]:
    """Two items a row: attention to the subject from the verb, and from the word before the verb.

    The columns `orig_sentence` (words with a space between), `subj_index` and `verb_index` (counted
    from 1) and `n_diff_intervening` (nouns of the other number between the two) are needed. Where
    `pos_sentence` is given, the nouns between subject and verb are the distractors.

    The word before the verb has none of the verb's form, as a causal model that predicts it. It is
    left out where it is the subject itself. Each sentence is its own cluster.

    Raises:
        ValueError: a column is missing, or a cell is not what it should be; the message names the
            line and the field.

    Source: Linzen, Dupoux, Goldberg 2016, arXiv:1611.01368.
    """
    columns = ("orig_sentence", "subj_index", "verb_index", "n_diff_intervening")
    items: list[ScoringItem] = []
    dropped: list[tuple[str, str]] = []
    for line in table_lines(path, columns=columns):
        row = line.value
        text = row["orig_sentence"]
        words = _words(text)
        subject = _index(line, "subj_index", len(words))
        verb = _index(line, "verb_index", len(words))
        if subject >= verb:
            dropped.append((line.place, "the verb comes before its subject"))
            continue
        between = _nouns_between(line, words, subject, verb)
        for query, index in (("verb", verb), ("before verb", verb - 1)):
            if index == subject:
                reason = "the word before the verb is the subject itself"
                dropped.append((f"{line.place}, {query}", reason))
                continue
            items.append(
                ScoringItem(
                    item_id=f"{Path(path).name}.{line.number}.{query}",
                    task="subject",
                    clusters=(f"sentence:{line.number}",),
                    text=text,
                    words=words,
                    query=words[index],
                    source=(words[subject],),
                    distractors=between,
                    labels={"query": query, "n_attractors": row["n_diff_intervening"]},
                )
            )
    return reading(items, dropped)


def _words(text: str) -> tuple[Span, ...]:
    """The stretches between single spaces."""
    return tuple(Span(*word.span()) for word in re.finditer(r"(?<![^ ])[^ ]*", text))


def _index(line: Line, field: str, n_words: int) -> int:
    """A position counted from 0, from a cell that counts from 1."""
    cell = line.value[field]
    if not (cell.isascii() and cell.isdigit() and 1 <= int(cell) <= n_words):
        raise ValueError(
            f'{line.place}: field "{field}": expected a word of the sentence, 1 to {n_words}, got '
            f'"{cell}".'
        )
    return int(cell) - 1


def _nouns_between(
    line: Line, words: tuple[Span, ...], subject: int, verb: int
) -> tuple[Span, ...]:
    tags = line.value.get("pos_sentence", " ".join("_" for _ in words)).split(" ")
    if len(tags) != len(words):
        raise ValueError(
            f'{line.place}: field "pos_sentence": expected {len(words)} tags, one for each word, '
            f"got {len(tags)}."
        )
    return tuple(words[place] for place in range(subject + 1, verb) if tags[place] in _NOUNS)
