"""Both attentions, torch and NumPy, give the numbers worked by hand, and each other's anywhere."""

from math import log

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from interp import reference
from interp.attention import attention


def by_torch(query, key, value, *, dtype=torch.float64, **arguments):
    """Scores, pattern and z of one sequence, as arrays, from arguments that are arrays."""
    seen = {}

    def hook(name, tensor):
        seen[name] = tensor[0].double().numpy()
        return tensor

    def tensor(name, array):
        array = torch.from_numpy(array)
        array = array if name == "mask" else array.to(dtype)
        return array if name == "sinks" else array[None]

    inputs = [tensor("", array) for array in (query, key, value)]
    arguments = {
        name: tensor(name, argument) if isinstance(argument, np.ndarray) else argument
        for name, argument in arguments.items()
    }
    attention(*inputs, **arguments, hook=hook)
    return seen


# Scores are [[log 3, 0], [0, log 4]], so that each probability is a simple fraction. Each key's
# value is an axis of its own, 8 and 20 long.
HAND = {
    "W_Q": np.eye(2)[None],
    "W_K": np.diag([log(3), log(4)])[None],
    "W_V": np.diag([8.0, 20.0])[None],
}
CAPPED = [np.e / (np.e + 1), np.exp(1.2) / (np.exp(1.2) + 1)]
HAND_CASES = [
    pytest.param({}, [[3 / 4, 1 / 4], [1 / 5, 4 / 5]], id="plain"),
    pytest.param(
        {"mask": np.array([[[True, False], [True, True]]])}, [[1, 0], [1 / 5, 4 / 5]], id="causal"
    ),
    pytest.param(
        {"mask": np.array([[[False, False], [True, True]]])},
        [[0, 0], [1 / 5, 4 / 5]],
        id="a row without a key",
    ),
    pytest.param(
        # 2 tanh(log(3) / 2) = 1 and 2 tanh(log(4) / 2) = 1.2
        {"softcap": 2.0},
        [[CAPPED[0], 1 - CAPPED[0]], [1 - CAPPED[1], CAPPED[1]]],
        id="soft-cap",
    ),
    pytest.param(
        {"bias": np.array([[[0.0, log(3)], [log(4), 0.0]]])},
        [[1 / 2, 1 / 2], [1 / 2, 1 / 2]],
        id="bias",
    ),
    pytest.param({"sinks": np.array([log(4)])}, [[3 / 8, 1 / 8], [1 / 9, 4 / 9]], id="sink"),
]


@pytest.mark.parametrize(("arguments", "pattern"), HAND_CASES)
def test_two_by_two_by_hand(arguments, pattern):
    z = np.array(pattern) * [8, 20]
    numpy = reference.attention(
        np.eye(2), **HAND, W_O=2 * np.eye(2)[None], b_O=np.ones(2), scale=1.0, **arguments
    )
    np.testing.assert_allclose(numpy.pattern[0], pattern, atol=1e-12)
    np.testing.assert_allclose(numpy.z[0], z, atol=1e-12)
    np.testing.assert_allclose(numpy.out, 2 * z + 1, atol=1e-12)

    query, key, value = HAND["W_Q"], HAND["W_K"], HAND["W_V"]
    seen = by_torch(query, key, value, scale=1.0, **arguments)
    np.testing.assert_allclose(seen["pattern"][0], pattern, atol=1e-12)
    np.testing.assert_allclose(seen["z"][0], z, atol=1e-12)


@st.composite
def problems(draw):
    """A residual stream, weights, and every argument of attention, as arrays."""
    sizes = st.integers(1, 4)
    n_kv = draw(sizes)
    n_heads = n_kv * draw(st.integers(1, 3))
    n_pos, d_model, d_head, d_value = draw(sizes), draw(sizes), draw(sizes), draw(sizes)
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    by_head = (draw(st.sampled_from([1, n_heads])), n_pos, n_pos)
    every_argument = {
        "mask": rng.random(by_head) < draw(st.sampled_from([0.3, 0.7, 0.9])),
        "softcap": draw(st.floats(0.5, 5.0)),
        "bias": rng.normal(size=by_head),
        "sinks": rng.normal(size=n_heads),
    }
    names = draw(st.sets(st.sampled_from(sorted(every_argument))))
    arguments = {name: every_argument[name] for name in names} | {"scale": draw(st.floats(0.1, 3))}
    weights = {
        "W_Q": rng.normal(size=(n_heads, d_model, d_head)),
        "W_K": rng.normal(size=(n_kv, d_model, d_head)),
        "W_V": rng.normal(size=(n_kv, d_model, d_value)),
        "W_O": rng.normal(size=(n_heads, d_value, d_model)),
        "b_Q": rng.normal(size=(n_heads, d_head)),
        "b_K": rng.normal(size=(n_kv, d_head)),
        "b_V": rng.normal(size=(n_kv, d_value)),
    }
    return rng.normal(size=(n_pos, d_model)), weights, arguments


@pytest.mark.parametrize(("dtype", "tolerance"), [(torch.float64, 1e-10), (torch.float32, 1e-5)])
@settings(max_examples=60, deadline=None)
@given(problem=problems())
def test_torch_and_numpy_agree(dtype, tolerance, problem):
    x, weights, arguments = problem
    numpy = reference.attention(x, **weights, **arguments)
    seen = by_torch(numpy.query, numpy.key, numpy.value, dtype=dtype, **arguments)
    for name in ("scores", "pattern", "z"):
        np.testing.assert_allclose(
            seen[name], getattr(numpy, name), atol=tolerance, rtol=tolerance, err_msg=name
        )
