import re
from pathlib import Path

import numpy as np
import pytest
import torch

from chatbots.meena.config import PRESETS, MeenaConfig, preset
from chatbots.meena.model import PADDING, Meena, count_parameters, pad_tokens

ARCHITECTURES = ("evolved", "vanilla")


def tiny(architecture, **changes):
    torch.manual_seed(3)
    sizes = {"hidden_size": 32, "heads": 2, "decoder_blocks": 2, "vocabulary_size": 50}
    return Meena(MeenaConfig(architecture=architecture, **sizes | changes)).eval()


def tokens(*shape):
    return torch.randint(1, 50, shape)


def test_the_2_6b_model_has_the_papers_parameters():
    # EVOLVED_TRANSFORMER's table, vocabulary 8,192
    counts = count_parameters(preset("meena-2.6b"))
    assert counts["encoder_block"] == 141_066_240
    assert counts["decoder_block"] == 186_937_600
    assert counts["total"] == 2_592_236_800


@pytest.mark.parametrize(
    ("hidden_size", "decoder_blocks", "encoder_block", "decoder_block", "total"),
    [(512, 6, 5_668_864, 7_503_104, 54_883_840), (256, 4, 1_425_408, 1_883_776, 11_058_688)],
)
def test_smaller_models_have_the_specified_parameters(
    hidden_size, decoder_blocks, encoder_block, decoder_block, total
):
    counts = count_parameters(MeenaConfig(hidden_size=hidden_size, heads=8, decoder_blocks=decoder_blocks))
    assert (counts["encoder_block"], counts["decoder_block"]) == (encoder_block, decoder_block)
    assert counts["total"] == total


def test_a_vanilla_layer_has_the_textbook_count():
    # attention 4 d^2 twice, feed-forward 8 d^2 + 5 d, three norms 2 d each, for d = 64
    assert count_parameters(preset("tiny-vanilla"))["decoder_block"] == 16 * 64**2 + 5 * 64 + 6 * 64


def test_the_documentation_lists_every_preset_with_its_parameters():
    page = (Path(__file__).resolve().parents[3] / "docs" / "meena.md").read_text()
    rows = re.findall(r"^\| `([\w.-]+)` \| .* \| ([\d,]+) \|$", page, flags=re.M)
    assert rows == [(name, f"{count_parameters(config)['total']:,}") for name, config in PRESETS.items()]


def test_the_vanilla_sibling_differs_in_blocks_alone():
    evolved, vanilla = preset("meena-2.6b").to_dict(), preset("vanilla-32").to_dict()
    assert {key for key in evolved if evolved[key] != vanilla[key]} == {"architecture", "decoder_blocks"}
    assert vanilla["decoder_blocks"] == 32


def test_an_unknown_preset_lists_those_there_are():
    with pytest.raises(ValueError, match=f"'big'. Presets: {', '.join(PRESETS)}"):
        preset("big")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"hidden_size": 24}, "hidden_size=24 is not a multiple of 16"),
        ({"heads": 0}, "heads=0 must be at least 1"),
        ({"dropout": 1.0}, "dropout=1.0 must be in"),
        ({"architecture": "evolvd"}, "'evolvd' is unknown"),
    ],
)
def test_impossible_configurations_are_refused(change, message):
    with pytest.raises(ValueError, match=message):
        MeenaConfig(**change)


@pytest.mark.parametrize("architecture", ARCHITECTURES)
def test_padding_a_context_changes_nothing(architecture):
    model, context, inputs = tiny(architecture), tokens(1, 9), tokens(1, 12)
    padded = torch.cat([context, torch.full((1, 20), PADDING)], dim=1)
    torch.testing.assert_close(model(padded, inputs), model(context, inputs), atol=1e-5, rtol=1e-5)


@pytest.mark.parametrize("architecture", ARCHITECTURES)
def test_neighbours_in_a_batch_change_nothing(architecture):
    model, contexts, inputs = tiny(architecture), [[5] * 3, [7] * 17], tokens(2, 12)
    together = model(pad_tokens(contexts), inputs)
    for i, context in enumerate(contexts):
        alone = model(pad_tokens([context]), inputs[i : i + 1])[0]
        torch.testing.assert_close(together[i], alone, atol=1e-5, rtol=1e-5)


