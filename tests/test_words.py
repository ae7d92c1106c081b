"""Words and their tokens, by decoding, whatever the tokenizer does and whatever its offsets say."""

import re
import unicodedata

import pytest

from interp.decoding import token_places
from interp.items import Span
from interp.tokens import covering
from interp.words import word_groups, word_tokens

HARD = "Mary said the nurse's café bill 😀 upset her."
LETTERS = "abcdefghijklmnopqrstuvwxyzé.,;'’"
TEXTS = [
    HARD,
    "Anna’s cafe\u0301 and  two\u00a0spaces,\n\na new line",
    "a zero\u200bwidth joiner 👩\u200d🚀 and the ﬁne print … don't",
]


def in_memory(tokenizer, **special):
    from transformers import PreTrainedTokenizerFast

    return PreTrainedTokenizerFast(tokenizer_object=tokenizer, **special)


def wordpiece():
    """Uncased, without accents; one word whole, the others letter by letter."""
    from tokenizers import Tokenizer, decoders, models, normalizers, pre_tokenizers

    pieces = ["[UNK]", "mary", *LETTERS, "…", "ﬁ", *(f"##{letter}" for letter in LETTERS)]
    vocabulary = {piece: number for number, piece in enumerate(pieces)}
    tokenizer = Tokenizer(models.WordPiece(vocabulary, unk_token="[UNK]"))
    tokenizer.normalizer = normalizers.BertNormalizer(lowercase=True)
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    tokenizer.decoder = decoders.WordPiece()
    return in_memory(tokenizer, unk_token="[UNK]")


def metaspace(*, byte_fallback):
    """SentencePiece's way: a mark for each space; unknown letters as bytes, or as unknown."""
    from tokenizers import Tokenizer, decoders, models, normalizers, pre_tokenizers

    pieces = ["<unk>", *(f"<0x{byte:02X}>" for byte in range(256)), "▁", "M", "A", *LETTERS]
    vocabulary = {piece: number for number, piece in enumerate(pieces)}
    model = models.BPE(
        vocabulary, [], unk_token="<unk>", fuse_unk=True, byte_fallback=byte_fallback
    )
    tokenizer = Tokenizer(model)
    if not byte_fallback:
        tokenizer.normalizer = normalizers.NFKC()
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace()
    parts = [decoders.Replace("▁", " "), decoders.ByteFallback(), decoders.Fuse()]
    tokenizer.decoder = decoders.Sequence([*parts, decoders.Strip(" ", 1, 0)])
    return in_memory(tokenizer, unk_token="<unk>")


@pytest.fixture(scope="module")
def tokenizers(tokenizer):
    from interp.models import load

    return {
        "byte level": tokenizer,
        "word pieces": wordpiece(),
        "metaspace and bytes": metaspace(byte_fallback=True),
        "metaspace, compatibility forms": metaspace(byte_fallback=False),
        "minilm": load("minilm-l6").tokenizer,
    }


ASTRONAUT = "👩\u200d🚀"
UNKNOWN = {
    "byte level": set(),
    "word pieces": {"😀", ASTRONAUT},
    "metaspace and bytes": set(),
    "metaspace, compatibility forms": {"😀", ASTRONAUT, "zero\u200bwidth"},
    "minilm": {"😀", ASTRONAUT},
}
"""The words of the texts that each tokenizer cannot write."""


def spans(text):
    return [Span(*word.span()) for word in re.finditer(r"\S+", text)]


def bare(text):
    """Lower case, no accents, no spaces, nothing invisible: by another route."""
    apart = unicodedata.normalize("NFKD", text.casefold())
    return "".join(c for c in apart if unicodedata.category(c)[0] not in "MCZ")


@pytest.mark.parametrize("name", UNKNOWN)
@pytest.mark.parametrize("text", TEXTS)
def test_the_tokens_of_a_word_decode_to_it_and_to_nothing_else(tokenizers, name, text):
    """Emoji over several tokens, contractions, no-break and zero-width spaces, accents apart."""
    tokenizer = tokenizers[name]
    ids = tokenizer(text, add_special_tokens=False)["input_ids"]
    for word in spans(text):
        written = text[word.start : word.end]
        if written in UNKNOWN[name]:
            with pytest.raises(ValueError, match=re.escape(f"expected {written!r}")):
                word_tokens([word], text, tokenizer)
            continue
        (tokens,) = word_tokens([word], text, tokenizer)
        read = tokenizer.decode([ids[token] for token in tokens])
        assert bare(read).replace("##", "") == bare(written)


