"""Plants in a pretrained model's own weights: heads silenced, and heads that gain an effect.

Only one head's slice of the output projection changes. What is planted is known without a label,
so what is found of it says how small an effect the toolkit sees in a model that nobody built.
"""

from interp.grafts.apart import rewritten, silenced, written
from interp.grafts.curve import Parts, detection, parts
from interp.grafts.graft import effect_share, grafts
from interp.grafts.hosts import hosts, in_random_order
from interp.grafts.moves import Moves, moves
from interp.grafts.pretrained import check, complaints, summary
from interp.grafts.silence import silence

__all__ = [
    "Moves",
    "Parts",
    "check",
    "complaints",
    "detection",
    "effect_share",
    "grafts",
    "hosts",
    "in_random_order",
    "moves",
    "parts",
    "rewritten",
    "silence",
    "silenced",
    "summary",
    "written",
]
