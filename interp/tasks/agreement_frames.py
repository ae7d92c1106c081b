"""Subject–verb agreement, frame by frame; the words and frames are in `data`."""

from collections.abc import Iterator, Sequence
from functools import partial
from random import Random
from typing import Any

from interp.items import Corruption, Item, Prompt
from interp.tasks.design import balanced_cells, crossed, spread
from interp.tasks.family import Family
from interp.tasks.features import ALONE, FLIPPED, UNFLIPPED, Feature, Forms, feature_pairs
from interp.tasks.frames import Frame, Halves, Pair, Split, in_halves, usable_frames
from interp.tasks.lexicon import MIN_FORMS, Record, load, single_token
from interp.tasks.wording import fill

_ROLES = (Corruption.ROLE_FLIP,)
_JOINED = (Corruption.FEATURE_FLIP, Corruption.DISTRACTOR)
_FAMILIES = {
    "simple": ALONE,
    "adv": ALONE,
    "pp1": FLIPPED,
    "pp2": FLIPPED,
    "src_rel": FLIPPED,
    "obj_rel": UNFLIPPED,
    "obj_rel_bare": UNFLIPPED,
    "rel_subject": _ROLES,
    "coord_vp": FLIPPED,
    "sent_comp": UNFLIPPED,
    "coord_np": _JOINED,
    "dist-4": ALONE,
    "dist-8": ALONE,
    "dist-16": ALONE,
}
_NUMBERS = ("singular", "plural")


class _Data(Record):
    verbs: tuple[Forms, ...]
    nouns: Halves[Forms]
    neutral: Halves[str]
    frames: tuple[Frame, ...]


def _generate(
    tokenizer: Any, n_pairs: int, seed: int, corruption: Corruption, *, family: str
) -> list[Item]:
    data = load("agreement_frames.toml", _Data)
    verbs = single_token(data.verbs, tokenizer, slot="verbs", at_least=MIN_FORMS)
    number = Feature(
        name="number",
        levels=_NUMBERS,
        slots=("noun", "attractor"),
        answers=tuple(verbs),
        inflects=True,
    )
    rng = Random(seed)

    def pairs(split: Split, n_of_half: int) -> Iterator[Pair]:
        frames = usable_frames(data.frames, family, split, tokenizer)
        nouns = data.nouns.usable(split, tokenizer, slot="nouns")
        if family == "coord_np":
            return _joined_pairs(frames, nouns, verbs, n_of_half, rng, corruption)
        neutral = (
            data.neutral.usable(split, tokenizer, slot="neutral nouns", at_least=MIN_FORMS)
            if corruption is Corruption.REMOVAL
            else []
        )
        return feature_pairs(number, frames, nouns, neutral, n_of_half, rng, corruption)

    return in_halves(f"agreement/{family}", n_pairs, corruption, pairs)


def _joined_pairs(
    frames: Sequence[Frame],
    nouns: list[Forms],
    verbs: Sequence[Forms],
    n_pairs: int,
    rng: Random,
    corruption: Corruption,
) -> Iterator[Pair]:
    """Two nouns joined by *and*, which are plural together, or the first with a phrase after it.

    - `feature_flip`: *and* becomes a preposition. The first noun is singular, so the answer flips.
    - `distractor`: the second noun changes its number, which must not matter: in half of the pairs
      the nouns are joined and the answer is plural, in half they are not and it is singular.
    """
    rng.shuffle(nouns)
    cells = balanced_cells(n_pairs, rng, frames, (0, 1), (0, 1))
    verbs_of = spread([cell[:2] for cell in cells], verbs, rng)
    for (frame, joined, second), verb, (noun, attractor) in zip(
        cells, verbs_of, crossed(nouns, nouns, n_pairs), strict=True
    ):
        other = (
            (1 - second, joined) if corruption is Corruption.DISTRACTOR else (second, 1 - joined)
        )
        prompts = [
            _joined_prompt(frame, verb, noun, attractor, second=number, is_joined=bool(is_joined))
            for number, is_joined in ((second, joined), other)
        ]
        clusters = (f"noun:{noun[0]}", f"attractor:{attractor[0]}")
        yield Pair(prompts[0], prompts[1], frame.id, clusters)


def _joined_prompt(
    frame: Frame, verb: Forms, noun: Forms, attractor: Forms, *, second: int, is_joined: bool
) -> Prompt:
    assert frame.flip is not None
    words = {"noun": noun[0], "attractor": attractor[second], "flip": frame.flip[not is_joined]}
    text, places = fill(frame.text, words)
    both = (*places["noun"], *places["attractor"])
    return Prompt(
        text=text,
        answer=f" {verb[is_joined]}",
        foil=f" {verb[not is_joined]}",
        source=both if is_joined else places["noun"],
        distractors=() if is_joined else places["attractor"],
        labels={
            "source_number": _NUMBERS[is_joined],
            "distractor_number": _NUMBERS[second],
            "match": "match" if second == is_joined else "mismatch",
        },
        lexemes={"noun": noun[0], "attractor": attractor[0]},
    )


FAMILIES = tuple(
    Family(
        name=f"agreement/{family}",
        corruptions=corruptions,
        generate=partial(_generate, family=family),
    )
    for family, corruptions in _FAMILIES.items()
)
