"""Learning from another model, beside the pairs."""

import csv
import math
from dataclasses import replace

import numpy as np
import pytest
import torch
from torch.nn.functional import kl_div

from chatbots.meena.cli import main
from chatbots.meena.config import MeenaConfig
from chatbots.meena.corpus.shards import ShardWriter, open_shards
from chatbots.meena.model import PADDING, Meena, save_checkpoint
from chatbots.meena.tokenizer import Tokenizer
from chatbots.meena.training import distillation
from chatbots.meena.training.batching import Batches
from chatbots.meena.training.distillation import Teacher, identity_of, soft_loss
from chatbots.meena.training.loop import Trainer
from chatbots.meena.training.settings import TrainingSettings
from chatbots.training.checkpoint import CheckpointError

torch.set_num_threads(1)
CPU = torch.device("cpu")
SETTINGS = TrainingSettings(
    steps=40, positions=128, learning_rate=0.03, validate_every=40, checkpoint_every=40, teacher_weight=1.0
)


def test_the_loss_is_that_of_a_calculation_by_hand():
    # At T = 2: student (1/4, 3/4), teacher (1/2, 1/2). KL = (ln 2 + ln 2/3) / 2 = ln(4/3) / 2, times T² = 4.
    scores = torch.tensor([[[0.0, 2 * math.log(3)], [5.0, -5.0]]])
    taught = torch.tensor([[[1.0, 1.0], [0.0, 9.0]]])

    found = soft_loss(scores, taught, torch.tensor([[1, PADDING]]), 2.0)

    assert float(found) == pytest.approx(2 * math.log(4 / 3), rel=1e-6)
    assert float(soft_loss(taught, taught, torch.tensor([[1, 1]]), 3.0)) == pytest.approx(0, abs=1e-6)


def test_the_loss_and_its_gradient_are_pytorchs_own(monkeypatch):
    monkeypatch.setattr(distillation, "MOST_ROWS", 4)
    torch.manual_seed(1)
    scores, taught = torch.randn(3, 5, 7, requires_grad=True), torch.randn(3, 5, 7)
    targets = torch.randint(5, 7, (3, 5)).masked_fill(torch.rand(3, 5) < 0.3, PADDING)
    kept = targets != PADDING
    own, told = (each[kept].div(1.5).log_softmax(-1) for each in (scores, taught))
    expected = 1.5**2 * kl_div(own, told, log_target=True, reduction="sum")

    found = soft_loss(scores, taught, targets, 1.5)

    torch.testing.assert_close(found, expected)
    torch.testing.assert_close(*(torch.autograd.grad(loss, scores)[0] for loss in (found, expected)))


# --- training -------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def tokenizer():
    return Tokenizer.train(["I like the red cat", "we hate a big dog"] * 5, vocabulary_size=40)


@pytest.fixture(scope="module")
def config(tokenizer):
    return MeenaConfig(
        hidden_size=16, heads=2, decoder_blocks=1, vocabulary_size=len(tokenizer), dropout=0.0,
        context_length=32, response_length=16,
    )  # fmt: skip


@pytest.fixture(scope="module")
def corpus(tmp_path_factory, tokenizer):
    folder, random = tmp_path_factory.mktemp("corpus"), np.random.default_rng(4)
    for part in ("train", "heldout"):
        with ShardWriter(folder / part / "one") as writer:
            for _ in range(30):
                writer.add([random.integers(5, 40, 4).tolist() for _ in range(3)], [-1, 0, 1])
    (folder / "tokenizer.model").write_bytes(tokenizer.model)
    return folder


@pytest.fixture(scope="module")
def teacher(tmp_path_factory, tokenizer, config):
    """A model of other weights that is sure of what it says."""
    torch.manual_seed(7)
    model, folder = Meena(config), tmp_path_factory.mktemp("teacher") / "model"
    with torch.no_grad():
        model.embedding.weight.mul_(3)
    save_checkpoint(folder, config=config, weights=model.state_dict(), tokenizer=tokenizer)
    return folder


def trainer(run, corpus, config, tokenizer, teacher=None, **changes):
    read = {part: open_shards(corpus / part) for part in ("train", "heldout")}
    told = {"teacher": identity_of(teacher)} if teacher else {}
    return Trainer(
        run, config=config, tokenizer=tokenizer, settings=replace(SETTINGS, **told, **changes), device=CPU,
        train=Batches(read["train"], config, 128), heldout=Batches(read["heldout"], config, 128),
        teacher=Teacher(teacher, config, tokenizer, CPU) if teacher else None,
    )  # fmt: skip


@torch.no_grad()
def divergence(run):
    """KL of the student from its teacher per held-out token."""
    batches = list(run.heldout.in_order())
    total = sum(
        float(soft_loss(run.model(each.contexts, each.inputs), run.teacher.scores(each), each.targets, 1.0))
        for each in batches
    )
    return total / sum(each.tokens for each in batches)


def test_a_few_steps_bring_the_student_nearer_to_its_teacher(tmp_path, corpus, config, tokenizer, teacher):
    run = trainer(tmp_path / "run", corpus, config, tokenizer, teacher)
    before = divergence(run)

    run.train()

    assert divergence(run) < before / 2
    with (tmp_path / "run" / "train.csv").open() as file:
        assert len(list(csv.DictReader(file))) == 40


def test_a_teacher_without_weight_changes_nothing(tmp_path, corpus, config, tokenizer, teacher):
    alone = trainer(tmp_path / "alone", corpus, config, tokenizer, steps=3)
    beside = trainer(tmp_path / "beside", corpus, config, tokenizer, teacher, steps=3, teacher_weight=0.0)

    assert [loss for loss, _ in alone.steps()] == [loss for loss, _ in beside.steps()]


def test_a_run_goes_on_with_its_own_teacher_only(tmp_path, corpus, config, tokenizer, teacher):
    trainer(tmp_path / "run", corpus, config, tokenizer, teacher, steps=2).train()

    with pytest.raises(CheckpointError, match="other settings"):
        trainer(tmp_path / "run", corpus, config, tokenizer, steps=3)


def test_a_teacher_that_does_not_fit_is_refused(config, tokenizer, teacher):
    other = Tokenizer.train(["some other words are here"] * 5, vocabulary_size=40)

    with pytest.raises(CheckpointError, match="another tokenizer than the corpus"):
        Teacher(teacher, config, other, CPU)
    with pytest.raises(CheckpointError, match="Train with --context-length 32 or less"):
        Teacher(teacher, replace(config, context_length=64), tokenizer, CPU)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--teacher-weight", "1.5"], "teacher_weight=1.5 must be from 0 to 1."),
        (["--teacher-temperature", "0"], "teacher_temperature=0.0 must be above 0, and finite."),
        (["--teacher", "nowhere"], "nowhere"),
    ],
)
def test_the_command_line_says_what_is_wrong(tmp_path, corpus, capsys, options, said):
    run = tmp_path / "run"

    assert main(["train", "--corpus", str(corpus), "--output", str(run), "--steps", "1", *options]) == 2

    assert said in capsys.readouterr().err
    assert not run.exists()
