"""What every family's items keep, on both bundled models' tokenizers, and one pair of each."""

import json
import re
import tomllib
from pathlib import Path

import pytest

from interp.items import Corruption, Item
from interp.tasks import build, families
from interp.tasks.frames import Halves, usable_frames
from tests.tasks.conftest import DATA

PHENOMENA = ("agreement", "coreference")
SETS = [
    (family.name, corruption)
    for phenomenon in PHENOMENA
    for family in families(phenomenon)
    if family.name != phenomenon
    for corruption in family.corruptions
]
SAME_ANSWER = {Corruption.DISTRACTOR}
AGREEMENT = tomllib.loads((DATA / "agreement_frames.toml").read_text())
COREFERENCE = tomllib.loads((DATA / "coreference_frames.toml").read_text())

# Words that may stand in the frames of both halves: closed classes, and what asks for a name.
CLOSED = set(
    re.findall(
        "[a-z]+",
        "the a an and at by for from had has he her his in is last my name of on one she so still "
        "that this to very was well when who with we because could not before after as they "
        "someone their called or not as and for",
    )
)


@pytest.fixture(scope="module")
def tokenizers(smollm2):
    from transformers import AutoTokenizer

    from interp.models.names import locate

    folder = locate("minilm-l6").location
    return {"smollm2-135m": smollm2.tokenizer, "minilm-l6": AutoTokenizer.from_pretrained(folder)}


def words(item: Item, spans) -> list[str]:
    return [item.clean_text[start:end] for start, end in spans]


def directions(items):
    return zip(items[0::2], items[1::2], strict=True)


@pytest.mark.parametrize("model", ["smollm2-135m", "minilm-l6"])
@pytest.mark.parametrize(("name", "corruption"), SETS)
def test_a_pair_differs_in_one_token_and_says_what_is_right(name, corruption, model, tokenizers):
    tokenizer = tokenizers[model]
    items = build(name, tokenizer, n_pairs=12, seed=5, corruption=corruption)
    assert len({item.item_id for item in items}) == len(items) == 24
    for a, b in directions(items):
        one, other = (
            tokenizer(i.clean_text, add_special_tokens=False)["input_ids"] for i in (a, b)
        )
        assert len(one) == len(other) <= 32
        assert sum(x != y for x, y in zip(one, other, strict=True)) == 1
        assert (a.clean_text, a.corrupt_text) == (b.corrupt_text, b.clean_text)
        assert (a.pair_id, a.clusters, a.split) == (b.pair_id, b.clusters, b.split)
        assert {a.corruption, b.corruption} == {corruption}
        same = (a.answer_text, a.foil_text) == (b.answer_text, b.foil_text)
        swapped = (a.answer_text, a.foil_text) == (b.foil_text, b.answer_text)
        assert (same, swapped) == (corruption in SAME_ANSWER, corruption not in SAME_ANSWER)
        assert a.source
        assert min(span.start for span in (*a.source, *a.distractors)) > 0
        for relation in (*a.relations, *b.relations):
            assert max(end for _, end in relation.source) <= relation.query.start
        if corruption is Corruption.ROLE_FLIP:
            assert words(a, a.source) == words(b, b.distractors)
            assert words(b, b.source) == words(a, a.distractors)
        else:
            before = [item.clean_text[: item.source[0].start].split() for item in (a, b)]
            assert len(before[0]) == len(before[1])


@pytest.mark.parametrize(("name", "corruption"), SETS)
def test_the_halves_share_no_wording_and_no_word(name, corruption, tokenizer):
    items = build(name, tokenizer, n_pairs=64, seed=2, corruption=corruption)
    halves = [[i for i in items if i.split == s] for s in ("discovery", "confirmation")]
    assert [len(half) for half in halves] == [64, 64]
    templates, lexemes, clusters = (
        [{of_item(item) for item in half} for half in halves]
        for of_item in (
            lambda item: item.template_id,
            lambda item: tuple(sorted(item.lexemes.values())),
            lambda item: item.clusters,
        )
    )
    assert [len(of_half) for of_half in templates] == [2, 2]
    assert not templates[0] & templates[1]
    used = [{word for of_item in of_half for word in of_item} for of_half in lexemes]
    assert not used[0] & used[1]
    for of_half in clusters:
        for way in zip(*of_half, strict=True):
            assert len(set(way)) >= 16


