"""The same items as whole sentences: read at a mask, or at a pronoun or verb."""

import re

import pytest

from interp.items import Corruption, Prompt, Relation, Span, both_directions
from interp.tasks import build
from interp.tasks.sentences import masked, read_at
from tests.conftest import agreement_pair


class WithMask:
    mask_token = "[MASK]"


def pronoun_pair(*, declared=False, flips=("His", "Her"), answers=(" John", " Mary")):
    texts = [f"In the story, John met Mary. {flip} name was" for flip in flips]
    spans = Span(14, 18), Span(23, 27)
    prompts = [
        Prompt(
            text=text,
            answer=answers[place],
            foil=answers[1 - place],
            source=(spans[place],),
            distractors=(spans[1 - place],),
            relations=[Relation("antecedent", Span(29, 32), (spans[place],))] if declared else [],
        )
        for place, text in enumerate(texts)
    ]
    return both_directions(
        *prompts, pair_id="p", task="coreference", template_id="t", clusters=("c",)
    )


def at(item):
    return item.clean_text[slice(*item.query)]


def test_a_mask_stands_for_the_answer_in_a_whole_sentence():
    items = agreement_pair("farmer", "pilots", pair_id="p")
    one, other = masked(items, WithMask)
    assert one.clean_text == "The farmer beside the pilots [MASK] the same."
    assert one.corrupt_text == other.clean_text == "The farmer knew the pilots [MASK] the same."
    assert at(one) == at(other) == "[MASK]"
    assert (one.answer_text, one.source) == (items[0].answer_text, items[0].source)
    assert masked(pronoun_pair(), WithMask)[0].clean_text.endswith(" His name was [MASK].")
    with pytest.raises(ValueError, match=r'^item "p.a" has a query already; give items that are'):
        masked([one], WithMask)


def test_a_quotation_is_closed_and_a_pronoun_gets_its_verb():
    said, _ = both_directions(
        Prompt(text='He said, "My name is', answer=" John", foil=" Mary"),
        Prompt(text='She said, "My name is', answer=" Mary", foil=" John"),
        pair_id="p", task="coreference", template_id="t", clusters=("c",),
    )  # fmt: skip
    assert masked([said], WithMask)[0].clean_text == 'He said, "My name is [MASK]."'
    because, _ = both_directions(
        Prompt(text="John amazed Mary because", answer=" he", foil=" she"),
        Prompt(text="John trusted Mary because", answer=" she", foil=" he"),
        pair_id="p", task="coreference", template_id="t", clusters=("c",),
    )  # fmt: skip
    assert masked([because], WithMask)[0].clean_text == "John amazed Mary because [MASK] knew."


def test_a_tokenizer_without_a_mask_is_refused(tokenizer):
    message = "has no mask token; masked items are for masked language models."
    with pytest.raises(ValueError, match=re.escape(message)):
        masked(pronoun_pair(), tokenizer)


def test_a_verb_is_read_in_its_place_and_each_text_has_its_own():
    items = agreement_pair("farmer", "pilots", pair_id="p")
    one, other = read_at(items)
    assert one.clean_text == "The farmer beside the pilots is the same."
    assert one.corrupt_text == other.clean_text == "The farmer knew the pilots are the same."
    assert (at(one), at(other)) == ("is", "are")


@pytest.mark.parametrize("declared", [True, False])
def test_a_pronoun_of_the_text_is_read_where_it_stands(declared):
    items = pronoun_pair(declared=declared)
    one, other = read_at(items)
    assert (one.clean_text, one.corrupt_text) == (items[0].clean_text, items[0].corrupt_text)
    assert (at(one), at(other)) == ("His", "Her")


def test_where_the_answer_would_repeat_its_source_the_word_asked_is_read(tokenizer):
    """The name asked for in a list, not the value beside itself; nothing is added to the text."""
    for item in build("long_range", tokenizer, n_pairs=8, seed=0):
        (read,) = read_at([item])
        asked = re.findall(r"\w+", item.clean_text)[-1]
        assert read.clean_text == item.clean_text
        assert read.clean_text[slice(*read.query)] == asked
        assert read.query.start > max(span.end for span in (*item.source, *item.distractors))
    for item in build("coreference/binding", tokenizer, n_pairs=8, seed=0):
        (read,) = read_at([item])
        (edge,) = item.relations  # from the thing named again
        assert read.query == edge.query
    name = "long_range/recall/8/fixed_source"
    for item in build(name, tokenizer, n_pairs=4, seed=0, corruption=Corruption.REMOVAL):
        (read,) = read_at([item])  # what is removed stands before the slots
        assert item.clean_text.rstrip(":").endswith(read.clean_text[slice(*read.query)])
