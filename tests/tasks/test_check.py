import re
from dataclasses import replace
from typing import Any

import pytest
from transformers import PreTrainedTokenizerFast

from interp.items import Item, Span
from interp.tasks import check

GOOD = Item(
    item_id="p1.a",
    pair_id="p1",
    task="own",
    template_id="own",
    clusters=("pair:p1",),
    clean_text="We know John and Mary well. His name is",
    corrupt_text="We know John and Mary well. Her name is",
    answer_text=" John",
    foil_text=" Mary",
    source=(Span(8, 12),),
    distractors=(Span(17, 21),),
)


def test_a_good_item_passes(tokenizer: PreTrainedTokenizerFast) -> None:
    check(GOOD, tokenizer)


@pytest.mark.parametrize(
    ("changes", "problem"),
    [
        (
            {"answer_text": "John"},
            'in context the answer is " John", with its leading space, got "John".',
        ),
        (
            {"foil_text": "Mary"},
            'in context the foil is " Mary", with its leading space, got "Mary".',
        ),
        (
            {"corrupt_text": "We know John and Mary very well. Her name is"},
            "clean and corrupt must have equally many tokens, got {n} and {n_more}; "
            "reword one of them.",
        ),
        (
            {"corrupt_text": GOOD.clean_text},
            "clean and corrupt are the same tokens; change what the answer depends on.",
        ),
        (
            {"clean_text": GOOD.clean_text + " ", "corrupt_text": GOOD.corrupt_text + " "},
            "the clean text is empty or ends in a space; the space belongs to the answer.",
        ),
        ({"foil_text": " John"}, 'answer and foil must differ, got " John" for both.'),
        (
            {"answer_text": " JQ"},
            'the answer must be one token in context, got " JQ" with 2: " J", "Q"; '
            "choose another word.",
        ),
        (
            {"answer_text": "land"},
            'the answer "land" merges with the end of "We know John and Mary well. His name is" '
            "into other tokens; begin it with a space, or end the text at a word.",
        ),
        (
            {"source": (Span(8, 11),)},
            'the source must be whole tokens, got "Joh" within "John"; give the whole word.',
        ),
        (
            {"distractors": (Span(17, 99),)},
            "the distractor must be characters of the text, 0 to 39, got 17 to 99.",
        ),
    ],
)
def test_what_cannot_be_measured_is_refused_by_name(
    changes: dict[str, Any], problem: str, tokenizer: PreTrainedTokenizerFast
) -> None:
    item = replace(GOOD, **changes)
    n, n_more = (len(tokenizer.tokenize(t)) for t in (item.clean_text, item.corrupt_text))
    message = f'pair "p1", item "p1.a": {problem.format(n=n, n_more=n_more)}'
    with pytest.raises(ValueError, match=f"^{re.escape(message)}$"):
        check(item, tokenizer)


def test_after_an_opening_quote_no_space_is_asked_for(tokenizer: PreTrainedTokenizerFast) -> None:
    item = replace(
        GOOD,
        clean_text='We know John and Mary well. His name: "',
        corrupt_text='We know John and Mary well. Her name: "',
        answer_text="J",
        foil_text="M",
    )
    check(item, tokenizer)
