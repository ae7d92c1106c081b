import re
from pathlib import Path

import pytest
from transformers import PreTrainedTokenizerFast

from interp import resources
from interp.tasks import build
from interp.tasks.lexicon import Record, Wording, load, single_token, single_token_wordings
from interp.tasks.wording import fill


class Words(Record):
    words: tuple[str, ...]


def test_words_that_the_tokenizer_cuts_are_left_out(tokenizer: PreTrainedTokenizerFast) -> None:
    known = ["farmer", "pilot", "poet", "judge", "nurse", "doctor", "author", "clerk"]
    words = [*known[:3], "xylophonist", *known[3:]]
    assert single_token(words, tokenizer, slot="nouns") == known


def test_a_pair_of_forms_is_kept_only_whole(tokenizer: PreTrainedTokenizerFast) -> None:
    forms = [("farmer", "farmers"), ("farmer", "farmerses")]
    assert single_token(forms, tokenizer, slot="nouns", at_least=1) == [("farmer", "farmers")]


def test_too_few_words_are_an_error_that_lists_the_lost(
    poor_tokenizer: PreTrainedTokenizerFast,
) -> None:
    words = ["farmer", "pilot", "poet", "judge", "nurse", "doctor", "senator", "clerk"]
    message = (
        'the slot "nouns" needs 8 lexemes that are one token each, and this tokenizer leaves 5; '
        "lost: doctor, senator, clerk; add words to the lexicon or take another tokenizer."
    )
    with pytest.raises(ValueError, match=f"^{re.escape(message)}$"):
        single_token(words, poor_tokenizer, slot="nouns")


def test_building_with_a_poor_vocabulary_says_so(poor_tokenizer: PreTrainedTokenizerFast) -> None:
    start = re.escape(
        'the slot "verbs" needs 4 lexemes that are one token each, and this tokenizer leaves 0; '
        "lost: is/are, was/were, has/have,"
    )
    with pytest.raises(ValueError, match=f"^{start}"):
        build("agreement", poor_tokenizer, n_pairs=8, seed=0)


def test_wordings_are_kept_by_their_flipping_words(tokenizer: PreTrainedTokenizerFast) -> None:
    flips = [("beside", "knew"), ("near", "said"), ("behind", "thought"), ("he", "she")]
    wordings = [
        Wording(id=str(number), text="The {noun1} {flip}", flip=flip)
        for number, flip in enumerate([*flips, ("alongside", "hypothesised")])
    ]
    assert single_token_wordings(wordings, tokenizer) == wordings[:4]


def test_data_inside_the_package_comes_first(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "words.toml").write_text('words = ["installed"]')
    monkeypatch.setattr(resources.resources, "files", lambda _package: tmp_path)
    assert load("words.toml", Words).words == ("installed",)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ('words = ["a", 2]', 'data/words.toml: field "words.1": Input should be a valid string.'),
        ("", 'data/words.toml: field "words": Field required.'),
        (
            'words = []\nverbs = ["is"]',
            'data/words.toml: field "verbs": Extra inputs are not permitted.',
        ),
    ],
)
def test_a_file_that_does_not_fit_names_file_and_field(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, content: str, message: str
) -> None:
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "words.toml").write_text(content)
    monkeypatch.setattr(resources.resources, "files", lambda _package: tmp_path)
    with pytest.raises(ValueError, match=f"^{re.escape(message)}$"):
        load("words.toml", Words)


def test_a_template_is_filled_and_its_words_located() -> None:
    text, places = fill("The {a} and the {b}, {a}", {"a": "cat", "b": "horse"})
    assert text == "The cat and the horse, cat"
    assert places == {"a": ((4, 7), (23, 26)), "b": ((16, 21),)}


def test_a_slot_without_a_word_is_an_error() -> None:
    message = (
        'the template "The {nuon} is" has a slot {nuon}, and the slots are {noun}, {flip}; '
        "correct the template."
    )
    with pytest.raises(ValueError, match=f"^{re.escape(message)}$"):
        fill("The {nuon} is", {"noun": "cat", "flip": "near"})