@pytest.mark.parametrize("text", TEXTS)
def test_a_byte_level_tokenizer_gives_back_every_character(tokenizer, text):
    """Where nothing is changed on the way, the decoded tokens are the word, to the accent."""
    ids = tokenizer(text, add_special_tokens=False)["input_ids"]
    for word, tokens in zip(spans(text), word_tokens(spans(text), text, tokenizer), strict=True):
        read = tokenizer.decode([ids[token] for token in tokens])
        assert read.strip() == text[word.start : word.end]


def test_by_hand_on_smollm2(smollm2):
    """Public case: `nurse` and `'s`, one token for ` café`, two for the emoji."""
    assert word_tokens(spans(HARD), HARD, smollm2.tokenizer) == [
        [0],
        [1],
        [2],
        [3, 4],
        [5],
        [6],
        [7, 8],
        [9],
        [10, 11],
    ]


def test_by_hand_on_minilm(tokenizers):
    """Public case: the emoji is not in the vocabulary, which is an error that names it."""
    known = [word for word in spans(HARD) if HARD[word.start : word.end] != "😀"]
    assert word_tokens(known, HARD, tokenizers["minilm"]) == [
        [0],
        [1],
        [2],
        [3, 4, 5],
        [6],
        [7],
        [9],
        [10, 11],
    ]
    with pytest.raises(ValueError) as error:
        word_tokens(spans(HARD), HARD, tokenizers["minilm"])
    assert str(error.value) == (
        f"the tokens at characters 32 to 33 of {HARD!r} read '[UNK]', expected '😀'."
    )


class WrongOffsets:
    """A tokenizer whose offsets are empty, and otherwise in order."""

    def __init__(self, tokenizer):
        self.tokenizer = tokenizer

    def __call__(self, *args, **kwargs):
        encoded = self.tokenizer(*args, **kwargs)
        if "offset_mapping" in encoded:
            encoded["offset_mapping"] = [(0, 0)] * len(encoded["offset_mapping"])
        return encoded

    def __getattr__(self, name):
        return getattr(self.tokenizer, name)


@pytest.mark.parametrize("name", UNKNOWN)
def test_offsets_are_not_trusted(tokenizers, name):
    """Public case: offsets that are wrong, empty, or include the space before."""
    word = Span(HARD.index("café"), HARD.index("café") + 4)
    right = covering(word, HARD, tokenizers[name])
    assert bare(right[1]).replace("##", "") == "cafe"
    assert covering(word, HARD, WrongOffsets(tokenizers[name])) == right


def test_a_token_of_spaces_stands_for_nothing(smollm2):
    text = "two  spaces"
    ids = smollm2.tokenizer(text)["input_ids"]
    assert [smollm2.tokenizer.decode([number]) for number in ids] == ["two", " ", " spaces"]
    assert token_places(ids, text, smollm2.tokenizer) == [Span(0, 3), Span(3, 3), Span(5, 11)]


def test_a_phrase_has_the_tokens_between_its_words(smollm2):
    assert word_tokens([Span(0, 11)], "two  spaces", smollm2.tokenizer) == [[0, 1, 2]]


def test_an_unknown_token_ends_where_its_neighbours_begin():
    """The longest reading first, others where the rest of the text asks for them."""
    tokenizer = wordpiece()
    text = "ꙮab ab ꙮ's ꙮ"
    ids = tokenizer(text)["input_ids"]
    assert tokenizer.decode(ids) == "[UNK] ab [UNK] ' s [UNK]"
    found = [text[place.start : place.end] for place in token_places(ids, text, tokenizer)]
    assert found == ["ꙮab", "a", "b", "ꙮ", "'", "s", "ꙮ"]


def test_a_replacement_character_of_the_text_is_a_character(tokenizer):
    """The sign that a cut character decodes to may stand in the text itself, in three bytes."""
    text = "a \ufffd 😀 b"
    assert [len(tokens) for tokens in word_tokens(spans(text), text, tokenizer)] == [1, 3, 4, 1]


def test_tokens_of_another_text_are_refused(tokenizer):
    ids = tokenizer("the farmer said")["input_ids"]
    with pytest.raises(ValueError) as error:
        token_places(ids, "the pilot said", tokenizer)
    assert str(error.value) == (
        "the tokens of 'the pilot said' must decode to it, and from character 3 on they read "
        "' farmer said', expected ' pilot said'; this tokenizer changes the text too much to say "
        "which token is which word."
    )


def test_groups_hold_every_position_once():
    """Words that share a token are one group; what is in no word is a group of its own."""
    assert word_groups([[1], [3, 4], [4, 5], [7]], 9) == [[0], [1], [2], [3, 4, 5], [6], [7], [8]]
    assert word_groups([], 2) == [[0], [1]]