def test_frames_of_the_halves_share_closed_classes_alone():
    for data in (AGREEMENT, COREFERENCE):
        for family in {frame["family"] for frame in data["frames"]}:
            of_half = []
            for split in ("discovery", "confirmation"):
                frames = [
                    frame
                    for frame in data["frames"]
                    if (frame["family"], frame["split"]) == (family, split)
                ]
                texts = [re.sub(r"\{\w+\}", "", frame["text"]) for frame in frames]
                extra = [w for f in frames for w in (*f.get("flip", ()), *f.get("other", ()))]
                of_half.append(set(re.findall("[a-z]+", " ".join([*texts, *extra]).lower())))
            assert of_half[0] & of_half[1] <= CLOSED


def test_lists_of_the_halves_share_no_word():
    lists = [AGREEMENT["nouns"], AGREEMENT["neutral"]]
    lists += [value for value in COREFERENCE.values() if "discovery" in value]
    for of_slot in lists:
        forms = [
            {form for word in half for form in (word if isinstance(word, list) else [word])}
            for half in of_slot.values()
        ]
        assert not forms[0] & forms[1]
        assert all(len(of_slot[half]) == len(set(map(str, of_slot[half]))) for half in of_slot)


@pytest.mark.parametrize(("name", "corruption"), [s for s in SETS if s[0] != "agreement/coord_np"])
def test_agreement_is_in_the_number_of_the_source(name, corruption, tokenizer):
    if not name.startswith("agreement"):
        pytest.skip("not agreement")
    singular, plural = (
        {word[form] for half in AGREEMENT["nouns"].values() for word in half}
        | {verb[form] for verb in AGREEMENT["verbs"]}
        for form in (0, 1)
    )
    neutral = {word for half in AGREEMENT["neutral"].values() for word in half}
    for item in build(name, tokenizer, n_pairs=32, seed=1, corruption=corruption):
        (source,) = words(item, item.source)
        answer, foil = item.answer_text[1:], item.foil_text[1:]
        assert (answer in singular) != (foil in singular)
        if source in neutral:
            assert item.labels["decider"] == "absent"
            source = re.match(r"\w+", item.corrupt_text[item.source[0].start :])[0]
            answer, foil = foil, answer
        assert (source in singular, source in plural) == (answer in singular, answer in plural)
        if item.labels.get("match"):
            (other,) = words(item, item.distractors)
            agrees = (other in singular) == (source in singular)
            assert item.labels["match"] == ("match" if agrees else "mismatch")


@pytest.mark.parametrize("model", ["smollm2-135m", "minilm-l6"])
@pytest.mark.parametrize("distance", [4, 8, 16])
def test_a_verb_is_as_far_from_its_subject_as_the_name_says(distance, model, tokenizers):
    """In tokens from the noun to the last before the verb, and no noun or verb stands there."""
    tokenizer = tokenizers[model]
    inflected = {
        form
        for words in (*AGREEMENT["nouns"].values(), AGREEMENT["verbs"])
        for w in words
        for form in w
    }
    items = build(f"agreement/dist-{distance}", tokenizer, n_pairs=64, seed=0)
    for item in items:
        up_to, behind = (
            item.clean_text[: item.source[0].end],
            item.clean_text[item.source[0].end :],
        )
        n_tokens = [
            len(tokenizer(text, add_special_tokens=False).input_ids)
            for text in (up_to, item.clean_text)
        ]
        assert n_tokens[1] - n_tokens[0] == distance
        assert not inflected & set(re.findall("[a-z]+", behind))
    assert len({item.template_id for item in items}) == 4


@pytest.mark.parametrize(
    "name", ["coreference/pronoun", "coreference/cause", "coreference/reflexive"]
)
def test_a_pronoun_has_the_gender_of_its_source(name, tokenizer):
    men = {name for half in COREFERENCE["men"].values() for name in half}
    for item in build(name, tokenizer, n_pairs=32, seed=1, corruption=Corruption.FEATURE_FLIP):
        (source,) = words(item, item.source)
        assert (source in men) == (item.answer_text in {" he", " himself"})


