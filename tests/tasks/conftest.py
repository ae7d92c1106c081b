"""Small byte-level BPE tokenizers, trained in memory on the words of the lexicons."""

import re
from pathlib import Path

import pytest
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
from transformers import PreTrainedTokenizerFast

DATA = Path(__file__).parents[2] / "data"


def bpe(words: list[str], vocab_size: int) -> PreTrainedTokenizerFast:
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=vocab_size,
        show_progress=False,
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
    )
    tokenizer.train_from_iterator([f" {word}" for word in words for _ in range(2)], trainer)
    return PreTrainedTokenizerFast(tokenizer_object=tokenizer)


def words_of_lexicons() -> list[str]:
    text = "\n".join(path.read_text(encoding="utf-8") for path in sorted(DATA.glob("*.toml")))
    return sorted(set(re.findall("[A-Za-z]+", text))) + ["he", "she"]


@pytest.fixture(scope="session")
def tokenizer() -> PreTrainedTokenizerFast:
    """Every word of the lexicons is one token after a space, as in a large vocabulary."""
    return bpe(words_of_lexicons(), vocab_size=20_000)


@pytest.fixture(scope="session")
def poor_tokenizer() -> PreTrainedTokenizerFast:
    """Only five nouns are one token; all else is cut into letters."""
    nouns = ["farmer", "farmers", "pilot", "pilots", "poet", "poets"]
    return bpe([*nouns, "judge", "judges", "nurse", "nurses"], vocab_size=20_000)
