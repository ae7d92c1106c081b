import pytest

from interp.heads import Head, all_heads, nearest_name, parse_head


@pytest.mark.parametrize("text", ["L27H0", "l27h0", "27.0", " L27H0 "])
def test_every_spelling_names_the_same_head(text):
    assert parse_head(text, n_layers=30, n_heads=9) == (27, 0)


def test_label_reads_back():
    for head in all_heads(3, 12):
        assert parse_head(head.label, n_layers=3, n_heads=12) == head


def test_heads_sort_by_number_and_not_by_spelling():
    assert [head.label for head in sorted([Head(0, 10), Head(0, 2)])] == ["L0H2", "L0H10"]


def test_a_head_out_of_range_names_the_limits_and_the_nearest():
    with pytest.raises(ValueError) as error:
        parse_head("L30H9", n_layers=30, n_heads=9)
    assert str(error.value) == (
        "there is no head L30H9: this model has layers 0 to 29 with heads 0 to 8; "
        "the nearest is L29H8."
    )


def test_no_head_at_all_says_what_was_expected():
    with pytest.raises(ValueError) as error:
        parse_head("head 3", n_layers=3, n_heads=3)
    assert str(error.value) == 'expected a head such as "L3H5" or "3.5", got \'head 3\'.'


def test_the_nearest_name_is_found_or_nothing():
    assert nearest_name("agrement", ["agreement", "coreference"]) == "agreement"
    assert nearest_name("xyz", ["agreement", "coreference"]) is None
