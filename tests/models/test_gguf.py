"""The GGUF model: converted once, checked, rebuilt when damaged; ids by a second route."""

import re
from itertools import pairwise

import pytest
import torch

from interp.models import gguf, load
from interp.models.gguf import check_reading, converted, is_whole, settle
from interp.models.names import locate

SENTENCES = (
    "The keys to the cabinet are on the table, said the nurse's brother in 2024.",
    "Mary paid 15 euros for 3 cups of coffee; it wasn't cheap!",
)


def merged(word, ranks):
    """Byte-pair merging as it is defined: the best-ranked pair first, until none is left."""
    pieces = list(word)
    while True:
        pairs = [
            (ranks.get(pair, len(ranks)), place) for place, pair in enumerate(pairwise(pieces))
        ]
        rank, place = min(pairs, default=(len(ranks), 0))
        if rank == len(ranks):
            return pieces
        pieces[place : place + 2] = ["".join(pieces[place : place + 2])]


def test_ids_equal_those_of_the_vocabulary_in_the_file(smollm2):
    """Second route: the file's own tokens and merges, applied by hand to ASCII text."""
    from gguf import GGUFReader

    fields = GGUFReader(locate("smollm2-135m").location).fields
    tokens = fields["tokenizer.ggml.tokens"].contents()
    number_of = {token: number for number, token in enumerate(tokens)}
    merges = fields["tokenizer.ggml.merges"].contents()
    ranks = {tuple(merge.split(" ")): rank for rank, merge in enumerate(merges)}
    words = re.compile(r"'(?:s|t|re|ve|m|ll|d)| ?[A-Za-z]+|[0-9]| (?=[0-9])| ?[^\sA-Za-z0-9]+")
    for sentence in SENTENCES:
        split = words.findall(sentence)
        assert "".join(split) == sentence
        pieces = [piece for word in split for piece in merged(word.replace(" ", "Ġ"), ranks)]
        expected = [number_of[piece] for piece in pieces]
        assert smollm2.tokenizer(sentence, add_special_tokens=False).input_ids == expected


def test_the_sentence_reads_well_and_not_when_rows_are_permuted(smollm2):
    """Query and key rows in the file's order, not undone, give fluent nonsense: it is caught."""
    module = smollm2.plain.module
    assert check_reading(module, smollm2.tokenizer) < 40
    weights = [layer.self_attn.q_proj.weight for layer in module.model.layers]
    kept = [weight.clone() for weight in weights]
    with torch.no_grad():
        for weight in weights:
            weight.copy_(weight.view(9, 2, 32, 576).transpose(1, 2).reshape(576, 576))
    try:
        with pytest.raises(ValueError, match="its weights were not read correctly"):
            check_reading(module, smollm2.tokenizer)
    finally:
        with torch.no_grad():
            for weight, original in zip(weights, kept, strict=True):
                weight.copy_(original)


def test_shape_and_prefix_of_the_real_model(smollm2):
    assert (smollm2.n_layers, smollm2.n_heads) == (30, 9)
    assert smollm2.is_causal
    assert (smollm2.prefix.text, smollm2.prefix.before) == ("<|endoftext|>", (0,))
    assert smollm2.with_prefix("bos").prefix.before == (1,)


@pytest.fixture
def quick_conversion(monkeypatch, tmp_path):
    """A cache of its own, and a conversion that writes two small files, counted."""
    made = []

    def convert(source, folder):
        made.append(source)
        (folder / "model.safetensors").write_bytes(b"weights")
        (folder / "config.json").write_bytes(b"{}")

    monkeypatch.setenv("INTERP_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(gguf, "_convert", convert)
    source = tmp_path / "model.gguf"
    source.write_bytes(b"GGUF")
    return source, made


def test_a_file_is_converted_once(quick_conversion):
    source, made = quick_conversion
    messages = []
    first = converted(source, say=messages.append)
    assert converted(source, say=messages.append) == first
    assert len(made) == 1
    assert len(messages) == 1
    assert messages[0].startswith("converting model.gguf to fp32 once, into ")


@pytest.mark.parametrize("damage", ["change", "remove", "no record"])
def test_a_damaged_copy_is_made_again_and_said(quick_conversion, damage):
    source, made = quick_conversion
    messages = []
    folder = converted(source, say=messages.append)
    if damage == "change":
        (folder / "model.safetensors").write_bytes(b"weightz")
    else:
        (folder / ("model.safetensors" if damage == "remove" else "checksums.json")).unlink()
    assert not is_whole(folder)
    assert converted(source, say=messages.append) == folder
    assert is_whole(folder)
    assert len(made) == 2
    assert any("is damaged and is made again" in message for message in messages)


def test_a_conversion_that_fails_leaves_nothing(quick_conversion, monkeypatch):
    source, _ = quick_conversion

    def fail(source, folder):
        (folder / "model.safetensors").write_bytes(b"half")
        raise KeyboardInterrupt

    monkeypatch.setattr(gguf, "_convert", fail)
    with pytest.raises(KeyboardInterrupt):
        converted(source, say=lambda message: None)
    assert list(gguf.cache_folder().iterdir()) == []


def test_another_content_is_another_copy(quick_conversion):
    source, made = quick_conversion
    first = converted(source, say=lambda message: None)
    source.write_bytes(b"GGUF, another")
    assert converted(source, say=lambda message: None) != first
    assert len(made) == 2


def test_a_file_that_is_no_gguf_is_one_sentence(tmp_path, monkeypatch):
    monkeypatch.setenv("INTERP_CACHE", str(tmp_path / "cache"))
    source = tmp_path / "broken.gguf"
    source.write_bytes(b"not a model")
    with pytest.raises(ValueError, match=r"broken.gguf cannot be read as a GGUF model"):
        load(str(source))


def test_a_folder_that_another_process_made_meanwhile_stays(tmp_path):
    fresh, target = tmp_path / "fresh", tmp_path / "target"
    for folder, content in ((fresh, "mine"), (target, "theirs")):
        folder.mkdir()
        (folder / "weights").write_text(content)
    settle(fresh, target)
    assert (target / "weights").read_text() == "theirs"
    with pytest.raises(OSError, match="gone"):
        settle(tmp_path / "gone", tmp_path / "nowhere")
