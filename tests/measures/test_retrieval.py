"""Retrieval on the planted induction model, whose one reader looks at the token to copy."""

import pytest
import torch

from interp.measures.retrieval import (
    Needles,
    generated_retrieval,
    needles,
    retrieval,
    with_other_words,
)
from interp.models import load


@pytest.fixture(scope="module")
def copier():
    return load("planted/induction")


@pytest.fixture
def planted(copier):
    """Eight words, three of them again: the answer is what followed, in order."""
    from interp.measures.repeats import words

    pool = words(copier)[:10].tolist()
    first = [pool[:8], pool[2:10]]
    prompt = torch.tensor([[0, *block, block[2]] for block in first])
    answer = torch.tensor([block[3:6] for block in first])
    return Needles(prompt=prompt, answer=answer, place=4)


def test_the_reader_retrieves_and_no_other(copier, planted):
    for measured in (retrieval, generated_retrieval):
        found = measured(copier, planted)
        assert found.accuracy.tolist() == [1.0, 1.0]
        assert found.scores[:, 1, 0].tolist() == [1.0, 1.0]
        others = torch.cat([found.scores[:, 0], found.scores[:, 1, 1:]], dim=1)
        assert (others == 0).all()


def test_with_other_words_there_it_does_not(copier, planted):
    """The control: what is asked stands no more where it stood."""
    found = retrieval(copier, with_other_words(planted), keep_failed=True)
    assert (found.scores[:, 1, 0] < 1).all()


def test_where_the_model_fails_there_is_no_score(copier, planted):
    wrong = Needles(
        prompt=planted.prompt, answer=planted.answer.roll(1, dims=0).flip(1), place=planted.place
    )
    found = retrieval(copier, wrong)
    assert (found.accuracy <= 0.5).all()
    assert torch.isnan(found.scores).all()


def test_prompts_state_the_answer_at_its_place(smollm2):
    made = needles(smollm2, n_words=3, length=30, n_items=2)
    for prompt, answer in zip(made.prompt, made.answer, strict=True):
        stated = prompt[made.place : made.place + 3]
        assert torch.equal(stated, answer)
        before = smollm2.tokenizer.decode(prompt[made.place - 4 : made.place])
        assert before == " The secret words are"
        assert smollm2.tokenizer.decode(prompt[-4:]) == " The secret words are"
    other = with_other_words(made)
    assert torch.equal(other.prompt[0, made.place : made.place + 3], made.answer[1])
    assert torch.equal(other.answer, made.answer)
