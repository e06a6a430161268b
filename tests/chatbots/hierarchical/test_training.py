"""The training loop, its checkpoints, and what EI teaches."""

import csv
import json
import os
import signal
import subprocess
import sys
from dataclasses import replace

import numpy as np
import pytest
import torch

from chatbots.hierarchical.batching import Batches, collate
from chatbots.hierarchical.corpus import PartBuilder, key_of
from chatbots.hierarchical.distillation import Distilled, TargetFile, TargetsError
from chatbots.hierarchical.model import Losses, load_checkpoint
from chatbots.hierarchical.training import Trainer, TrainingSettings
from chatbots.training.checkpoint import CheckpointError, read_weights
from chatbots.training.running import TrainingDivergedError
from chatbots.training.vocabulary import Vocabulary
from tests.chatbots.hierarchical.tiny import config

torch.set_num_threads(1)
WORDS = ["cat", "dog", "fish", "hi", "red", "big", "wet", "bye"]
FEELS = {"cat": (1, 0, 0), "dog": (0, 1, 0), "fish": (0, 0, 1)}


@pytest.fixture(scope="module")
def vocabulary():
    return Vocabulary(WORDS)


@pytest.fixture(scope="module")
def part(vocabulary):
    """Conversations in which an animal is answered by what it is like."""
    builder, random = PartBuilder(vocabulary, 10), np.random.default_rng(0)
    answers = {"cat": "red red", "dog": "big", "fish": "wet wet wet"}
    for _ in range(60):
        turns = ["hi"]
        for animal in random.choice(list(answers), int(random.integers(1, 4))):
            turns += [f"{animal} {animal}", answers[animal]]
        builder.add(turns)
    return builder.part()


@pytest.fixture(scope="module")
def targets(tmp_path_factory):
    """What a teacher says of all texts there: each animal has a feeling and a meaning of its own."""
    texts = ["hi", "red red", "big", "wet wet wet", *(f"{animal} {animal}" for animal in FEELS)]
    rows = np.array([FEELS.get(text.split()[0], (1 / 3, 1 / 3, 1 / 3)) for text in texts], np.float32)
    path = tmp_path_factory.mktemp("targets") / "targets.npz"
    np.savez(
        path, keys=np.array([key_of(text) for text in texts], np.uint64), emotions=rows, semantics=2 * rows
    )
    return TargetFile(path)


def trainer(run, part, vocabulary, architecture="vhred", targets=None, dropped=0.2, **changes):
    settings = {"steps": 6, "learning_rate": 0.01, "annealing": 4, "checkpoint_every": 2, "validate_every": 3}
    heads = {"emotions": 3, "semantics": 3, "emotion_hidden": 8, "semantic_hidden": 8} if targets else {}
    return Trainer(
        run,
        config=config(architecture, dropout=dropped, word_drop=dropped, utterance_length=10, **heads),
        vocabulary=vocabulary,
        settings=TrainingSettings(**settings | changes),
        train=Batches(part, 8, targets),
        validation=Batches(part, 30),
        device=torch.device("cpu"),
    )


def rows(path):
    return list(csv.DictReader(path.open()))


def test_the_loss_equals_a_calculation_by_hand():
    settings = TrainingSettings(steps=9, annealing=100, emotion_weight=25, semantic_weight=1000)
    losses = Losses(torch.tensor(50.0), torch.tensor(8.0), Distilled(torch.tensor(0.5), torch.tensor(0.02)))

    found = [float(settings.loss(losses, step)) for step in (0, 25, 100, 900)]

    assert found == pytest.approx([50 + 12.5 + 20 + weight * 8 for weight in (0, 0.25, 1, 1)])
    plain = Losses(torch.tensor(50.0), torch.tensor(8.0), Distilled(None, None))
    assert float(replace(settings, annealing=0).loss(plain, 0)) == 58
    assert TrainingSettings(steps=9).rate(5) == 1e-4


