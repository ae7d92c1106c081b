"""Margins between hidden states, for encoders without logits."""

import re

import pytest
import torch

from interp.measures.representation import representation_margins
from interp.tasks import build
from interp.tasks.sentences import read_at


@pytest.fixture(scope="module")
def minilm():
    from interp.models import load

    return load("minilm-l6")


@pytest.fixture(scope="module")
def placed(minilm):
    return read_at(build("coreference", minilm.tokenizer, n_pairs=8, seed=0))


def test_a_margin_by_hand(minilm, placed):
    """NumPy on the library's own hidden states, with positions counted in the printed tokens."""
    item = next(item for item in placed if item.template_id == "story")
    names = {
        span: item.clean_text[slice(*span)].lower() for span in (*item.source, *item.distractors)
    }
    tokens = minilm.tokenizer.tokenize(item.clean_text)
    pronoun = item.clean_text[slice(*item.query)].lower()
    ids = [101, *minilm.tokenizer.convert_tokens_to_ids(tokens), 102]
    with torch.inference_mode():
        states = minilm.plain.module(input_ids=torch.tensor([ids])).last_hidden_state[0].numpy()
    query, source, distractor = (
        states[1 + tokens.index(word)]
        for word in (pronoun, names[item.source[0]], names[item.distractors[0]])
    )

    def cosine(one, other):
        return one @ other / ((one @ one) * (other @ other)) ** 0.5

    here, _ = representation_margins(minilm, placed)
    assert here[placed.index(item)].item() == pytest.approx(
        cosine(query, source) - cosine(query, distractor), abs=1e-5
    )


def test_in_a_role_flip_the_donors_margin_is_the_other_directions_with_its_sign_turned(
    minilm, placed
):
    here, there = representation_margins(minilm, placed)
    assert there[0::2].numpy() == pytest.approx(-here[1::2].numpy(), abs=1e-6)


def test_a_pronoun_is_nearer_to_the_one_it_means_than_when_it_means_the_other(minilm, placed):
    """A behaviour of the real encoder: all of eight pairs."""
    here, there = representation_margins(minilm, placed)
    assert ((here - there).reshape(-1, 2).mean(1) > 0).all()


def test_an_item_without_a_distractor_is_refused(minilm, placed):
    from dataclasses import replace

    alone = replace(placed[0], distractors=())
    message = (
        f'item "{alone.item_id}" needs a query, a source and a distractor in its text for the '
        "margin between representations; give items from `read_at` that have both."
    )
    with pytest.raises(ValueError, match=f"^{re.escape(message)}$"):
        representation_margins(minilm, [alone])
