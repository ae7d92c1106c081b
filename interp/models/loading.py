"""Loading: a name, a directory, a GGUF file or a hub name becomes a `Model`."""

import hashlib
import json
import shutil
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError
from transformers import (
    AutoConfig,
    AutoModel,
    AutoModelForCausalLM,
    AutoModelForMaskedLM,
    AutoModelForTextEncoding,
    AutoTokenizer,
)
from transformers.utils import logging

from interp.models.gguf import cache_folder, converted, file_hash, settle
from interp.models.model import Model
from interp.models.names import FAMILIES, Source, locate
from interp.models.plain import Plain
from interp.models.prefix import resolve_prefix
from interp.planted import write
from interp.progress import say

DTYPES = ("float32", "bfloat16", "float16")
"""What the parameters of a model may be."""


def load(
    name: str,
    *,
    prefix: str = "document",
    device: str | Mapping[str, str | int] = "cpu",
    dtype: str = "float32",
) -> Model:
    """The model called `name`, in eval mode, its parameters without gradients.

    Args:
        name: a bundled name (`smollm2-135m`, `minilm-l6`), a directory with a saved transformers
            model, a `.gguf` file, a planted model (`planted/induction`), or a hub name such as
            `owner/model`.
        prefix: what stands before every text: `"document"` (the separator between documents),
            `"bos"` or `"none"`.
        device: where it is: `"cpu"`, `"cuda"`, `"cuda:1"`; `"auto"` spreads it over what there is,
            GPUs first, then memory, then disk; or a device map of accelerate's own.
        dtype: of its parameters, one of `DTYPES`.

    Raises:
        FileNotFoundError, ValueError: in one sentence, what is missing or not supported.
    """
    source = locate(name)
    require_device(device, dtype)
    with _quiet():
        folder = _folder(source)
        tokenizer = _tokenizer(folder)
        module = _pretrained(folder, device=device, dtype=getattr(torch, dtype))
        plain = Plain(module.requires_grad_(False))
    return Model(
        name=source.name,
        plain=plain,
        tokenizer=tokenizer,
        prefix=resolve_prefix(prefix, tokenizer, is_causal=plain.is_causal),
        weights_hash=weights_hash(folder),
    )


def require_device(device: str | Mapping[str, str | int], dtype: str) -> None:
    """Nothing, where there are such a device and dtype.

    Raises:
        ValueError: there are not; the sentence says which there are.
    """
    if dtype not in DTYPES:
        raise ValueError(f"unknown dtype {dtype!r}; there are {', '.join(DTYPES)}.")
    if not isinstance(device, str) or device in ("cpu", "auto"):
        return
    there = ["cpu", "auto"]
    if torch.cuda.is_available():
        there += ["cuda", *(f"cuda:{number}" for number in range(torch.cuda.device_count()))]
    if torch.backends.mps.is_available():
        there.append("mps")
    if device not in there:
        raise ValueError(f"there is no device {device!r} here; there are {', '.join(there)}.")


def pretrained(name: str) -> Any:
    """The transformers model called `name` alone, fp32, without our attention and its tokenizer.

    Raises:
        FileNotFoundError, ValueError: as `load`.
    """
    with _quiet():
        return _pretrained(_folder(locate(name))).eval().requires_grad_(False)


def _folder(source: Source) -> Path:
    """The directory with a source's safetensors, configuration and tokenizer."""
    if source.kind == "gguf":
        return converted(Path(source.location), say=say)
    if source.kind == "directory":
        return Path(source.location)
    if source.kind == "planted":
        return _planted(source.location)
    from huggingface_hub import snapshot_download

    patterns = ["*.safetensors", "*.json", "*.txt", "*.model"]
    return Path(snapshot_download(source.location, allow_patterns=patterns))


def _planted(name: str) -> Path:
    """The directory of a planted model in the user's cache, named by what it holds."""
    home = cache_folder() / "planted"
    home.mkdir(parents=True, exist_ok=True)
    fresh = Path(tempfile.mkdtemp(dir=home, prefix=".writing-"))
    try:
        write(name, fresh)
        content = "".join(file_hash(file) for file in sorted(fresh.iterdir()))
        target = home / f"{name}-{hashlib.sha256(content.encode()).hexdigest()[:12]}"
        settle(fresh, target)
    finally:
        shutil.rmtree(fresh, ignore_errors=True)
    return target


def _tokenizer(folder: Path) -> Any:
    try:
        tokenizer = AutoTokenizer.from_pretrained(folder)
    except Exception as error:  # transformers raises a different type for each kind of damage
        raise ValueError(f"the tokenizer in {folder} cannot be read: {error}") from error
    if not tokenizer.is_fast:
        raise ValueError(f"{folder} has a slow tokenizer; save it as tokenizer.json.")
    return tokenizer


def _pretrained(
    folder: Path,
    *,
    device: str | Mapping[str, str | int] = "cpu",
    dtype: torch.dtype = torch.float32,
) -> Any:
    config = _config(folder)
    architecture = (getattr(config, "architectures", None) or [""])[0]
    loader: Any = AutoModel
    if "MaskedLM" in architecture:
        loader = AutoModelForMaskedLM
    elif architecture.endswith(("CausalLM", "LMHeadModel")):
        loader = AutoModelForCausalLM
    elif architecture.endswith("EncoderModel"):
        loader = AutoModelForTextEncoding
    placing: dict[str, Any] = {}
    if not isinstance(device, str) or device == "auto":
        elsewhere = cache_folder() / "offloaded"
        placing = {"device_map": device, "offload_folder": elsewhere}
    try:
        module = loader.from_pretrained(
            folder, config=config, dtype=dtype, use_safetensors=True, **placing
        )
    except (OSError, SafetensorError) as error:
        raise ValueError(f"the weights in {folder} cannot be read: {error}") from error
    if not placing:
        return module.to(device)
    if module.device.type == "meta":
        raise ValueError(
            "the model's embeddings would lie on disk, and nothing would say where to compute; "
            "free some memory, or give a device map that keeps them on a device."
        )
    return module


def _config(folder: Path) -> Any:
    known = ", ".join(FAMILIES)
    try:
        model_type = json.loads((folder / "config.json").read_text())["model_type"]
    except (ValueError, KeyError) as error:
        raise ValueError(f"{folder / 'config.json'} has no readable model_type.") from error
    if model_type not in FAMILIES:
        raise ValueError(
            f"family {model_type!r} is not supported: our attention was not shown to run in it as "
            f"it should; supported are {known}."
        )
    return AutoConfig.from_pretrained(folder)


def weights_hash(folder: Path) -> str:
    """SHA-256 over a directory's weight files, in the order of their names."""
    hashes = [file_hash(file) for file in sorted(folder.glob("*.safetensors"))]
    return hashlib.sha256("".join(hashes).encode()).hexdigest()


@contextmanager
def _quiet() -> Iterator[None]:
    """Without the library's progress bars, which speak of shards and not of our work."""
    verbosity, bars = logging.get_verbosity(), logging.is_progress_bar_enabled()
    logging.set_verbosity_error()
    logging.disable_progress_bar()
    try:
        yield
    finally:
        logging.set_verbosity(verbosity)
        if bars:
            logging.enable_progress_bar()