def test_an_epoch_has_every_conversation_once_with_its_targets(part, targets):
    batches = Batches(part, 7, targets, seed=3)
    epochs = [list(batches.epoch(number)) for number in (0, 0, 1)]
    words = [[batch.utterances.tolist() for batch in epoch] for epoch in epochs]

    assert words[0] == words[1] != words[2]
    assert sum(len(batch.turns) for batch in epochs[0]) == len(part)
    assert [batch.utterances.tolist() for batch in batches.epoch(0, skip=3)] == words[0][3:]
    for batch in epochs[0]:
        for row, place in enumerate(batch.read.tolist()):
            word = WORDS[int(batch.utterances[place, 0]) - 4]
            assert batch.targets.emotions[row].tolist() == pytest.approx(FEELS.get(word, (1 / 3,) * 3))


def test_a_killed_run_resumes_as_if_it_had_not_stopped(tmp_path, part, vocabulary):
    trainer(tmp_path / "whole", part, vocabulary).train()
    part.save(tmp_path / "part.npz")
    code = """
import os, signal, sys
from pathlib import Path
from chatbots.hierarchical.corpus import Part
from chatbots.training.vocabulary import Vocabulary
from tests.chatbots.hierarchical.test_training import WORDS, trainer
folder = Path(sys.argv[1])
one = trainer(folder / "killed", Part.load(folder / "part.npz"), Vocabulary(WORDS))
update = one.update
def until_the_sixth(batch):
    if one.step == 5:
        os.kill(os.getpid(), signal.SIGKILL)
    return update(batch)
one.update = until_the_sixth
one.train()
"""
    done = subprocess.run([sys.executable, "-c", code, str(tmp_path)], env=os.environ, check=False)
    assert done.returncode == -signal.SIGKILL
    assert len(rows(tmp_path / "killed" / "train.csv")) == 5

    trainer(tmp_path / "killed", part, vocabulary).train()

    whole, killed = (read_weights(tmp_path / name / "step-0000006") for name in ("whole", "killed"))
    assert all(torch.equal(whole[name], killed[name]) for name in whole)
    for log, columns in (("train.csv", ("step", "nats")), ("validation.csv", ("step", "perplexity"))):
        ours, theirs = (rows(tmp_path / name / log) for name in ("whole", "killed"))
        assert [[row[c] for c in columns] for row in ours] == [[row[c] for c in columns] for row in theirs]
    assert sorted(path.name for path in (tmp_path / "killed").glob("step-*")) == [
        "step-0000002",
        "step-0000004",
        "step-0000006",
    ]


QUICKLY = {"steps": 60, "learning_rate": 0.04, "dropped": 0.0, "validate_every": 60, "checkpoint_every": 60}


def unigram_perplexity(part):
    """Of a model that knows how frequent words are, and nothing of what was said."""
    answers = [words for number in range(len(part)) for words in part.conversation(number)[1:]]
    shares = np.bincount(np.concatenate(answers)) / sum(map(len, answers))
    return float(np.exp(-sum(share * np.log(share) for share in shares if share)))


@pytest.mark.parametrize("architecture", ["hred", "vhred", "vhcr"])
def test_training_learns_what_answers_follow(tmp_path, part, vocabulary, architecture):
    one = trainer(tmp_path, part, vocabulary, architecture, **QUICKLY)
    one.train()

    (last,) = rows(tmp_path / "validation.csv")
    assert float(last["perplexity"]) < 0.6 * unigram_perplexity(part)
    model, words = load_checkpoint(tmp_path / "step-0000060")
    assert words.words == vocabulary.words
    batch = collate([part.conversation(0)])
    assert torch.equal(model.encode(batch), one.model.eval().encode(batch).detach())


