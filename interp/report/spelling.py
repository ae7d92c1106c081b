"""How numbers, shares, intervals and unusual characters are written, everywhere the same."""

from collections.abc import Sequence
from math import isfinite

MEASURES = {
    "raw": "raw attention",
    "sink_corrected": "sink-corrected attention",
    "margin": "margin over the distractor",
    "cas": "CAS",
    "sink_mass": "attention to the sink",
    "log_ratio": "log ratio to the distractor",
    "head_rollout": "rollout, by head",
    "value_weighted": "value-weighted attention",
    "norm": "norm of what arrives",
    "norm_share": "norm, as a share",
    "head_value_zeroing": "value zeroing, by head",
    "pvw": "projected value-weighted",
    "dla": "direct logit attribution",
    "attention_gradient": "attention × gradient",
    "score_gradient": "gradient at the scores",
    "attribution": "attribution patching",
    "direct_effect": "direct effect",
    "causal": "effect on other items",
    "random": "random heads of the same layers",
}
SHORT = MEASURES | {"sink_corrected": "sink-corrected", "margin": "margin"}


_UNITS = {
    "logit_difference": "logits",
    "answer_logit": "logits",
    "answer_log_probability": "nats",
    "kl_divergence": "nats",
    "representation_margin": "in cosine",
    "state_shift": "in cosine",
}


def unit(metric: str) -> str:
    """In what a metric is measured; one's own in itself."""
    return _UNITS.get(metric, visible(metric))


def kind(measure: str) -> str:
    """Which attention is meant, where the word itself stands beside it: "CAS", "margin", "raw"."""
    return SHORT[measure].removesuffix(" attention")


def visible(text: str) -> str:
    """The text with what cannot be seen (newlines, zero-width marks, half an emoji) spelt out."""
    if text.isprintable():
        return text
    return "".join(
        character if character.isprintable() else ascii(character)[1:-1] for character in text
    )


def number(value: float, digits: int = 2) -> str:
    """A plain number with a true minus sign; "undefined" where there is none."""
    return f"{value:z.{digits}f}".replace("-", "−") if isfinite(value) else "undefined"


def whole_percent(share: float) -> str:
    """A share rounded to a whole percentage: "45 %", "−8 %", "0 %"."""
    return f"{round(100 * share)} %".replace("-", "−") if isfinite(share) else "undefined"


def percent(share: float) -> str:
    """A share in a sentence: "45 %", "−8 %", "less than 1 %"."""
    rounded = whole_percent(share)
    return "less than 1 %" if rounded == "0 %" else rounded


_NUMBERS = (
    "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven",
    "twelve", "thirteen", "fourteen", "fifteen", "sixteen", "seventeen", "eighteen", "nineteen",
    "twenty",
)  # fmt: skip


def in_words(n_things: int) -> str:
    """A small number as it stands in a sentence: "ten"; digits from 21 on."""
    return _NUMBERS[n_things - 1] if 0 < n_things <= len(_NUMBERS) else f"{n_things:,}"


def points(difference: float) -> str:
    """A difference of shares, in percentage points without the word: "17", "−8"."""
    return number(100 * difference, 0)


def of_gap(share: float) -> str:
    """A share of the difference in behaviour that the task makes: "45 % of the gap"."""
    return f"{percent(share)} of the gap" if isfinite(share) else "undefined"


def interval(low: float, high: float) -> str:
    """A 95 % interval of a plain number."""
    return f"95 % interval {number(low)} to {number(high)}"


def share_interval(low: float, high: float) -> str:
    """A 95 % interval of a share."""
    return f"95 % interval {whole_percent(low)} to {whole_percent(high)}"


def p_value(p: float) -> str:
    """A p-value, never 0: "0.031", "< 0.001"."""
    return "< 0.001" if p < 0.001 else number(p, 3)


def scientific(value: float) -> str:
    """A small number as it is written by hand: "3.1 × 10⁻⁶"."""
    mantissa, exponent = f"{value:.1e}".split("e")
    raised = str(int(exponent)).translate(str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹"))
    return f"{mantissa} × 10{raised}" if value else "0"


def listed(parts: Sequence[str]) -> str:
    """Parts of a sentence: "a", "a and b", "a, b and c"."""
    return " and ".join([", ".join(parts[:-1]), parts[-1]] if len(parts) > 1 else parts)


def counted(n_things: int, noun: str) -> str:
    """A number with its noun: "1 head", "2 heads"."""
    return f"{n_things:,} {noun}{'' if n_things == 1 else 's'}"