# Read by eye, one pair of each family: both texts, answer and foil of the first, both sources.
_FILE = Path(__file__).parent / "first_pairs.jsonl"
FIRST_PAIRS = [json.loads(line) for line in _FILE.read_text(encoding="utf-8").splitlines()]


@pytest.mark.parametrize("pair", FIRST_PAIRS, ids=lambda pair: pair["family"])
def test_the_first_pair_reads_as_written(pair, tokenizers):
    corruption = Corruption(pair["corruption"])
    tokenizer = tokenizers["smollm2-135m"]
    one, other = build(pair["family"], tokenizer, n_pairs=4, seed=1, corruption=corruption)[:2]
    assert (one.clean_text, one.corrupt_text) == (pair["clean"], pair["corrupt"])
    assert [one.answer_text, one.foil_text] == [f" {w}" for w in pair["answers"].split("/")]
    assert " ".join(words(one, one.source)) == pair["source"]
    assert " ".join(words(other, other.source)) == pair["corrupt_source"]


def test_each_family_has_a_pair_read():
    assert {pair["family"] for pair in FIRST_PAIRS} == {name for name, _ in SETS}


def test_every_edge_to_a_name_is_declared(tokenizer):
    items = build("coreference/name", tokenizer, n_pairs=8, seed=0)
    pronouns = {"He", "She", "His", "Her"}
    for item in items:
        (relation,) = item.relations
        assert relation.name == "antecedent"
        assert item.clean_text[slice(*relation.query)] in pronouns
        assert relation.source == item.source
    for item in build("coreference/transfer", tokenizer, n_pairs=8, seed=0):
        (relation,) = item.relations
        assert words(item, [relation.query]) == words(item, relation.source)
        assert relation.source == item.distractors  # who gives does not receive
    for item in build("coreference/binding", tokenizer, n_pairs=8, seed=0):
        (relation,) = item.relations
        assert words(item, [relation.query]) == words(item, relation.source)


@pytest.mark.parametrize("name", ["coreference/name", "coreference/transfer"])
def test_where_the_decider_is_absent_no_edge_is_declared(name, tokenizer):
    for a, b in directions(
        build(name, tokenizer, n_pairs=8, seed=0, corruption=Corruption.REMOVAL)
    ):
        assert (a.labels["decider"], b.labels["decider"]) == ("present", "absent")
        assert a.relations
        assert not b.relations
        assert a.source == b.source


def test_a_corruption_that_a_family_has_not_is_refused(tokenizer):
    message = (
        '"agreement/obj_rel" can be corrupted by feature_flip, distractor, removal, '
        'got "role_flip".'
    )
    with pytest.raises(ValueError, match=f"^{re.escape(message)}$"):
        build("agreement/obj_rel", tokenizer, n_pairs=2, seed=0, corruption=Corruption.ROLE_FLIP)


def test_too_few_words_in_a_half_name_the_half_and_the_words(poor_tokenizer):
    halves = Halves[str](discovery=("farmer", "poet"), confirmation=("doctor", "pilot", "judge"))
    assert halves.usable("discovery", poor_tokenizer, slot="nouns", at_least=2) == [
        "farmer",
        "poet",
    ]
    message = (
        'the slot "nouns, confirmation" needs 8 lexemes that are one token each, and this '
        "tokenizer leaves 2; lost: doctor; add words to the lexicon or take another tokenizer."
    )
    with pytest.raises(ValueError, match=f"^{re.escape(message)}$"):
        halves.usable("confirmation", poor_tokenizer, slot="nouns")


def test_frames_whose_words_are_cut_are_left_out(tokenizer):
    from interp.tasks.frames import Frame

    frames = [
        Frame(family="f", id=word, split="discovery", text="The {flip}", flip=("knew", word))
        for word in ("said", "thought", "hypothesised")
    ]
    assert [frame.id for frame in usable_frames(frames, "f", "discovery", tokenizer)] == [
        "said",
        "thought",
    ]
    message = (
        'the slot "f, discovery" needs 4 lexemes that are one token each, and this tokenizer '
        "leaves 3; lost: hypothesised; add words to the lexicon or take another tokenizer."
    )
    with pytest.raises(ValueError, match=f"^{re.escape(message)}$"):
        usable_frames(frames[1:], "f", "discovery", tokenizer)
