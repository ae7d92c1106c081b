"""Readers of public sets and of people's own in the same formats; none of the data is here.

Pairs become items with a counterfactual; natural text becomes scoring items, which have none. What
cannot be used is left out, and a table says why; a file that is not of its format is an error.
"""

from interp.tasks.readers.blimp import read_blimp
from interp.tasks.readers.linzen import read_linzen
from interp.tasks.readers.pronouns import read_pronouns
from interp.tasks.readers.reading import Reading
from interp.tasks.readers.subjects import read_subjects
from interp.tasks.readers.winobias import read_winobias
from interp.tasks.readers.winogender import read_winogender, read_winogender_templates

__all__ = [
    "Reading",
    "read_blimp",
    "read_linzen",
    "read_pronouns",
    "read_subjects",
    "read_winobias",
    "read_winogender",
    "read_winogender_templates",
]
