"""BLiMP: pairs of lines of one set that call for each other's word after a prefix.

A line has one prefix, the word that fits and the word that does not. A counterfactual it has not:
another line of the set serves, whose prefix has as many tokens and calls for the other word. Lines
are matched so that prefixes differ in as few tokens as can be.
"""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from pydantic import ConfigDict
from scipy.optimize import linear_sum_assignment

from interp.items import Item, Prompt, both_directions
from interp.tasks.check import check
from interp.tasks.lexicon import Record, Text, validated
from interp.tasks.lines import json_lines
from interp.tasks.readers.reading import Reading, reading
from interp.tokens import continuation, text_tokens


class _Line(Record):
    """The fields read; sets that are not for the one-prefix method lack the last three."""

    model_config = ConfigDict(extra="ignore", frozen=True)

    UID: Text
    sentence_good: Text
    sentence_bad: Text
    one_prefix_method: bool
    one_prefix_prefix: Text | None = None
    one_prefix_word_good: Text | None = None
    one_prefix_word_bad: Text | None = None


@dataclass(frozen=True, kw_only=True)
class _Prompt:
    place: str
    number: int
    set_name: str
    prefix: str
    ids: tuple[int, ...]
    answer: str
    foil: str


def read_blimp(path: Path | str, tokenizer: Any) -> Reading[Item]:
    """The pairs of a BLiMP set that a tokenizer allows, both directions of each.

    The prompt is the prefix; answer and foil are the two words. Clusters are the two prefixes.
    The sets do not say where the source is, so items have none. The label `n_changed` is the
    number of tokens in which the two prefixes differ.

    Raises:
        ValueError: a line is not JSON or lacks a field; the message names the line and the field.

    Source: Warstadt et al. 2020, arXiv:1912.00582; the one-prefix method is theirs.
    """
    dropped: list[tuple[str, str]] = []
    groups: dict[tuple[str, int, frozenset[str]], list[_Prompt]] = defaultdict(list)
    seen: dict[tuple[str, str, str], int] = {}
    for line in json_lines(path):
        prompt = _prompt(validated(line.value, _Line, place=line.place), line, tokenizer)
        if isinstance(prompt, str):
            dropped.append((line.place, prompt))
            continue
        first = seen.setdefault((prompt.prefix, prompt.answer, prompt.foil), prompt.number)
        if first != prompt.number:
            dropped.append((line.place, "an earlier line has this prefix and these words"))
            continue
        words = frozenset((prompt.answer, prompt.foil))
        groups[prompt.set_name, len(prompt.ids), words].append(prompt)

    pairs: list[tuple[Item, Item]] = []
    for group in groups.values():
        matched = list(_matched(group))
        for one, other in matched:
            pair = _pair(one, other)
            try:
                for item in pair:
                    check(item, tokenizer)
            except ValueError as error:
                dropped += [(prompt.place, str(error)) for prompt in (one, other)]
            else:
                pairs.append(pair)
        used = {prompt.number for both in matched for prompt in both}
        dropped += [
            (prompt.place, "no other line calls for the other word after as many tokens")
            for prompt in group
            if prompt.number not in used
        ]
    pairs.sort(key=lambda pair: pair[0].pair_id)
    return reading([item for pair in pairs for item in pair], dropped)


def _prompt(record: _Line, line: Any, tokenizer: Any) -> _Prompt | str:
    """The prompt of a line, or why there is none."""
    prefix = record.one_prefix_prefix
    good, bad = record.one_prefix_word_good, record.one_prefix_word_bad
    if not record.one_prefix_method or prefix is None or good is None or bad is None:
        return "the set is not for the one-prefix method"
    for sentence, word in ((record.sentence_good, good), (record.sentence_bad, bad)):
        if not sentence.startswith(f"{prefix} {word}"):
            return "a sentence does not begin with its prefix and word"
    for word in (good, bad):
        added = continuation(prefix, f" {word}", tokenizer)
        if added is None:
            return f'" {word}" changes the tokens before it'
        if len(added) != 1:
            return f'" {word}" is {len(added)} tokens'
    return _Prompt(
        place=line.place,
        number=line.number,
        set_name=record.UID,
        prefix=prefix,
        ids=tuple(text_tokens(prefix, tokenizer)[0]),
        answer=f" {good}",
        foil=f" {bad}",
    )


def _matched(group: Sequence[_Prompt]) -> Iterator[tuple[_Prompt, _Prompt]]:
    """Prompts of two answers in pairs, so that the pairs differ in the fewest tokens in all."""
    first = min(group[0].answer, group[0].foil)
    ones = [prompt for prompt in group if prompt.answer == first]
    others = [prompt for prompt in group if prompt.answer != first]
    if not ones or not others:
        return
    one_ids = np.array([prompt.ids for prompt in ones])
    other_ids = np.array([prompt.ids for prompt in others])
    n_changed = (one_ids[:, None] != other_ids[None]).sum(-1)
    same_prompt_last = np.where(n_changed == 0, one_ids.shape[1] + 1, n_changed)
    for row, column in zip(*linear_sum_assignment(same_prompt_last), strict=True):
        yield ones[row], others[column]


def _pair(one: _Prompt, other: _Prompt) -> tuple[Item, Item]:
    n_changed = sum(a != b for a, b in zip(one.ids, other.ids, strict=True))
    labels = {"n_changed": str(n_changed)}
    return both_directions(
        Prompt(
            text=one.prefix,
            answer=one.answer,
            foil=one.foil,
            labels={"answer": one.answer.strip()} | labels,
        ),
        Prompt(
            text=other.prefix,
            answer=one.foil,
            foil=one.answer,
            labels={"answer": other.answer.strip()} | labels,
        ),
        pair_id=f"{one.set_name}.{one.number:04d}",
        task="blimp",
        template_id=one.set_name,
        clusters=(f"prefix1:{one.prefix}", f"prefix2:{other.prefix}"),
    )
