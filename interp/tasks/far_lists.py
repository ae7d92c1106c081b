"""Lists at a distance: cues with their answers, filler, and one cue again."""

from collections.abc import Mapping
from typing import Any, Literal, NamedTuple

from interp.tasks.distance import FarPair, FarWording, Side
from interp.tasks.filler import Filler
from interp.tasks.lexicon import MIN_LEXEMES, Record, load
from interp.tasks.turns import SPLITS, dealt, halves

N_CONTEXTS = 32
"""A second question is put to a context only when this many have had their first."""

_ENTRIES = ("2", "0", "1")  # the nearest to the query first


class Lists(Record):
    """One family of `data/distances.toml`: wordings with slots cue0 to cue2, answer0 to answer2.

    Where cues and answers are `"words"`, both come from the words of `data/long_range.toml`, as do
    the `others`, further slots of the head.
    """

    filler: Literal["weather", "haystack"]
    cues: Literal["words"] | tuple[str, ...]
    answers: Literal["words"] | tuple[str, ...]
    others: tuple[str, ...] = ()
    wordings: tuple[FarWording, FarWording, FarWording, FarWording]


class _Words(Record):
    text: str
    words: tuple[str, ...]


class _LongRange(Record):
    repeat: _Words
    recall: Any


class _Slots(NamedTuple):
    """Slots that are filled from one lexicon, and its lexemes in each split."""

    name: str
    roles: tuple[str, ...]
    by_split: tuple[list[str], list[str]]


def list_pairs(
    name: str, data: Lists, filler: Filler, tokenizer: Any, n_pairs: int, seed: int
) -> list[FarPair]:
    """Pairs that differ in the cue that is asked: the last of the list, or an earlier one.

    Pairs are dealt to the splits in turn, and lexemes to the slots, so that each has each role of
    its split equally often.
    """
    slots = _slots(data, filler, tokenizer)
    pairs: list[FarPair] = []
    for index in range(n_pairs):
        context, question = _turn(index)
        split, turn = context % 2, context // 2
        words = {
            role: word
            for lexicon in slots
            for role, word in zip(
                lexicon.roles,
                dealt(
                    lexicon.by_split[split], len(lexicon.roles), turn, key=f"{seed}.{lexicon.name}"
                ),
                strict=True,
            )
        }
        far = str((turn // 2 + question) % 2)
        pairs.append(
            FarPair(
                pair_id=f"{name}.{index:04d}",
                wording=data.wordings[2 * split + turn % 2],
                split=SPLITS[split],
                clusters=(f"near:{words['cue2']}", f"far:{words[f'cue{far}']}"),
                clean=_side(words, far, "2", "first"),
                corrupt=_side(words, "2", far, "second"),
                nearest="answer2",
                stream=f"{seed}.{name}.{context}",
            )
        )
    return pairs


def _turn(index: int) -> tuple[int, int]:
    """The context of a pair, and which of its questions the pair asks."""
    rounds, within = divmod(index, 2 * N_CONTEXTS)
    question, context = divmod(within, N_CONTEXTS)
    return rounds * N_CONTEXTS + context, question


def _slots(data: Lists, filler: Filler, tokenizer: Any) -> list[_Slots]:
    cues = tuple(f"cue{entry}" for entry in _ENTRIES)
    answers = tuple(f"answer{entry}" for entry in _ENTRIES)
    if data.cues == "words" or data.answers == "words":
        lexicon = load("long_range.toml", _LongRange).repeat.words
        lexica = [("words", lexicon, (*cues, *answers, *data.others))]
    else:
        lexica = [("cues", data.cues, cues), ("answers", data.answers, answers)]
    return [
        _Slots(
            name=name,
            roles=roles,
            by_split=halves(
                [word for word in words if word.lower() not in filler.words],
                tokenizer,
                slot=name,
                at_least=max(MIN_LEXEMES, len(roles)),
            ),
        )
        for name, words, roles in lexica
    ]


def _side(words: Mapping[str, str], entry: str, other: str, place: str) -> Side:
    """The prompt that asks for one entry of the list, with the other as the foil."""
    return Side(
        words={**words, "query": words[f"cue{entry}"]},
        source=f"answer{entry}",
        distractors=(f"answer{other}",),
        answer=words[f"answer{entry}"],
        labels={"source_slot": place},
    )
