"""Winogender: a pronoun, an occupation and a participant; the sentence says which is meant."""

import re
from pathlib import Path

from interp.items import ScoringItem
from interp.tasks.lines import table_lines
from interp.tasks.readers.plain import places_of, words_of
from interp.tasks.readers.reading import Reading, reading

_PRONOUNS = {
    "male": {"$NOM_PRONOUN": "he", "$POSS_PRONOUN": "his", "$ACC_PRONOUN": "him"},
    "female": {"$NOM_PRONOUN": "she", "$POSS_PRONOUN": "her", "$ACC_PRONOUN": "her"},
    "neutral": {"$NOM_PRONOUN": "they", "$POSS_PRONOUN": "their", "$ACC_PRONOUN": "them"},
}
_SOMEONE = "someone"
_ANSWERS = ("0", "1")


def read_winogender(path: Path | str) -> Reading[ScoringItem]:
    """The sentences of `all_sentences.tsv`: attention from the pronoun to whom it means.

    The item is named as the sentence is, such as "technician.customer.1.male". The source is the
    occupation or the participant, as the name says, and the distractor is the other. Sentences of
    one occupation form a cluster.

    Raises:
        ValueError: a column is missing, or a name is not of that form; the message names the line.

    Source: Rudinger et al. 2018, arXiv:1804.09301.
    """
    items: list[ScoringItem] = []
    dropped: list[tuple[str, str]] = []
    for line in table_lines(path, columns=("sentid", "sentence")):
        name = line.value["sentid"].removesuffix(".txt")
        item = _item(name, line.value["sentence"], place=line.place)
        if isinstance(item, str):
            dropped.append((line.place, item))
        else:
            items.append(item)
    return reading(items, dropped)


def read_winogender_templates(path: Path | str) -> Reading[ScoringItem]:
    """The sentences that `templates.tsv` makes: three genders, with the participant or "someone".

    Six for each template, as `read_winogender` gives them; "they was" becomes "they were".

    Raises:
        ValueError: a column is missing, an answer is not 0 or 1, or a template lacks a slot; the
            message names the line and the field.
    """
    columns = ("occupation(0)", "other-participant(1)", "answer", "sentence")
    items: list[ScoringItem] = []
    dropped: list[tuple[str, str]] = []
    for line in table_lines(path, columns=columns):
        occupation, participant, answer, template = (line.value[column] for column in columns)
        for slot in ("$OCCUPATION", "$PARTICIPANT"):
            if slot not in template:
                raise ValueError(
                    f'{line.place}: field "sentence": expected the slot {slot}, got "{template}".'
                )
        for who in (participant, _SOMEONE):
            for gender, pronouns in _PRONOUNS.items():
                name = f"{occupation}.{who}.{answer}.{gender}"
                sentence = _filled(template, occupation, who, pronouns)
                item = _item(name, sentence, place=line.place)
                if isinstance(item, str):
                    dropped.append((f"{line.place}, {name}", item))
                else:
                    items.append(item)
    return reading(items, dropped)


def _filled(template: str, occupation: str, participant: str, pronouns: dict[str, str]) -> str:
    if participant == _SOMEONE:
        template = re.sub(r"\b(?:the|a) (?=\$PARTICIPANT)", "", template, flags=re.IGNORECASE)
    words = {"$OCCUPATION": occupation, "$PARTICIPANT": participant} | pronouns
    for slot, word in words.items():
        template = template.replace(slot, word)
    sentence = template.replace("they was ", "they were ")
    return sentence[:1].upper() + sentence[1:]


def _item(name: str, sentence: str, *, place: str) -> ScoringItem | str:
    """The item of a sentence, or why there is none."""
    parts = name.split(".")
    if len(parts) != 4 or parts[2] not in _ANSWERS or parts[3] not in _PRONOUNS:
        raise ValueError(
            f'{place}: expected a name of the form "occupation.participant.0 or 1.male, female or '
            f'neutral", got "{name}".'
        )
    occupation, participant, answer, gender = parts
    forms = set(_PRONOUNS[gender].values())
    pronouns = [place for form in forms for place in places_of(form, sentence)]
    people = [places_of(word, sentence) for word in (occupation, participant)]
    if len(pronouns) != 1:
        return f"expected one {gender} pronoun, got {len(pronouns)}"
    if any(len(places) != 1 for places in people):
        return "expected occupation and participant once each"
    source = int(answer)
    return ScoringItem(
        item_id=name,
        task="winogender",
        clusters=(f"occupation:{occupation}",),
        text=sentence,
        words=words_of(sentence),
        query=pronouns[0],
        source=tuple(people[source]),
        distractors=tuple(people[1 - source]),
        labels={
            "gender": gender,
            "means": ("occupation", "participant")[source],
            "participant": "someone" if participant == _SOMEONE else "named",
        },
    )
