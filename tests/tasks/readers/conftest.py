"""Small files in each format, and what a span of an item reads."""

import pytest


@pytest.fixture
def write(tmp_path):
    """A file of some lines; its path."""

    def of(*lines, name="file.txt"):
        path = tmp_path / name
        path.write_text("\n".join(lines) + "\n", encoding="utf-8")
        return path

    return of


def read(item, spans):
    return [item.text[span.start : span.end] for span in spans]


def told(item):
    """Query, source and distractors in words."""
    return read(item, [item.query])[0], read(item, item.source), read(item, item.distractors)


def reasons(reading):
    """Line, what it is of the line, and reason, of what was left out."""
    return [
        (place.partition(", line ")[2], reason)
        for place, reason in reading.dropped.itertuples(index=False)
    ]
