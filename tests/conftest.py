"""Small models made on the spot, saved and loaded as any other; real weights once a session."""

import os

os.environ["HF_HUB_OFFLINE"] = "1"
os.environ["HF_HUB_DISABLE_TELEMETRY"] = "1"

import pytest
import torch

from interp.items import Prompt, Span, both_directions

_LINES = (
    "the farmer pilot doctor senators pilots doctors farmers beside knew near said is are was were",
    "red blue green seven two nine John Mary met",
)
WORDS = [word for line in _LINES for word in line.split()]


@pytest.fixture(scope="session")
def tokenizer_folder(tmp_path_factory):
    """A byte-level tokenizer in which each of `WORDS`, with its space, is one token."""
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
    from transformers import PreTrainedTokenizerFast

    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=1000,
        special_tokens=["<|endoftext|>", "<|im_start|>"],
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    corpus = [f" {word} {word.capitalize()} {word}" for word in WORDS] * 5
    tokenizer.train_from_iterator([*corpus, "The The The The"], trainer)
    folder = tmp_path_factory.mktemp("tokenizer")
    PreTrainedTokenizerFast(
        tokenizer_object=tokenizer, unk_token="<|endoftext|>", bos_token="<|im_start|>"
    ).save_pretrained(folder)
    return folder


@pytest.fixture(scope="session")
def tokenizer(tokenizer_folder):
    from transformers import AutoTokenizer

    return AutoTokenizer.from_pretrained(tokenizer_folder)


def save_tiny(config, folder, tokenizer, *, seed=0):
    """A random model of a configuration, with weights large enough for effects to be seen."""
    from transformers import AutoModelForCausalLM

    torch.manual_seed(seed)
    config.vocab_size = len(tokenizer)
    model = AutoModelForCausalLM.from_config(config)
    with torch.no_grad():
        for parameter in model.parameters():
            if parameter.ndim > 1:
                parameter.mul_(6)
    model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder


@pytest.fixture(scope="session")
def tiny_folder(tmp_path_factory, tokenizer):
    """A llama of four layers, four heads and two key/value heads."""
    from transformers import LlamaConfig

    config = LlamaConfig(
        hidden_size=32,
        intermediate_size=48,
        num_hidden_layers=4,
        num_attention_heads=4,
        num_key_value_heads=2,
        max_position_embeddings=64,
        tie_word_embeddings=False,
    )
    return save_tiny(config, tmp_path_factory.mktemp("models") / "tiny-llama", tokenizer)


@pytest.fixture(scope="session")
def tiny(tiny_folder):
    from interp.models import load

    return load(str(tiny_folder))


@pytest.fixture(scope="session")
def planted():
    """Planted models by name, each loaded once, with their items."""
    from interp.models import load
    from interp.planted import build

    kept = {}

    def model_and_batch(name):
        if name not in kept:
            model = load(f"planted/{name}")
            (batch,) = model.encode(build(name).items)
            kept[name] = model, batch
        return kept[name]

    return model_and_batch


@pytest.fixture(scope="session")
def smollm2():
    """The real model, from its wheel."""
    from interp.models import load

    return load("smollm2-135m")


def agreement_pair(first, second, *, pair_id, words=("beside", "knew"), template="t"):
    """Two items: the governor of the next verb is the first noun, then the second."""
    clean, corrupt = (f"The {first} {word} the {second}" for word in words)
    is_singular = not first.endswith("s")

    def at(text, word):
        start = f"{text} ".index(f" {word} ") + 1
        return [Span(start, start + len(word))]

    answers = (" is", " are") if is_singular else (" are", " is")
    labels = {"first": "singular" if is_singular else "plural"}
    return both_directions(
        Prompt(
            text=clean,
            answer=answers[0],
            foil=answers[1],
            source=at(clean, first),
            distractors=at(clean, second),
            labels=labels,
        ),
        Prompt(
            text=corrupt,
            answer=answers[1],
            foil=answers[0],
            source=at(corrupt, second),
            distractors=at(corrupt, first),
            labels=labels,
        ),
        pair_id=pair_id,
        task="agreement",
        template_id=template,
        clusters=(f"first:{first}", f"second:{second}"),
    )


@pytest.fixture(scope="session")
def items():
    """Six pairs of five tokens, and two of another length."""
    singular, plural = ("farmer", "pilot", "doctor"), ("senators", "pilots", "farmers")
    pairs = [
        agreement_pair(*nouns, pair_id=f"p{number}")
        for number, nouns in enumerate(
            [*zip(singular, plural, strict=True), *zip(plural, singular, strict=True)]
        )
    ]
    longer = [
        agreement_pair(one, other, pair_id=f"q{one}", words=("beside", "near"), template="near")
        for one, other in (("farmer", "pilots"), ("doctors", "pilot"))
    ]
    return [item for pair in [*pairs, *longer] for item in pair]
