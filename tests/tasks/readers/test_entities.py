"""GUM's brackets: nested, over several lines, and closed in order."""

import pytest

from interp.tasks.readers.entities import mentions
from interp.tasks.readers.treebank import read_sentences
from tests.tasks.readers.garden import DECLARATION, LINES, changed


def written(sentence, mention):
    words = sentence.words[mention.start : mention.end]
    return " ".join(word.form for word in words), sentence.words[mention.head].form


def test_mentions_and_their_heads_by_hand(write):
    """The head of a minimal span is the word that no other word of it governs."""
    first, second, _, _ = read_sentences(write(*LINES))
    assert [(m.entity, *written(first, m)) for m in mentions(first)] == [
        ("1", "The roses near the old wall", "roses"),
        ("2", "the old wall", "wall"),
    ]
    assert [(m.entity, *written(second, m)) for m in mentions(second)] == [
        ("3", "Ann Lee and her gardener", "Ann"),
        ("4", "Ann Lee", "Ann"),
        ("5", "her gardener", "gardener"),
        ("4", "her", "her"),
        ("1", "them", "them"),
    ]


def test_of_two_open_mentions_of_an_entity_the_inner_closes_first(write):
    path = write(*changed("(2-object-new-n-c-3-sgl", "(1-object-new-n-c-3-sgl"))
    path.write_text(path.read_text().replace("Entity=2)1)", "Entity=1)1)"))
    first = next(read_sentences(path))
    assert [written(first, mention)[0] for mention in mentions(first)] == [
        "The roses near the old wall",
        "the old wall",
    ]


@pytest.mark.parametrize(
    ("old", "new", "problem"),
    [
        (
            DECLARATION,
            "# generator = none",
            'line 5: expected a comment "# global.Entity = GRP-…-minspan-…" above the first '
            "sentence, which says how entities are written; give a file with GUM's annotation of "
            "entities.",
        ),
        (
            "Entity=2)1)",
            "Entity=1)",
            'line 8: field "misc", Entity of "the": expected "2)" at or after this word in the '
            "sentence, got none.",
        ),
        (
            "Entity=2)1)",
            "Entity=2)1)7)",
            'line 10: field "misc", Entity of "wall": expected an open mention "(7-…" to close, '
            "got none.",
        ),
        (
            "(2-object-new-n-c-3-sgl",
            "(2-object-new-n-c-4-sgl",
            'line 8: field "misc", Entity of "the": expected a minimal span of words 1 to 3 of the '
            'mention, got "4".',
        ),
        (
            "(2-object-new-n-c-3-sgl",
            "(2-object",
            'line 8: field "misc", Entity of "the": expected GRP-etype-infstat-salience-centering-'
            'minspan-link-identity, got "2-object".',
        ),
        (
            "Entity=2)1)",
            "Entity=2",
            'line 10: field "misc", Entity of "wall": expected brackets such as "(1-person-…)", '
            'got "2".',
        ),
    ],
)
def test_bad_brackets_are_named_with_their_line(write, old, new, problem):
    path = write(*changed(old, new))
    with pytest.raises(ValueError) as error:
        mentions(next(read_sentences(path)))
    assert str(error.value) == f"{path}, {problem}"
