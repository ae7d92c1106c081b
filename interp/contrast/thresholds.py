"""From where on a head attends, and matters."""

from dataclasses import asdict, dataclass


@dataclass(frozen=True, kw_only=True)
class Thresholds:
    """From where on a head attends, and matters. Recorded in every run.

    Attributes:
        attends: least raw attention to the source.
        matters: least |effect|, as a share of the gap.
        nothing: the bound within which an effect has to be shown to lie to count as none, as a
            share of the gap.
        alpha: significance, adjusted for the number of heads.
    """

    attends: float = 0.05
    matters: float = 0.05
    nothing: float = 0.02
    alpha: float = 0.05

    def as_dict(self) -> dict[str, float]:
        """As it stands in `run.json`."""
        return asdict(self)
