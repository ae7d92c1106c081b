"""How far a cue alone goes: answers guessed without following the relation."""

import math
import re
from collections import Counter
from collections.abc import Callable, Iterable, Sequence

import pandas as pd

from interp.items import Item, Span

CHANCE = 0.5

Cues = Callable[[Item], Sequence[str]]


def heuristics(items: Sequence[Item]) -> pd.DataFrame:
    """One row a heuristic: `heuristic, learns, n_items, accuracy`; chance is .5.

    A heuristic that learns counts which answers follow its cues in one split and is asked about the
    other, both ways round; items without splits are halved by pair. Where a cue does not tell the
    answers apart, or was never seen, it is right in half of the cases.

    - `bigram`: the answers that follow the last word.
    - `last word`: those that follow words with its last two letters.
    - `bag of words`: those of texts with the same words, wherever they stand (naive Bayes).
    - `nearest noun`: what the last of source and distractors would say.
    - `first name`: what the first of them would say.

    The last two know which words are candidates, and that a distractor of the source's own kind
    (`match`) says what the source says. Items from which what decides was removed are left out.
    """
    asked = [item for item in items if item.labels.get("decider") != "absent"]
    learned: dict[str, Cues] = {"bigram": _last_word, "last word": _ending, "bag of words": _words}
    rows = [
        {"heuristic": name, "learns": True, "credits": _learned(asked, cues)}
        for name, cues in learned.items()
    ]
    for name, pick in (("nearest noun", max), ("first name", min)):
        credits = [_candidate(item, pick) for item in asked if item.source]
        rows.append({"heuristic": name, "learns": False, "credits": credits})
    table = pd.DataFrame(rows)
    table["n_items"] = table["credits"].map(len)
    table["accuracy"] = table.pop("credits").map(lambda c: sum(c) / len(c) if c else math.nan)
    return table


def _learned(items: Sequence[Item], cues: Cues) -> list[float]:
    halves = _halves(items)
    return [
        credit
        for tested, taught in (halves, halves[::-1])
        for credit in _credits(tested, _follows(taught, cues), cues)
    ]


def _halves(items: Sequence[Item]) -> tuple[list[Item], list[Item]]:
    splits = sorted({item.split for item in items})
    if len(splits) == 2:
        home = {item.pair_id: splits.index(item.split) for item in items}
    else:
        home = {
            pair: place % 2 for place, pair in enumerate(dict.fromkeys(i.pair_id for i in items))
        }
    return (
        [item for item in items if home[item.pair_id] == 0],
        [item for item in items if home[item.pair_id] == 1],
    )


def _follows(items: Iterable[Item], cues: Cues) -> Counter[tuple[str, str]]:
    return Counter((cue, item.answer_text) for item in items for cue in cues(item))


def _credits(
    items: Iterable[Item], follows: Counter[tuple[str, str]], cues: Cues
) -> Iterable[float]:
    """1 for an answer that its cues prefer to the foil, 0 for the other way, a half for neither."""
    for item in items:
        evidence = sum(
            math.log((follows[cue, item.answer_text] + 1) / (follows[cue, item.foil_text] + 1))
            for cue in sorted(cues(item))
        )
        yield 0.5 if abs(evidence) < 1e-9 else float(evidence > 0)


def _text(item: Item) -> str:
    return item.clean_text if item.query is None else item.clean_text[: item.query.end]


def _words(item: Item) -> list[str]:
    return sorted(set(re.findall(r"\w+", _text(item))))


def _last_word(item: Item) -> list[str]:
    return re.findall(r"\w+|[^\w\s]", _text(item))[-1:]


def _ending(item: Item) -> list[str]:
    return [word[-2:] for word in _last_word(item)]


def _candidate(item: Item, pick: Callable[[Iterable[Span]], Span]) -> float:
    chosen = pick([*item.source, *item.distractors])
    return float(chosen in item.source or item.labels.get("match") == "match")