def test_ei_teaches_the_context_what_the_teachers_know(tmp_path, part, vocabulary, targets):
    weights = {"emotion_weight": 25.0, "semantic_weight": 1_000.0}
    one = trainer(tmp_path, part, vocabulary, targets=targets, **QUICKLY, **weights)
    one.train()

    first, *_, last = rows(tmp_path / "train.csv")
    assert float(last["semantic"]) < 0.3 * float(first["semantic"])
    batch = next(Batches(part, 60, targets).in_order())
    model = one.model.eval()
    said = model.heads.emotions(model.draw(batch, model.encode(batch)).states)
    animals = batch.targets.emotions.max(dim=1).values > 0.9
    told = said[animals].argmax(dim=1) == batch.targets.emotions[animals].argmax(dim=1)
    assert told.float().mean() > 0.9


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"architecture": "hred"}, "has another configuration"),
        ({"learning_rate": 0.02}, r"was trained with other settings \(before, now\): .*learning_rate"),
        ({"annealing": 5}, "annealing"),
    ],
)
def test_a_run_begun_with_other_settings_is_refused(tmp_path, part, vocabulary, changes, message):
    trainer(tmp_path, part, vocabulary, steps=2).train()
    with pytest.raises(CheckpointError, match=message):
        trainer(tmp_path, part, vocabulary, **changes)
    with pytest.raises(CheckpointError, match="was trained with another vocabulary"):
        trainer(tmp_path, part, Vocabulary(WORDS[::-1]))
    assert trainer(tmp_path, part, vocabulary, steps=4).step == 2


def test_a_loss_that_is_not_finite_stops_the_run(tmp_path, part, vocabulary):
    one = trainer(tmp_path, part, vocabulary)
    torch.nn.init.constant_(one.model.output.bias, torch.nan)
    with pytest.raises(
        TrainingDivergedError, match=r"The loss is nan at step 1\. The last good checkpoint is none"
    ):
        one.train()
    assert not (tmp_path / "train.csv").exists()


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"steps": 0}, "steps=0 must be at least 1"),
        ({"semantic_weight": -1.0}, "semantic_weight=-1.0 must be at least 0"),
        ({"learning_rate": 0.0}, "learning_rate=0.0 must be above 0"),
    ],
)
def test_impossible_settings_are_refused(changes, message):
    with pytest.raises(ValueError, match=message):
        TrainingSettings(**{"steps": 1} | changes)


def save_targets(path, **changes):
    arrays = {"keys": np.arange(3, dtype=np.uint64), "emotions": np.full((3, 2), 0.5, np.float32)}
    np.savez(path, **{name: values for name, values in (arrays | changes).items() if values is not None})
    return path


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"emotions": None}, "has neither emotions nor semantics"),
        ({"emotions": np.ones((2, 2))}, r"has emotions of shape \(2, 2\) for 3 texts"),
        ({"emotions": np.ones((3, 2))}, "has emotions that do not sum to 1"),
        ({"semantics": np.full((3, 2), np.nan)}, "has semantics that are not numbers"),
        ({"keys": np.zeros(3, np.uint64)}, "has a text twice"),
        ({"keys": None}, "cannot be read as targets"),
    ],
)
def test_an_invalid_file_of_targets_is_refused(tmp_path, changes, message):
    with pytest.raises(TargetsError, match=f"{message}.*Make it with 'python -m evaluation targets'"):
        TargetFile(save_targets(tmp_path / "targets.npz", **changes))


def test_targets_that_lack_an_utterance_are_refused(tmp_path, part):
    (tmp_path / "no.npz").write_text(json.dumps({}))
    for path in (tmp_path / "no.npz", tmp_path / "absent.npz"):
        with pytest.raises(TargetsError, match="cannot be read as targets"):
            TargetFile(path)
    file = TargetFile(save_targets(tmp_path / "targets.npz"))
    with pytest.raises(
        TargetsError, match=rf"lacks {len(part.keys)} of the corpus's {len(part.keys)} utterances"
    ):
        file.rows_for(part)
