"""CoNLL-U: words found in the text of their sentence."""

import pytest

from interp.tasks.readers.treebank import read_sentences
from tests.tasks.readers.garden import LINES, changed


def forms(sentence):
    return [sentence.text[word.span.start : word.span.end] for word in sentence.words]


def test_words_stand_where_the_text_has_them(write):
    """The parts of a contraction apart, an empty node nowhere."""
    first, second, _, last = read_sentences(write(*LINES))
    assert " ".join(forms(first)) == "The roses near the old wall do n't bloom ."
    assert " ".join(forms(second)) == "Ann Lee and her gardener prune them ."
    assert [sentence.document for sentence in (first, second, last)] == ["garden", "garden", "pond"]
    roses = first.words[1]
    assert (roses.form, roses.upos, roses.relation, roses.head) == ("roses", "NOUN", "nsubj", 8)
    assert (roses.features, roses.misc) == ({"Number": "Plur"}, {"CorrectForm": ""})
    assert first.words[8].head is None


def test_a_word_that_is_not_written_out_has_the_whole_contraction(write):
    _, _, third, _ = read_sentences(write(*LINES))
    assert forms(third)[:4] == ["Dunno", "Dunno", "Dunno", "how"]


@pytest.mark.parametrize(
    ("old", "new", "problem"),
    [
        (
            "wall don't",
            "fence don't",
            'line 10: field "form": expected the next word of "# text = The roses near the old '
            'fence don\'t bloom.", from character 22 on, got "wall".',
        ),
        ("\tNOUN\t_\tNumber=Plur", "\tNumber=Plur", "line 6: expected 10 fields with tabs between"),
        (
            "\t6\tamod",
            "\t60\tamod",
            'line 9: field "head": expected a word of the sentence, 0 to 10, got "60".',
        ),
        ("\t6\tamod", "\tsix\tamod", "line 9: Failed parsing field 'head': 'six' is not a valid"),
        ("\t6\tamod", "\t_\tamod", 'line 9: field "head": expected a word of the sentence, 0 to'),
        ("5\told", "4\told", 'line 9: field "id": expected the number 5, got "4".'),
        (
            "# text = Ann Lee and her gardener prune them.\n",
            "",
            'line 18: expected a comment "# text = …" above the sentence, got none; add it.',
        ),
    ],
)
def test_a_bad_line_is_named_with_its_field(write, old, new, problem):
    path = write(*changed(old, new))
    with pytest.raises(ValueError) as error:
        list(read_sentences(path))
    assert str(error.value).startswith(f"{path}, {problem}")
