"""A thing and several of another, filler, and "it" or "they": which of the two is meant?"""

from random import Random

from interp.items import Corruption, Item
from interp.models import Model
from interp.tasks.distance import FarPair, FarWording, Mode, Side, at_distance
from interp.tasks.filler import filler_of
from interp.tasks.parsed import noun_classes
from interp.tokens import text_ids


def it_items(model: Model, distance: int, *, n_pairs: int, seed: int) -> list[Item]:
    """A thing and several of another, filler, and "it" or "they": which of the two is meant?

    The nouns are single tokens in either number; which stands first is balanced.
    """
    usable = [
        noun
        for name in ("furniture", "music", "vehicles", "clothes", "tools")
        for noun in noun_classes()[name]
        if all(len(text_ids(f" {word}", model.tokenizer)) == 1 for word in (noun, f"{noun}s"))
    ]
    rng = Random(f"{seed}.it")
    filler = filler_of("weather", model.tokenizer)
    items: list[Item] = []
    for number_of_pair in range(n_pairs):
        one, many = rng.sample(usable, 2)
        words = {"one": one, "many": f"{many}s"}
        one_first = number_of_pair % 2 == 0
        things = ("a {one}", "two {many}") if one_first else ("two {many}", "a {one}")
        wording = FarWording(
            id="one first" if one_first else "many first",
            head=f"In the hall we found {things[0]} and {things[1]}.",
            tail=_TAILS[number_of_pair // 2 % len(_TAILS)],
        )
        sides = [
            Side(
                words={**words, "flip": flip},
                source=slot,
                distractors=(other,),
                answer=words[slot],
                labels={"order": wording.id},
            )
            for flip, slot, other in (("It", "one", "many"), ("They", "many", "one"))
        ]
        pair = FarPair(
            pair_id=f"it{number_of_pair}",
            wording=wording,
            split="",
            clusters=(f"pair:{number_of_pair}",),
            clean=sides[0],
            corrupt=sides[1],
            nearest="many" if one_first else "one",
            stream=f"{seed}.it.{number_of_pair}",
        )
        items += at_distance(
            pair,
            distance,
            Mode.FIXED_SOURCE,
            filler,
            corruption=Corruption.ROLE_FLIP,
            front=f"{seed}.front",
        )
    return items


_TAILS = (" {flip} (that is, the", " {flip}, I mean the")
