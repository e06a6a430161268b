"""Packed products: as close as their precision allows, the same for a row in any company."""

import copy

import numpy as np
import pytest
import torch
from torch import nn

from chatbots.meena.acceleration import PackedEmbedding, PackedLinear, can_pack, has_bf16, pack
from chatbots.meena.config import MeenaConfig
from chatbots.meena.model import Meena
from chatbots.meena.sampling import MEENA_BASE, SampleStream, sample_all

torch.set_num_threads(1)  # threads only wait for each other in products this small
pytestmark = pytest.mark.skipif(not can_pack(), reason="this processor or PyTorch has no packed products")


@pytest.fixture(scope="module")
def model():
    torch.manual_seed(2)
    sizes = {"hidden_size": 64, "heads": 4, "decoder_blocks": 2, "vocabulary_size": 300}
    return Meena(MeenaConfig(**sizes, response_length=40)).eval().requires_grad_(False)


@pytest.fixture(scope="module")
def packed(model):
    return pack(copy.deepcopy(model))


def bf16(x):
    """Rounded to 8 bits of mantissa, by cutting a float32 in two."""
    bits = np.asarray(x, dtype=np.float32).view(np.uint32).astype(np.uint64)
    rounded = (bits + 0x7FFF + ((bits >> 16) & 1)) & 0xFFFF0000
    return rounded.astype(np.uint32).view(np.float32).astype(np.float64)


@pytest.mark.skipif(not has_bf16(), reason="this processor has no bf16, or it is hidden")
@pytest.mark.parametrize("rows", [1, 7, 20, 160])
def test_a_product_is_that_of_the_rounded_numbers(rows):
    random = np.random.default_rng(rows)
    x, weight, bias = (random.normal(size=size).astype(np.float32) for size in ((rows, 48), (24, 48), 24))
    layer = PackedLinear(torch.from_numpy(weight), torch.from_numpy(bias), torch.bfloat16)
    found = layer(torch.from_numpy(x))
    exact = bf16(x) @ bf16(weight).T + bf16(bias)
    assert found.dtype == torch.float32
    # the sum, of about 7, is rounded to bf16 once: half a unit of 2^-8 of it at most
    np.testing.assert_allclose(found.numpy(), exact, rtol=2**-8, atol=1e-3)


def test_float32_products_are_those_of_the_plain_layer():
    torch.manual_seed(0)
    plain = nn.Linear(48, 24)
    x = torch.randn(2, 5, 48)
    found = PackedLinear(plain.weight, plain.bias, torch.float32)(x)
    torch.testing.assert_close(found, plain(x), atol=1e-5, rtol=1e-5)


def test_every_dense_layer_is_packed(packed):
    kinds = {type(layer) for layer in packed.modules()}
    assert {PackedLinear, PackedEmbedding} <= kinds
    assert nn.Linear not in kinds


def test_scores_stay_close_to_float32(model, packed):
    given, inputs = torch.randint(5, 300, (3, 9)), torch.randint(5, 300, (3, 12))
    exact, rough = model(given, inputs), packed(given, inputs)
    assert rough.dtype == (torch.bfloat16 if has_bf16() else torch.float32)
    assert (rough - exact).abs().max() < (0.03 if has_bf16() else 1e-4) * exact.abs().max()


def test_a_packed_model_steps_as_it_computes_whole_responses(packed):
    contexts, inputs = torch.randint(5, 300, (2, 9)), torch.randint(5, 300, (2, 20))
    full, state = packed(contexts, inputs), packed.new_state(contexts=2, samples=1)
    packed.admit(state, contexts.tolist())
    for position in range(20):
        stepped = packed.step(inputs[:, position], state)
        torch.testing.assert_close(stepped, full[:, position], atol=0.03, rtol=0)


def test_samples_are_the_same_alone_and_in_any_batch(packed):
    contexts = [[5 + i, 4] * (1 + 3 * (i % 7)) for i in range(9)]
    together = sample_all(packed, contexts, range(9), MEENA_BASE, room=4)
    for seed, (context, samples) in enumerate(zip(contexts, together, strict=True)):
        (alone,) = sample_all(packed, [context], [seed], MEENA_BASE, room=1)
        assert [sample.tokens for sample in alone] == [sample.tokens for sample in samples]


def test_samples_are_the_same_beside_contexts_that_came_earlier(packed):
    stream, done = SampleStream(packed, MEENA_BASE, room=2), {}
    stream.admit([[7, 4]], [1])
    for _ in range(5):
        done |= stream.step()
    (late,) = stream.admit([[5, 6, 4]], [2])
    while late not in done:
        done |= stream.step()
    (alone,) = sample_all(packed, [[5, 6, 4]], [2], MEENA_BASE)
    assert [sample.tokens for sample in done[late]] == [sample.tokens for sample in alone]
