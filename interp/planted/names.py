"""Heads that find a name by the gender of a pronoun: the pattern that most plants share."""

from interp.planted.kit import HeadWeights, Reading, Stream, head

GENDERS = {"name": 16, "name_gender": 2, "asked_gender": 2, "said": 16}
"""Subspaces of every stream with such a head."""


def antecedent(
    stream: Stream,
    *,
    takes: Reading | None = None,
    writes: Reading | None = None,
    looks_for: Reading | None = None,
    rests_if: Reading | None = None,
) -> HeadWeights:
    """Attends from a pronoun to the name of its gender; copies the name to the logits."""
    return head(
        stream,
        looks_for=stream["asked_gender"] if looks_for is None else looks_for,
        finds=stream["name_gender"],
        takes=stream["name"] if takes is None else takes,
        writes=stream["said"] if writes is None else writes,
        rests_if=rests_if,
    )


def any_of(reading: Reading) -> Reading:
    """One feature: whether any of several is there."""
    whether: Reading = reading.sum(axis=1, keepdims=True)
    return whether
