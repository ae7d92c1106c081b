"""The verdicts that a head can get."""

from enum import StrEnum


class Verdict(StrEnum):
    """What attention and removal say of a head together; the first rule that fits decides.

    `negative`: removing it helps. `attention-consistent`: it attends to the source, matters at the
    query, and at least half of that comes over query → source. `wrong edge`: it attends and
    matters, and nothing comes over that edge. `partly consistent`: some does. `redundant`: it
    attends and seems to do nothing, because others make good for it. `attends but idle`: it
    attends, and is shown to do nothing, alone and together with all others called so. `silent but
    causal`: it matters and does not attend. `inconclusive`: it attends, or may matter, and none of
    these is shown. `neither`: it does not attend, and no effect that counts is seen; nothing is
    claimed of it. `causal`: it matters, on pairs that name no source.
    """

    NEGATIVE = "negative"
    CONSISTENT = "attention-consistent"
    WRONG_EDGE = "wrong edge"
    PARTLY = "partly consistent"
    REDUNDANT = "redundant"
    IDLE = "attends but idle"
    SILENT = "silent but causal"
    CAUSAL = "causal"
    INCONCLUSIVE = "inconclusive"
    NEITHER = "neither"
