"""Sentences that are parsed because they are made so: the parse is a tree, and the places right."""

import pytest

from interp.tasks.parsed import noun_classes, noun_pairs, parsed_sentences
from interp.tasks.readers.dependencies import dependency_items, read_dependencies

HEAD_OF = {"det": "NOUN", "amod": "NOUN", "case": "NOUN", "nmod": "NOUN", "nsubj": "VERB"}


@pytest.fixture(scope="module")
def sentences():
    return parsed_sentences(60, seed=3)


def test_each_span_reads_its_word(sentences):
    for sentence in sentences:
        for word in sentence.words:
            assert sentence.text[slice(*word.span)] == word.form
        assert "  " not in sentence.text


def test_the_words_of_a_sentence_are_a_tree(sentences):
    for sentence in sentences:
        heads = [word.head for word in sentence.words]
        assert heads.count(None) == 1
        for start in range(len(heads)):
            place, steps = start, 0
            while heads[place] is not None:
                place, steps = heads[place], steps + 1
                assert steps <= len(heads)


def test_relations_join_the_parts_of_speech_that_they_are_for(sentences):
    for sentence in sentences:
        for word in sentence.words:
            if word.relation in HEAD_OF:
                assert sentence.words[word.head].upos == HEAD_OF[word.relation]


def test_no_noun_comes_twice_in_a_sentence_and_all_are_of_a_class(sentences):
    known = {noun for nouns in noun_classes().values() for noun in nouns}
    for sentence in sentences:
        nouns = [word.form.lower() for word in sentence.words if word.upos == "NOUN"]
        assert len(set(nouns)) == len(nouns)
        assert set(nouns) <= known


def test_a_subject_stands_at_changing_distances_from_its_verb(sentences):
    """No fixed offset finds it in more than two thirds of the cases."""
    distances = [
        word.head - place
        for sentence in sentences
        for place, word in enumerate(sentence.words)
        if word.relation == "nsubj"
    ]
    most = max(distances.count(each) for each in set(distances))
    assert most < 2 / 3 * len(distances)


def test_a_seed_gives_the_same_sentences_and_another_gives_others():
    assert parsed_sentences(5, seed=1) == parsed_sentences(5, seed=1)
    assert parsed_sentences(5, seed=1) != parsed_sentences(5, seed=2)


def test_a_longer_set_begins_with_a_shorter_one():
    assert parsed_sentences(9, seed=1)[:4] == parsed_sentences(4, seed=1)


def test_the_same_items_are_read_from_a_treebank_of_the_sentences(sentences, tmp_path):
    """Second route: written as CoNLL-U and read back."""
    path = tmp_path / "generated.conllu"
    blocks = []
    for sentence in sentences:
        lines = [f"# newdoc id = {sentence.document}", f"# sent_id = {sentence.sent_id}"]
        lines.append(f"# text = {sentence.text}")
        for number, word in enumerate(sentence.words, start=1):
            head = 0 if word.head is None else word.head + 1
            columns = [number, word.form, "_", word.upos, "_", "_", head, word.relation, "_", "_"]
            lines.append("\t".join(map(str, columns)))
        blocks.append("\n".join(lines))
    path.write_text("\n\n".join(blocks) + "\n\n")
    assert dependency_items(sentences, "nsubj") == list(read_dependencies(path, "nsubj").items)


def test_every_two_nouns_are_a_pair_in_either_order(sentences):
    pairs = noun_pairs(sentences[:1])
    n_nouns = sum(word.upos == "NOUN" for word in sentences[0].words)
    assert len(pairs) == n_nouns * (n_nouns - 1)
    assert {(pair.query, *pair.source) for pair in pairs} == {
        (*pair.source, pair.query) for pair in pairs
    }
    for pair in pairs:
        assert pair.labels["order"] == ("before" if pair.source[0] < pair.query else "behind")
