import pytest

from interp.items import Span
from interp.tasks.alignment import carried


@pytest.mark.parametrize(
    ("clean", "corrupt", "word", "place"),
    [
        ("the cat sat", "the dog sat", "the", (Span(0, 3), True)),
        ("the cat sat", "the horse sat", "sat", (Span(10, 13), True)),
        ("the cat sat", "the horse sat", "cat", (Span(4, 9), False)),
        ("the cat sat", "the cats sat", "cat", (Span(4, 8), False)),
        ("the cat sat", "the old cat sat", "cat", (Span(8, 11), True)),
        ("a a b", "a a a b", "b", (Span(6, 7), True)),
        ("a a a b", "a a b", "a", (None, False)),
        ("the cat sat", "the cat sat", "sat", (Span(8, 11), True)),
        ("one two six", "one red fox", "two", (None, False)),
    ],
)
def test_a_place_is_found_in_the_other_text(
    clean: str, corrupt: str, word: str, place: tuple[Span | None, bool]
) -> None:
    start = clean.rindex(word)
    assert carried(Span(start, start + len(word)), clean, corrupt) == place
