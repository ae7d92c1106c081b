"""GGUF files: dequantised once to fp32 safetensors in the user's cache, checked, then reused."""

import hashlib
import json
import os
import shutil
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import platformdirs

_RECORD = "checksums.json"
_SENTENCE = "The sun rises in the east, and people drink a cup of coffee before they go to work."
_PERPLEXITY_LIMIT = 200.0


def converted(gguf: Path, *, say: Callable[[str], None]) -> Path:
    """A directory with the model of a GGUF file as fp32 safetensors, and its tokenizer.

    Made at the first call, in a temporary place that is renamed when whole; a copy that no longer
    has the checksums written beside it is made again.

    Raises:
        ValueError: the file cannot be read as a GGUF model, or what was read does not read English.
    """
    source_hash = file_hash(gguf)
    target = cache_folder() / f"{gguf.stem}-{source_hash[:12]}"
    if target.is_dir():
        if is_whole(target):
            return target
        say(f"{target} is damaged and is made again.")
        shutil.rmtree(target)
    say(f"converting {gguf.name} to fp32 once, into {target}")
    target.parent.mkdir(parents=True, exist_ok=True)
    fresh = Path(tempfile.mkdtemp(dir=target.parent, prefix=".converting-"))
    try:
        _convert(gguf, fresh)
        checksums = {path.name: file_hash(path) for path in sorted(fresh.iterdir())}
        (fresh / _RECORD).write_text(json.dumps({"source": source_hash, "files": checksums}))
        settle(fresh, target)
    finally:
        shutil.rmtree(fresh, ignore_errors=True)
    return target


def settle(fresh: Path, target: Path) -> None:
    """Rename a whole folder into place, unless another process has made the same meanwhile.

    Raises:
        OSError: it cannot be renamed, and none is there.
    """
    try:
        fresh.rename(target)
    except OSError:
        if not target.is_dir():
            raise


def cache_folder() -> Path:
    """Where converted models are kept: the user's cache, or `INTERP_CACHE`."""
    return Path(os.environ.get("INTERP_CACHE") or platformdirs.user_cache_dir("interp"))


def file_hash(path: Path) -> str:
    """SHA-256 of a file's content."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def is_whole(folder: Path) -> bool:
    """Whether every file of a converted model is as it was when it was written."""
    try:
        files: dict[str, str] = json.loads((folder / _RECORD).read_text())["files"]
        return all(file_hash(folder / name) == checksum for name, checksum in files.items())
    except (OSError, ValueError, KeyError):
        return False


def _convert(gguf: Path, folder: Path) -> None:
    import torch
    from transformers import AutoModelForCausalLM, AutoTokenizer

    try:
        tokenizer = AutoTokenizer.from_pretrained(str(gguf.parent), gguf_file=gguf.name)
        model = AutoModelForCausalLM.from_pretrained(
            str(gguf.parent), gguf_file=gguf.name, dtype=torch.float32
        ).eval()
    except Exception as error:  # the reader raises whatever a damaged file makes it trip over
        raise ValueError(f"{gguf} cannot be read as a GGUF model: {error}") from error
    check_reading(model, tokenizer)
    model.hf_quantizer = None
    if hasattr(model.config, "quantization_config"):
        del model.config.quantization_config
    model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)


def check_reading(model: Any, tokenizer: Any) -> float:
    """The perplexity of a plain English sentence, after checks that fail on a wrong conversion.

    Rows of the query and key projections in the wrong order give fluent nonsense; only the
    perplexity shows it.

    Raises:
        ValueError: the sentence does not survive tokenisation, or its perplexity exceeds 200.
    """
    import torch

    ids = tokenizer(_SENTENCE, add_special_tokens=False).input_ids
    if tokenizer.decode(ids) != _SENTENCE:
        raise ValueError(
            f"the tokenizer turns {_SENTENCE!r} into {tokenizer.decode(ids)!r}; "
            "the file's vocabulary was not read correctly."
        )
    with torch.inference_mode():
        tokens = torch.tensor([ids])
        logits = model(tokens).logits[0, :-1]
        perplexity = torch.nn.functional.cross_entropy(logits, tokens[0, 1:]).exp().item()
    if not perplexity < _PERPLEXITY_LIMIT:
        raise ValueError(
            f"the converted model gives a plain English sentence perplexity {perplexity:.0f}, "
            f"expected below {_PERPLEXITY_LIMIT:.0f}; its weights were not read correctly."
        )
    return float(perplexity)
