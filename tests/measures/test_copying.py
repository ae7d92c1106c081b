"""Circuits and copying: on weights whose answer is known, and against the weights by name."""

import pytest
import torch

from interp.measures.circuits import circuits, copying_sign, ov_circuit
from interp.measures.copying import (
    eigenvalue_copying,
    empirical_copying,
    name_copying,
    raised_share,
)
from interp.models import load
from interp.models.embedding import effective_embedding, embedding
from interp.models.head_maps import head_maps
from interp.models.undefined import UndefinedError
from interp.planted import build
from tests.measures.conftest import ADDING, OTHERS
from tests.models.conftest import plain_of


@pytest.mark.parametrize("name", ["llama, grouped", "bert", "bert, headless"])
def test_maps_are_the_familys_own_weights(name):
    """Grouped: query head h reads kv head h // group, and not h % n_kv_heads."""
    plain = plain_of(name)
    is_llama = name.startswith("llama")
    for layer, maps in enumerate(head_maps(plain)):
        block = plain.anatomy.layers[layer]
        own = block.self_attn if is_llama else block.attention.self
        weights = (
            (own.q_proj, own.k_proj, own.v_proj) if is_llama else (own.query, own.key, own.value)
        )
        for found, part in zip((maps.query, maps.key, maps.value), weights, strict=True):
            expected = part.weight.T.view(32, -1, 8).transpose(0, 1)
            assert torch.allclose(found, expected, atol=1e-5)
        W_O = block.self_attn.o_proj if is_llama else block.attention.output.dense  # noqa: N806  its name
        group = 2 if is_llama else 1
        for head in range(4):
            value = maps.value[head // group]
            expected = value @ W_O.weight[:, head * 8 : head * 8 + 8].T
            assert torch.allclose(ov_circuit(maps, head), expected, atol=1e-5)


def test_signs_by_hand():
    """A projection writes what it reads, 1; its opposite −1; a quarter turn 0; nothing NaN."""
    read = torch.eye(3)[:, :2]
    assert copying_sign(read, read.T).item() == pytest.approx(1)
    assert copying_sign(read, -read.T).item() == pytest.approx(-1)
    turn = torch.tensor([[0.0, 1.0, 0.0], [-1.0, 0.0, 0.0]])
    assert copying_sign(read, turn).item() == pytest.approx(0, abs=1e-6)
    assert torch.isnan(copying_sign(read, 0 * turn))


@pytest.mark.parametrize("name", [*ADDING, *OTHERS])
def test_circuits_are_those_of_the_whole_matrices(name):
    plain = plain_of(name)
    table, maps = circuits(plain), head_maps(plain)
    assert len(table) == 12
    row = table.query("layer == 1 and head == 2").iloc[0]
    whole = ov_circuit(maps[1], 2)
    sigma = torch.linalg.svdvals(whole)
    eigenvalues = torch.linalg.eigvals(whole.double())
    assert row["ov_norm"] == pytest.approx(whole.norm().item(), rel=1e-4)
    assert row["ov_rank"] == pytest.approx((sigma.sum() ** 2 / (sigma**2).sum()).item(), rel=1e-3)
    expected = (eigenvalues.real.sum() / eigenvalues.abs().sum()).item()
    assert row["ov_sign"] == pytest.approx(expected, abs=1e-3)
    if name in ("qwen3", "cohere", "olmo2"):  # queries and keys are normed: no bilinear form
        assert (maps[1].query is None) == bool(table["qk_norm"].isna().all())
    else:
        whole = maps[1].scale * maps[1].query[2] @ maps[1].head_key[2].T
        assert row["qk_norm"] == pytest.approx(whole.norm().item(), rel=1e-4)


@pytest.fixture(scope="module")
def copier():
    """The planted induction model: its head L1H0 copies, all others write no word."""
    model = load("planted/induction")
    (batch,) = model.encode(build("induction").items)
    return model, batch


def test_the_planted_copier_copies(copier):
    """Its way from words to logits is the identity: eigenvalues 1, so 1 by the definition."""
    model, _ = copier
    found = eigenvalue_copying(model.plain, effective=False)
    assert found[1, 0].item() == pytest.approx(1.0, abs=1e-3)
    others = torch.cat([found[0], found[1, 1:]])
    assert not (others > 0.5).any()


def test_raises_by_hand():
    """Raises 3 and 1, attended 3: 4 · 3 / (3 + 4) − 1; alone raised: 1; nothing raised: no row."""
    pattern = torch.tensor([[[[0.7, 0.3], [0.9, 0.1]]]])
    raises = torch.tensor([[[[3.0, 1.0], [2.0, 0.0]]]])
    assert raised_share(pattern, raises).item() == pytest.approx((12 / 7 - 1 + 1) / 2)
    raises[..., 1, :] = 0
    assert raised_share(pattern, raises).item() == pytest.approx(12 / 7 - 1)


def test_empirical_copying_is_that_of_the_heads_whole_logits():
    """Another route: each head's output through its columns, all logits, place by place."""
    plain = plain_of("llama, grouped")
    ids = torch.tensor([[1, 5, 9, 14, 22, 30]])
    z, patterns = [], []

    def read(layer, name, tensor):
        if name in ("z", "pattern"):
            (z if name == "z" else patterns).append(tensor)
        return tensor

    with torch.inference_mode(), plain.hooked(read):
        plain(ids)
    module, found = plain.module, empirical_copying(plain, ids, 1)
    for layer, head in ((0, 1), (2, 3)):
        W_O = module.model.layers[layer].self_attn.o_proj.weight[:, head * 8 : head * 8 + 8]  # noqa: N806  its name
        shares = []
        for place in range(1, 6):
            written = module.model.norm.weight * (W_O @ z[layer][0, head, place])
            logits = module.lm_head.weight @ written
            raises = (logits - logits.mean()).relu()[ids[0, 1:]]
            raised = raises[patterns[layer][0, head, place, 1:].argmax()]
            shares.append(4 * raised / (raised + raises.sum()) - 1)
        expected = torch.stack(shares).nanmean().item()
        assert found[0, layer, head].item() == pytest.approx(expected, abs=1e-4)


def test_names_that_a_head_would_say(copier):
    """Behind the first layer a word is still itself; the copier says it among the five best."""
    model, batch = copier
    found = name_copying(model.plain, [batch])
    assert found[:, 1, 0].mean() == 1.0
    lowered = name_copying(model.plain, [batch], sign=-1)
    assert lowered[:, 1, 0].mean() == 0.0


def test_without_a_name_for_an_answer_it_says_so(copier):
    from dataclasses import replace

    model, batch = copier
    nowhere = replace(batch, source=torch.zeros_like(batch.source))
    with pytest.raises(UndefinedError) as error:
        name_copying(model.plain, [nowhere])
    assert str(error.value) == (
        "no item has its answer, as one token, for a source, so there is no name to copy; give "
        "items of coreference whose answer is a name."
    )


def test_an_encoder_says_why_it_has_no_copying():
    with pytest.raises(UndefinedError) as error:
        eigenvalue_copying(plain_of("bert, headless"), effective=False)
    assert str(error.value) == (
        "BertModel has no linear map from its states to a vocabulary, so what a head copies is not "
        "seen in logits."
    )


def test_a_narrow_embedding_says_so():
    with pytest.raises(UndefinedError) as error:
        embedding(plain_of("electra"), 32)
    assert str(error.value) == (
        "the embeddings of ElectraForMaskedLM are 16 wide and its residual stream 32, so a token "
        "has no direction in the stream."
    )


def test_the_effective_embedding_is_a_forward_with_the_heads_silent():
    """Another route: the family's own MLP on its own embedding."""
    plain = plain_of("llama, grouped")
    block, table = plain.module.model.layers[0], plain.module.model.embed_tokens.weight
    with torch.inference_mode():
        expected = table + block.mlp(block.post_attention_layernorm(table))
    assert torch.allclose(effective_embedding(plain), expected, atol=1e-5)


def test_eigenvalue_copying_is_that_of_the_matrix_over_the_vocabulary():
    """The published form, vocab × vocab, with the gains of both norms."""
    plain = plain_of("llama, grouped")
    module = plain.module
    block, head = module.model.layers[1], 3
    read = module.model.embed_tokens.weight * block.input_layernorm.weight
    write = module.model.norm.weight[:, None] * module.lm_head.weight.T
    whole = (read @ ov_circuit(head_maps(plain)[1], head) @ write).double()
    eigenvalues = torch.linalg.eigvals(whole)
    expected = (eigenvalues.real.sum() / eigenvalues.abs().sum()).item()
    found = eigenvalue_copying(plain, effective=False)[1, head].item()
    assert found == pytest.approx(expected, abs=1e-3)
