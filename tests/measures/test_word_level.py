"""Attention between words: by hand, and nothing lost."""

import pytest
import torch

from interp.measures.word_level import word_pattern

PATTERN = torch.tensor(
    [
        [1.0, 0.0, 0.0, 0.0],
        [0.5, 0.5, 0.0, 0.0],
        [0.2, 0.3, 0.5, 0.0],
        [0.1, 0.2, 0.3, 0.4],
    ]
)
GROUPS = [[0], [1, 2], [3]]


@pytest.mark.parametrize(
    ("aggregate", "middle"),
    [
        ("mean", [0.35, 0.65, 0.0]),
        ("first", [0.5, 0.5, 0.0]),
        ("last", [0.2, 0.8, 0.0]),
        ("max", [0.5 / 1.3, 0.8 / 1.3, 0.0]),
    ],
)
def test_by_hand(aggregate, middle):
    """Keys are summed; of the two rows of the middle word, [.5, .5, 0] and [.2, .8, 0]."""
    found = word_pattern(PATTERN, GROUPS, query_aggregate=aggregate)
    expected = torch.tensor([[1.0, 0.0, 0.0], middle, [0.1, 0.5, 0.4]])
    torch.testing.assert_close(found, expected)


@pytest.mark.parametrize("aggregate", ["mean", "first", "last", "max"])
def test_rows_keep_their_mass(aggregate):
    """1 where rows of tokens sum to 1, and less where a learned sink takes a share."""
    generator = torch.Generator().manual_seed(0)
    pattern = torch.rand(2, 3, 7, 7, generator=generator).softmax(-1)
    groups = [[0], [1, 2, 3], [4], [5, 6]]
    whole = word_pattern(pattern, groups, query_aggregate=aggregate)
    torch.testing.assert_close(whole.sum(-1), torch.ones(2, 3, 4))
    less = word_pattern(pattern * 0.7, groups, query_aggregate=aggregate)
    torch.testing.assert_close(less.sum(-1), torch.full((2, 3, 4), 0.7))


@pytest.mark.parametrize("groups", [[[0], [1], [3]], [[0, 1], [1, 2], [3]], [[0], [], [1, 2, 3]]])
def test_groups_that_lose_or_double_attention_are_refused(groups):
    with pytest.raises(ValueError) as error:
        word_pattern(PATTERN, groups, query_aggregate="mean")
    assert str(error.value) == (
        "groups must hold each of the 4 positions once and none be empty, so that no attention is "
        "lost or counted twice; make them with `word_groups`."
    )
