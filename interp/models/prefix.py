"""What stands before the text: explicit, recorded, never mixed."""

from dataclasses import dataclass
from typing import Any

POLICIES = ("document", "bos", "none")
_SEPARATORS = ("<|endoftext|>", "<|end_of_text|>", "</s>", "<eos>")


@dataclass(frozen=True, kw_only=True)
class Prefix:
    """Token ids that surround every text of a run.

    Attributes:
        policy: the name under which it was asked for.
        text: the tokens before the text, as they are written.
        before, after: their ids. Only encoders have tokens after the text.
    """

    policy: str
    text: str
    before: tuple[int, ...]
    after: tuple[int, ...] = ()


def resolve_prefix(policy: str, tokenizer: Any, *, is_causal: bool) -> Prefix:
    """The prefix that `policy` means for this tokenizer.

    `"document"` is the separator between documents of the training text, `"bos"` the tokenizer's
    own first token (on an instruct model it may open a chat turn), `"none"` nothing. An encoder
    always keeps the special tokens that it was trained with.

    Raises:
        ValueError: an unknown policy, or a token that the tokenizer does not have.
    """
    if policy not in POLICIES:
        raise ValueError(f"expected a prefix among {', '.join(POLICIES)}, got {policy!r}.")
    if not is_causal:
        return _encoder_prefix(policy, tokenizer)
    if policy == "none":
        return Prefix(policy=policy, text="", before=())
    token = tokenizer.bos_token if policy == "bos" else _separator(tokenizer)
    if token is None:
        raise ValueError(
            f"this tokenizer has no token for prefix {policy!r}; choose another of "
            f"{', '.join(POLICIES)}."
        )
    return Prefix(policy=policy, text=token, before=(tokenizer.convert_tokens_to_ids(token),))


def _separator(tokenizer: Any) -> str | None:
    """The token between documents; the first token of a text where there is none."""
    vocabulary = tokenizer.get_vocab()
    known = [token for token in _SEPARATORS if token in vocabulary]
    if tokenizer.bos_token is not None and tokenizer.bos_token in ("<s>", "<bos>"):
        return str(tokenizer.bos_token)
    return known[0] if known else tokenizer.bos_token


def _encoder_prefix(policy: str, tokenizer: Any) -> Prefix:
    if policy != "document":
        raise ValueError(
            f"an encoder keeps its special tokens; prefix {policy!r} would remove them, "
            "use 'document'."
        )
    before, after = tokenizer.cls_token, tokenizer.sep_token
    return Prefix(
        policy=policy,
        text=before,
        before=(tokenizer.convert_tokens_to_ids(before),),
        after=(tokenizer.convert_tokens_to_ids(after),),
    )
