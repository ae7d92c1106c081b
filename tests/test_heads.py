import pytest

from interp.heads import (
    Head,
    KVHead,
    all_heads,
    as_heads,
    as_kv_heads,
    kv_head_of,
    nearest_name,
    parse_head,
    parse_heads,
)


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


@pytest.mark.parametrize(
    "heads", ["9.6", (9, 6), Head(9, 6), ["L9H6"], [(9, 6), "9.6"], (Head(9, 6),), ((9, 6),)]
)
def test_one_head_can_be_named_alone_in_a_list_and_twice(heads):
    assert as_heads(heads) == [Head(9, 6)]


def test_heads_named_in_any_way_come_in_order():
    assert as_heads(["2.10", (2, 2), Head(0, 3)]) == [Head(0, 3), Head(2, 2), Head(2, 10)]


@pytest.mark.parametrize("heads", ["L3KV5", (1, -2), ["1.2", "head 3"], KVHead(1, 2)])
def test_what_names_no_head_is_refused(heads):
    with pytest.raises(ValueError, match=r'^expected a head such as "L3H5" or "3\.5", got '):
        as_heads(heads)


def test_no_head_at_all_is_refused():
    with pytest.raises(ValueError, match=r'^expected one head or more, such as \["L3H5", "3\.6"\]'):
        as_heads([])
    with pytest.raises(ValueError, match=r"^expected one key/value head or more"):
        as_kv_heads([])


def test_several_heads_out_of_range_name_the_limits():
    assert parse_heads(["0.1", (1, 3)], n_layers=2, n_heads=4) == [Head(0, 1), Head(1, 3)]
    with pytest.raises(ValueError, match=r"^there is no head L2H1: this model has layers 0 to 1"):
        parse_heads(["0.1", (2, 1)], n_layers=2, n_heads=4)


def test_key_value_heads_have_names_of_their_own():
    assert as_kv_heads("L9KV0") == as_kv_heads([KVHead(9, 0)]) == [KVHead(9, 0)]
    assert KVHead(9, 0).label == "L9KV0"
    for query_head in ("9.0", "L9H0"):
        with pytest.raises(ValueError, match=r'^expected a key/value head such as "L3KV0", got '):
            as_kv_heads([query_head])


def test_the_group_of_a_key_value_head():
    """SmolLM2: nine query heads, three key/value heads."""
    assert [kv_head_of(Head(1, head), n_heads=9, n_kv_heads=3).kv_head for head in range(9)] == (
        [0, 0, 0, 1, 1, 1, 2, 2, 2]
    )
    assert KVHead(1, 0).label_with_queries(n_heads=9, n_kv_heads=3) == "L1KV0 (Q0–Q2)"
    assert KVHead(1, 3).label_with_queries(n_heads=4, n_kv_heads=4) == "L1KV3 (Q3)"
