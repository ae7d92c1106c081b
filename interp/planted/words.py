"""The vocabulary of planted models: what each word puts into the residual stream."""

import json
from dataclasses import replace
from itertools import product
from pathlib import Path

import numpy as np
from jaxtyping import Float

from interp.planted.kit import Circuit, HeadWeights, MLPWeights, Stream, resting

START, END, UNKNOWN = "<|endoftext|>", "<|end|>", "<|unknown|>"
MALE = ("john", "peter", "david", "robert", "henry", "thomas", "george", "simon")
FEMALE = ("mary", "anna", "helen", "susan", "laura", "emma", "julia", "nora")
SINGULAR = ("farmer", "pilot", "doctor", "writer", "nurse", "lawyer", "baker", "singer")
PLURAL = ("farmers", "pilots", "doctors", "writers", "nurses", "lawyers", "bakers", "singers")
NAMES = MALE + FEMALE
NOUNS = SINGULAR + PLURAL
PRONOUNS = ("he", "she")
VERBS = ("is", "are")
PREPOSITION, ARTICLE = "near", "the"
LAST = "now"
FILLERS = ("met", "then", "went", "home", "right", "today")
SYLLABLES = tuple(map("".join, product("bdfgklmnprstvz", "aeiou")))
WORDS = (
    *NAMES, *NOUNS, *PRONOUNS, *VERBS, PREPOSITION, ARTICLE, LAST, *FILLERS, *SYLLABLES,
)  # fmt: skip
VOCABULARY = (START, END, UNKNOWN, *(f"▁{word}" for word in WORDS))
N_POSITIONS = 104


def embedding(stream: Stream) -> Float[np.ndarray, "vocab d_model"]:
    """What each token puts into those subspaces of its features that the stream has.

    `word` and `name` are one-hot, `name_gender`, `asked_gender` (of a pronoun) and `number` have
    two coordinates, male before female and singular before plural; `is_noun`, `is_preposition`,
    `is_pronoun`, `is_last` and `is_word` are flags.
    """
    rows = np.zeros((len(VOCABULARY), stream.width))

    def put(name: str, words: tuple[str, ...], values: Float[np.ndarray, "word feature"]) -> None:
        if name in stream:
            ids = [VOCABULARY.index(f"▁{word}") for word in words]
            rows[ids] += values @ stream[name].T

    rows += stream["one"].T
    rows[0] += stream["start"][:, 0]
    halves = np.repeat(np.eye(2), len(MALE), axis=0)
    put("word", WORDS, np.eye(len(WORDS)))
    put("name", NAMES, np.eye(len(NAMES)))
    put("name_gender", NAMES, halves)
    put("asked_gender", PRONOUNS, np.eye(2))
    put("number", NOUNS, halves)
    for name, words in _FLAGS.items():
        put(name, words, np.ones((len(words), 1)))
    return rows


_FLAGS = {
    "is_noun": NOUNS,
    "is_preposition": (PREPOSITION,),
    "is_pronoun": PRONOUNS,
    "is_last": (LAST,),
    "is_word": WORDS,
}


def places(stream: Stream) -> Float[np.ndarray, "pos d_model"]:
    """What each position puts into the stream: its one-hot place, where the stream has one."""
    if "place" in stream:
        return stream["place"].T.copy()
    return np.zeros((N_POSITIONS, stream.width))


def unembedding(
    stream: Stream, says: str, words: tuple[str, ...]
) -> Float[np.ndarray, "d_model vocab"]:
    """Logits that read one subspace, a coordinate a word.

    The document separator has logit ¼ everywhere, so that two ways of running a model always have
    something to agree on; all other words have 0.
    """
    columns = np.zeros((stream.width, len(VOCABULARY)))
    columns[:, [VOCABULARY.index(f"▁{word}") for word in words]] = stream[says]
    columns[:, :1] = stream["one"] / 4
    return columns


def circuit(
    stream: Stream,
    heads: list[list[HeadWeights]],
    *,
    says: str,
    words: tuple[str, ...],
    mlps: dict[int, MLPWeights] | None = None,
) -> Circuit:
    """A circuit over the vocabulary, each layer filled up with heads that rest, at least one.

    The logits of `words` read the subspace `says`; those of all other words are 0.
    """
    n_heads = max(map(len, heads)) + 1
    return Circuit(
        embedding=embedding(stream),
        positions=places(stream),
        heads=[layer + [resting(stream)] * (n_heads - len(layer)) for layer in heads],
        unembedding=unembedding(stream, says, words),
        mlps=mlps or {},
    )


def write_tokenizer(folder: Path) -> None:
    """A tokenizer in which each word, with the space before it, is one token."""
    from tokenizers import AddedToken, Tokenizer, decoders, models, pre_tokenizers

    tokenizer = Tokenizer(
        models.WordLevel({word: i for i, word in enumerate(VOCABULARY)}, unk_token=UNKNOWN)
    )
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace()
    tokenizer.decoder = decoders.Metaspace()
    tokenizer.add_special_tokens([AddedToken(word, special=True) for word in (START, END, UNKNOWN)])
    tokenizer.save(str(folder / "tokenizer.json"))
    named = {"bos_token": START, "eos_token": START, "cls_token": START, "sep_token": END}
    settings = {"tokenizer_class": "PreTrainedTokenizerFast", "unk_token": UNKNOWN, **named}
    (folder / "tokenizer_config.json").write_text(json.dumps(settings, indent=2))


def filled_up(circuit: Circuit, stream: Stream, radius: float) -> Circuit:
    """The circuit with ballast in every token, so that each is embedded at the same length."""
    lengths = (circuit.embedding**2).sum(axis=1, keepdims=True)
    ballast = np.sqrt(radius**2 - lengths) * stream["ballast"].T
    return replace(circuit, embedding=circuit.embedding + ballast)
