"""The battery: by hand on planted patterns, then on the real model against published figures."""

import pytest
import torch

from interp.measures.battery import battery, offset_profile, repeat_losses
from interp.measures.repeats import Repeats, repeats, why_no_repeats, words
from interp.models import load


class Planted:
    """Stands in for a model: every head of a layer has the pattern planted there."""

    n_layers, n_heads = 4, 1
    heads = ((0, 0), (1, 0), (2, 0), (3, 0))


def pattern_of(offset, length):
    """All attention on the key `offset` before, on position 0 where there is none."""
    pattern = torch.zeros(1, 1, length, length)
    for query in range(length):
        pattern[0, 0, query, max(query - offset, 0)] = 1.0
    return pattern


@pytest.mark.parametrize(
    ("offset", "expected"),
    [
        (1, {"previous_token": 1.0, "duplicate": 0.0, "induction": 0.0, "first_token": 1 / 10}),
        (5, {"previous_token": 0.0, "duplicate": 1.0, "induction": 0.0, "first_token": 5 / 10}),
        (4, {"previous_token": 0.0, "duplicate": 0.0, "induction": 1.0, "first_token": 4 / 10}),
    ],
)
def test_each_score_is_one_for_its_own_pattern_and_nothing_for_the_others(
    tiny, monkeypatch, offset, expected
):
    """A prefix token, five random tokens and the same five; patterns written in by hook."""
    ids = torch.tensor([[0, 5, 6, 7, 8, 9, 5, 6, 7, 8, 9]])
    planted = pattern_of(offset, 11).expand(1, 4, 11, 11).clone()
    original = tiny.plain.hooked

    def with_planted(read):
        def plant_and_read(layer, name, tensor):
            return read(layer, name, planted if name == "pattern" else tensor)

        return original(plant_and_read)

    monkeypatch.setattr(tiny.plain, "hooked", with_planted)
    found = battery(tiny, Repeats(ids=ids, period=5))
    for name, value in expected.items():
        assert found[name].to_numpy() == pytest.approx([value] * 16), name


def test_blocks_are_random_words_repeated_under_the_prefix(smollm2):
    made = repeats(smollm2, n_items=3, seed=1)
    assert made.ids.shape == (3, 101)
    assert (made.ids[:, 0] == 0).all()
    assert torch.equal(made.ids[:, 1:51], made.ids[:, 51:])
    words = smollm2.tokenizer.batch_decode(made.ids[:, 1:51].flatten()[:, None])
    assert all(word.startswith(" ") and word[1:].isalpha() and word[1:].islower() for word in words)
    assert all(len(set(block)) == 50 for block in made.ids[:, 1:51].tolist())
    assert torch.equal(made.ids, repeats(smollm2, n_items=3, seed=1).ids)
    assert not torch.equal(made.ids, repeats(smollm2, n_items=3, seed=2).ids)


def test_without_a_single_prefix_token_it_refuses(tiny):
    with pytest.raises(ValueError, match="the battery needs exactly one token before the text"):
        repeats(tiny.with_prefix("none"))


def test_a_vocabulary_without_words_says_so(tiny):
    assert why_no_repeats(tiny) == (
        "the battery needs 100 or more lowercase words with a leading space in the vocabulary, "
        f"this one leaves {len(words(tiny))}."
    )


def test_a_next_token_loss_of_an_encoder_is_an_error_and_not_a_number():
    minilm = load("minilm-l6")
    with pytest.raises(ValueError) as error:
        repeat_losses(minilm, Repeats(ids=torch.zeros(1, 5, dtype=torch.long), period=2))
    assert str(error.value) == (
        "minilm-l6 is bidirectional and sees the token that a next-token loss is about; mask a "
        "position and read the answer there instead."
    )


FIGURES = {
    "induction": {"L18H6": 0.90, "L17H3": 0.77, "L17H4": 0.70, "L17H5": 0.61, "L18H7": 0.58},
    "previous_token": {"L16H0": 0.89, "L11H1": 0.84, "L2H1": 0.73},
    "duplicate": {"L8H0": 0.64, "L14H3": 0.59},
}


def test_the_real_model_gives_the_figures_measured_before(smollm2):
    """Four sequences of the chat opener, 50 random ids and the same 50; heads by name, to .03."""
    generator = torch.Generator().manual_seed(0)
    block = torch.randint(1000, 40000, (4, 50), generator=generator)
    prompts = Repeats(
        ids=torch.cat([torch.ones(4, 1, dtype=torch.long), block, block], 1), period=50
    )
    found = battery(smollm2, prompts).set_index("label")
    assert found["induction"].idxmax() == "L18H6"
    for score, heads in FIGURES.items():
        for label, value in heads.items():
            assert found.loc[label, score] == pytest.approx(value, abs=0.03), (score, label)
    assert abs(int((found["first_token"] > 0.4).sum()) - 147) <= 3
    first, second = repeat_losses(smollm2, prompts)
    assert first == pytest.approx(14.0, abs=0.5)
    assert second == pytest.approx(3.4, abs=0.5)


def test_the_best_induction_head_is_the_same_under_the_default_prefix(smollm2):
    found = battery(smollm2, repeats(smollm2, n_items=4)).set_index("label")
    assert found["induction"].idxmax() == "L18H6"
    assert found.loc["L18H6", "induction"] > 0.7


def test_a_few_at_once_is_all_at_once(smollm2, monkeypatch):
    """Sequences are read in portions: the portion decides nothing."""
    made = repeats(smollm2, period=10, n_items=3)
    whole = battery(smollm2, made)
    monkeypatch.setattr("interp.measures.battery.N_AT_ONCE", 2)
    parts = battery(smollm2, made)
    for column in whole.columns[3:]:
        assert parts[column].to_numpy() == pytest.approx(
            whole[column].to_numpy(), abs=1e-5, nan_ok=True
        )


def test_the_profile_has_the_batterys_offsets(smollm2):
    made = repeats(smollm2, period=10, n_items=2)
    scores, profile = battery(smollm2, made), offset_profile(smollm2, made)
    for offset, column in ((1, "previous_token"), (0, "current")):
        rows = profile[profile["offset"] == offset]
        assert rows["mass"].to_numpy() == pytest.approx(scores[column].to_numpy(), abs=1e-6)
    assert (profile["offset"] >= 0).all()
    assert profile["dominance"].between(0, 1).all()


def test_an_encoder_has_a_battery_and_looks_both_ways():
    minilm = load("minilm-l6")
    made = repeats(minilm, period=20, n_items=2)
    assert (made.ids[:, 0] == 101).all()
    assert (made.ids[:, -1] == 102).all()
    assert torch.equal(made.ids[:, 1:21], made.ids[:, 21:41])
    profile = offset_profile(minilm, made)
    assert set(profile["offset"]) == set(range(-5, 6))
    best = profile.loc[profile.groupby("offset")["mass"].idxmax()].set_index("offset")
    assert best.loc[1, "mass"] > 0.9
    assert best.loc[-1, "mass"] > 0.4
