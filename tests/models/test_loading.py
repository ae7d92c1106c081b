"""A loaded model is the model that was saved, in eval mode, fp32, and without gradients."""

import json
import shutil
import subprocess
import sys

import pytest
import torch

from interp.models import load
from interp.models.sharing import twin


def test_a_directory_loads_offline_and_gives_the_models_own_logits(tiny, tiny_folder):
    from transformers import AutoModelForCausalLM

    own = AutoModelForCausalLM.from_pretrained(tiny_folder, attn_implementation="eager").eval()
    ids = torch.arange(2, 16).view(2, 7)
    with torch.inference_mode():
        expected, given = own(ids).logits, tiny.plain(ids).logits
    assert (given - expected).abs().max() <= 1e-5 * expected.abs().max()


def test_eval_mode_fp32_no_gradients(tiny):
    assert not tiny.plain.module.training
    assert tiny.dtype == "float32"
    assert not any(parameter.requires_grad for parameter in tiny.plain.module.parameters())
    assert tiny.is_causal


def test_the_bridge_shares_the_weights_and_nothing_else(tiny):
    """One set of parameters in memory; a hook on one side is not seen on the other."""
    ids = torch.arange(2, 16).view(2, 7)
    with torch.inference_mode():
        before = tiny.plain(ids).logits
        name = "blocks.1.attn.hook_z"
        edited = tiny.bridge.run_with_hooks(ids, fwd_hooks=[(name, lambda z, hook: z * 0)])
        after = tiny.plain(ids).logits
    assert torch.equal(before, after)
    assert (edited - before).abs().max() > 1e-2
    storages = {parameter.data_ptr() for parameter in tiny.plain.module.parameters()}
    assert {parameter.data_ptr() for parameter in tiny.bridge.parameters()} <= storages


def test_a_twin_shares_parameters(tiny):
    module = twin(tiny.plain.module)
    for (name, one), (_, other) in zip(
        tiny.plain.module.named_parameters(), module.named_parameters(), strict=True
    ):
        assert one is other, name


def test_our_attention_answers_every_layer(tiny):
    called = []

    def count(call):
        from interp.models.plain import attend

        called.append(call.layer)
        return attend(call)

    with torch.inference_mode(), tiny.plain.attending(count):
        tiny.plain(torch.arange(5)[None])
    assert called == [0, 1, 2, 3]


def test_if_our_attention_raises_the_model_raises(tiny, monkeypatch):
    def broken(*args, **kwargs):
        raise RuntimeError("our attention")

    monkeypatch.setattr("interp.attention.attention", broken)
    with pytest.raises(RuntimeError, match="our attention"):
        tiny.plain(torch.arange(5)[None])


def test_a_block_that_raises_leaves_nothing_behind(tiny):
    ids = torch.arange(5)[None]
    with torch.inference_mode():
        before = tiny.plain(ids).logits

        def interrupt(layer, name, tensor):
            raise KeyboardInterrupt

        with pytest.raises(KeyboardInterrupt), tiny.plain.hooked(interrupt):
            tiny.plain(ids)
        assert torch.equal(tiny.plain(ids).logits, before)


def test_a_family_that_is_not_known_lists_those_that_are(tiny_folder, tmp_path):
    folder = tmp_path / "strange"
    shutil.copytree(tiny_folder, folder)
    config = json.loads((folder / "config.json").read_text())
    (folder / "config.json").write_text(json.dumps(config | {"model_type": "strange"}))
    with pytest.raises(
        ValueError, match="family 'strange' is not supported: .*; supported are .*llama"
    ):
        load(str(folder))


@pytest.mark.parametrize("damage", ["model.safetensors", "tokenizer.json", "config.json"])
def test_a_damaged_file_is_one_sentence(tiny_folder, tmp_path, damage):
    folder = tmp_path / "damaged"
    shutil.copytree(tiny_folder, folder)
    (folder / damage).write_bytes((folder / damage).read_bytes()[:50])
    with pytest.raises(ValueError, match="read"):
        load(str(folder))


def test_importing_and_help_are_quick():
    """`import interp` and `interp --help` bring neither torch nor transformers."""
    heavy = "{'torch', 'transformers', 'transformer_lens', 'pandas', 'matplotlib'}"
    check = f"import sys, interp, interp.cli; sys.exit(bool({heavy} & set(sys.modules)))"
    assert subprocess.run([sys.executable, "-c", check], check=False).returncode == 0