@pytest.mark.parametrize("architecture", ARCHITECTURES)
def test_a_later_token_changes_no_earlier_score(architecture):
    model, context, inputs = tiny(architecture), tokens(1, 9), tokens(1, 24)
    before = model(context, inputs)
    for position in range(24):
        changed = inputs.clone()
        changed[0, position] = changed[0, position] % 48 + 1
        after = model(context, changed)
        assert torch.equal(after[:, :position], before[:, :position])
        assert not torch.equal(after[:, position], before[:, position])


@pytest.mark.parametrize("architecture", ARCHITECTURES)
def test_every_context_token_reaches_the_response(architecture):
    model, context, inputs = tiny(architecture), tokens(1, 9), tokens(1, 4)
    before = model(context, inputs)
    for position in range(9):
        changed = context.clone()
        changed[0, position] = changed[0, position] % 48 + 1
        assert not torch.equal(model(changed, inputs), before)


@torch.no_grad()
@pytest.mark.parametrize("architecture", ARCHITECTURES)
def test_each_step_equals_the_full_forward(architecture):
    model = tiny(architecture, decoder_blocks=3)
    contexts, inputs = [[4, 9, 2], [7] * 30, [11]], tokens(3, 40)
    full = model(pad_tokens(contexts), inputs)
    state = model.new_state(contexts=3, samples=1)
    model.admit(state, contexts)
    for position in range(40):
        stepped = model.step(inputs[:, position], state)
        torch.testing.assert_close(stepped, full[:, position], atol=1e-4, rtol=0)


@torch.no_grad()
@pytest.mark.parametrize("architecture", ARCHITECTURES)
def test_rows_step_rightly_while_others_join_and_leave(architecture):
    """Random admissions and departures; every row is compared with its own full forward at every step."""
    model, random = tiny(architecture), np.random.default_rng(5)
    state, samples = model.new_state(contexts=4, samples=3), 3
    live = []  # per row: its full forward, its inputs
    for _ in range(60):
        if state.contexts < 4 and random.random() < 0.5:
            context = random.integers(1, 50, random.integers(1, 30)).tolist()
            model.admit(state, [context])
            inputs = tokens(samples, 64)
            full = model(pad_tokens([context] * samples), inputs)
            live += [(full[i], inputs[i]) for i in range(samples)]
        if not live:
            continue
        positions = state.positions.copy()
        now = torch.stack([inputs[at] for (_, inputs), at in zip(live, positions, strict=True)])
        scores = model.step(now, state)
        for (full, _), at, score in zip(live, positions, scores, strict=True):
            torch.testing.assert_close(score, full[at], atol=1e-4, rtol=0)
        leaving = (random.random(len(live)) < 0.1) | (state.positions == 64)
        live = [live[i] for i in state.release_rows(leaving)]
    assert len(set(state.positions.tolist())) > 1  # rows did stand at different positions


def test_admitting_to_a_full_batch_is_refused():
    model = tiny("evolved")
    state = model.new_state(contexts=1, samples=2)
    model.admit(state, [[5]])
    with pytest.raises(RuntimeError, match="All 1 places"):
        model.admit(state, [[6]])


@pytest.mark.parametrize("architecture", ARCHITECTURES)
def test_bf16_stays_close_to_fp32(architecture):
    model, context, inputs = tiny(architecture), tokens(2, 9), tokens(2, 12)
    exact = model(context, inputs)
    rough = model.to(torch.bfloat16)(context, inputs)
    assert rough.dtype == torch.bfloat16
    assert (rough - exact).abs().max() < 0.05 * exact.abs().max()


def test_dropout_acts_in_training_only():
    model, context, inputs = tiny("evolved"), tokens(1, 9), tokens(1, 12)
    assert torch.equal(model(context, inputs), model(context, inputs))
    model.train()
    assert not torch.equal(model(context, inputs), model(context, inputs))
