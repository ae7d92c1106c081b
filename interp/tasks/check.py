"""The gate that every item passes before a model sees it, whoever wrote it."""

from collections.abc import Iterator
from typing import Any

from interp.decoding import plain_letters
from interp.items import Item, Span
from interp.tokens import continuation, covering, text_ids

_OPENERS = "\"'“‘«([{\n"
"""After these a continuation has no space of its own."""


def check(item: Item, tokenizer: Any) -> None:
    """Nothing, when the item can be measured with this tokenizer.

    Clean and corrupt have equally many tokens and are not the same; answer and foil are one token
    each where they would be read, and differ; the tokens of each span decode to its words.

    Raises:
        ValueError: the first of these that does not hold; the message names the item.
    """
    problem = next(_problems(item, tokenizer), None)
    if problem is not None:
        raise ValueError(f'pair "{item.pair_id}", item "{item.item_id}": {problem}')


def _problems(item: Item, tokenizer: Any) -> Iterator[str]:
    texts = {"clean": item.clean_text, "corrupt": item.corrupt_text}
    for name, text in texts.items():
        if text != text.rstrip(" ") or not text:
            yield f"the {name} text is empty or ends in a space; the space belongs to the answer."

    clean, corrupt = (text_ids(text, tokenizer) for text in texts.values())
    if len(clean) != len(corrupt):
        yield (
            f"clean and corrupt must have equally many tokens, got {len(clean)} and "
            f"{len(corrupt)}; reword one of them."
        )
    if clean == corrupt:
        yield "clean and corrupt are the same tokens; change what the answer depends on."

    for role, word in (("answer", item.answer_text), ("foil", item.foil_text)):
        for text in texts.values():
            yield from _continuation_problems(role, word, text, tokenizer)
    if item.answer_text == item.foil_text:
        yield f'answer and foil must differ, got "{item.answer_text}" for both.'

    edges = {relation.name: relation for relation in item.relations}
    if len(edges) < len(item.relations):
        yield "two relations have one name; give each its own."
    places = {
        "source": item.source,
        "distractor": item.distractors,
        "query": () if item.query is None else (item.query,),
        **{f"{name}, query": (edge.query,) for name, edge in edges.items()},
        **{f"{name}, source": edge.source for name, edge in edges.items()},
    }
    for role, spans in places.items():
        for span in spans:
            yield from _span_problems(role, span, item.clean_text, tokenizer)


def _continuation_problems(role: str, word: str, text: str, tokenizer: Any) -> Iterator[str]:
    added = continuation(text, word, tokenizer)
    if not word.startswith(" ") and not text.endswith(tuple(_OPENERS)):
        spaced = continuation(text, f" {word}", tokenizer)
        if spaced is not None and len(spaced) == 1:
            yield f'in context the {role} is " {word}", with its leading space, got "{word}".'
    if added is None:
        yield (
            f'the {role} "{word}" merges with the end of "{text}" into other tokens; begin it with '
            "a space, or end the text at a word."
        )
    elif len(added) != 1:
        pieces = ", ".join(f'"{tokenizer.decode([token])}"' for token in added)
        yield (
            f'the {role} must be one token in context, got "{word}" with {len(added)}: {pieces}; '
            "choose another word."
        )
    elif tokenizer.decode(added).strip().casefold() != word.strip().casefold():
        yield (
            f'the {role} "{word}" is not in the vocabulary: its token reads '
            f'"{tokenizer.decode(added)}"; choose another word.'
        )


def _span_problems(role: str, span: Span, text: str, tokenizer: Any) -> Iterator[str]:
    if not 0 <= span.start < span.end <= len(text):
        yield (
            f"the {role} must be characters of the text, 0 to {len(text)}, got {span.start} to "
            f"{span.end}."
        )
        return
    words = text[span.start : span.end]
    decoded = covering(span, text, tokenizer)[1].strip()
    if plain_letters(decoded) != plain_letters(words.strip()):
        yield (
            f'the {role} must be whole tokens, got "{words}" within "{decoded}"; give the whole '
            "word."
        )
