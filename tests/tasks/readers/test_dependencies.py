"""Pairs of a relation, from either end, by hand on one sentence."""

import pytest

from interp.tasks.readers.dependencies import read_dependencies

SENTENCE = """# newdoc id = doc
# sent_id = doc-1
# text = Pilots near farmers met them.
1	Pilots	pilot	NOUN	NNS	_	4	nsubj	_	_
2	near	near	ADP	IN	_	3	case	_	_
3	farmers	farmer	NOUN	NNS	_	1	nmod	_	_
4	met	meet	VERB	VBD	_	0	root	_	_
5	them	they	PRON	PRP	_	4	obj	_	SpaceAfter=No
6	.	.	PUNCT	.	_	4	punct	_	_

"""


@pytest.fixture
def path(tmp_path):
    file = tmp_path / "one.conllu"
    file.write_text(SENTENCE, encoding="utf-8")
    return file


def word(item, span):
    return item.text[span.start : span.end]


def test_by_hand(path):
    to_head, to_dependent = read_dependencies(path, "nsubj").items
    assert word(to_head, to_head.query) == "Pilots"
    assert [word(to_head, span) for span in to_head.source] == ["met"]
    assert to_head.distractors == ()
    assert to_head.labels == {"relation": "nsubj", "direction": "to head", "order": "behind"}
    assert word(to_dependent, to_dependent.query) == "met"
    assert [word(to_dependent, span) for span in to_dependent.source] == ["Pilots"]
    assert [word(to_dependent, span) for span in to_dependent.distractors] == ["farmers"]
    assert to_dependent.labels["order"] == "before"
    assert to_dependent.clusters == ("document:doc",)
    assert len({to_head.item_id, to_dependent.item_id}) == 2


def test_a_relation_that_is_not_there_is_an_error(path):
    with pytest.raises(ValueError) as error:
        read_dependencies(path, "iobj")
    assert str(error.value) == (
        "one.conllu has no word in the relation 'iobj'; give a relation of Universal Dependencies, "
        "such as nsubj or obj."
    )
