"""Items of planted models: pairs of short prompts in which the answer turns into the foil."""

from collections.abc import Iterator

from interp.items import Item, Prompt, Span, both_directions
from interp.planted.words import FEMALE, MALE, PLURAL, SINGULAR, SYLLABLES

N_PAIRS = 16


def coreference(ending: str = "") -> tuple[Item, ...]:
    """`today john met mary then he`: the pronoun's gender says which of two names.

    Both orders of the names, in two classes of names (labels `order` and `names`).
    """
    pairs = []
    for number, (male, female) in enumerate(_couples()):
        male_first = number < N_PAIRS // 2
        one, other = (male, female) if male_first else (female, male)
        text = f"today {one} met {other} then"
        male_place, female_place = (1, 3) if male_first else (3, 1)
        order = ("first", "second") if male_first else ("second", "first")
        names = "common" if number % 2 == 0 else "rare"
        pairs.append(
            _pair(
                f"coreference-{number}",
                texts=(f"{text} he{ending}", f"{text} she{ending}"),
                answers=(male, female),
                places=(male_place, female_place),
                labels=tuple({"order": slot, "names": names} for slot in order),
                task="coreference",
            )
        )
    return _flat(pairs)


def agreement() -> tuple[Item, ...]:
    """`the farmer near pilots right now`: the noun after the preposition does not count."""
    pairs = []
    for number in range(N_PAIRS):
        singular, plural = SINGULAR[number % 8], PLURAL[(number + number // 8 + 1) % 8]
        is_singular_first = number < N_PAIRS // 2
        one, other = (singular, plural) if is_singular_first else (plural, singular)
        answers = ("is", "are") if is_singular_first else ("are", "is")
        pairs.append(
            _pair(
                f"agreement-{number}",
                texts=(f"the {one} near {other} right now", f"near {one} the {other} right now"),
                answers=answers,
                places=(1, 3),
                task="agreement",
                words=(one, other),
            )
        )
    return _flat(pairs)


def recall() -> tuple[Item, ...]:
    """`ba de fi go then ba`: what followed the word when it stood there first."""
    pairs = []
    for number in range(N_PAIRS):
        key, value, other_key, other_value = SYLLABLES[4 * number : 4 * number + 4]
        text = f"{key} {value} {other_key} {other_value} then"
        pairs.append(
            _pair(
                f"recall-{number}",
                texts=(f"{text} {key}", f"{text} {other_key}"),
                answers=(value, other_value),
                places=(1, 3),
                task="recall",
            )
        )
    return _flat(pairs)


def mention() -> tuple[Item, ...]:
    """`today john went home now`: the one name; in the counterfactual another stands there."""
    pairs = [
        _pair(
            f"mention-{number}",
            texts=(f"today {male} went home now", f"today {female} went home now"),
            answers=(male, female),
            places=(1, 1),
            task="mention",
        )
        for number, (male, female) in enumerate(_couples())
    ]
    return _flat(pairs)


def _couples() -> Iterator[tuple[str, str]]:
    """Each name twice; both names of a couple have even or both have odd numbers."""
    for number in range(N_PAIRS):
        yield MALE[number % 8], FEMALE[(number + 2 * (number // 8)) % 8]


def _pair(
    pair_id: str,
    *,
    texts: tuple[str, str],
    answers: tuple[str, str],
    places: tuple[int, int],
    task: str,
    labels: tuple[dict[str, str], ...] = ({}, {}),
    words: tuple[str, str] | None = None,
) -> tuple[Item, Item]:
    """Both directions; `places` say which word is the source in each text."""
    first, second = words or answers
    distractors = tuple(place for place in places[::-1] if places[0] != places[1])
    sides = [
        Prompt(
            text=texts[side],
            answer=f" {answers[side]}",
            foil=f" {answers[1 - side]}",
            source=[_word(texts[side], places[side])],
            distractors=[_word(texts[side], place) for place in distractors[side : side + 1]],
            labels=labels[side],
        )
        for side in (0, 1)
    ]
    return both_directions(
        *sides,
        pair_id=pair_id,
        task=task,
        template_id=task,
        clusters=(f"one:{first}", f"other:{second}"),
    )


def _word(text: str, number: int) -> Span:
    words = text.split()
    start = sum(len(word) + 1 for word in words[:number])
    return Span(start, start + len(words[number]))


def _flat(pairs: list[tuple[Item, Item]]) -> tuple[Item, ...]:
    return tuple(item for pair in pairs for item in pair)
