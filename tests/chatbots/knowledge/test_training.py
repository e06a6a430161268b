"""The training loop: what is learnt, when it ends, and going on after a kill."""

import csv
import os
import signal
import subprocess
import sys

import numpy as np
import pytest
import torch

from chatbots.knowledge.batching import Batches, collate
from chatbots.knowledge.config import TopicalChatConfig
from chatbots.knowledge.corpus import (
    CorpusSettings,
    Part,
    Sentences,
    build,
    load_part,
    load_sentences,
    load_vocabulary,
)
from chatbots.knowledge.model import load_checkpoint
from chatbots.knowledge.oracle import NONE
from chatbots.knowledge.responder import DecodingSettings, replies
from chatbots.knowledge.training import Initial, Trainer, TrainingSettings
from chatbots.training.checkpoint import CheckpointError, read_weights
from chatbots.training.running import TrainingDivergedError
from chatbots.training.vocabulary import Vocabulary
from tests.chatbots.knowledge.quiz import PLACES, quiz

torch.set_num_threads(1)


def make_corpus(folder, number=24):
    talks = quiz(number + 12)
    splits = {"train": talks[:number], "validation": talks[number : number + 6], "test": talks[number + 6 :]}
    sets = {each.key: each.reading for each in talks}
    return build(splits, sets, folder, CorpusSettings())


@pytest.fixture(scope="module")
def corpus(tmp_path_factory):
    folder = tmp_path_factory.mktemp("quiz")
    make_corpus(folder)
    return folder


def trainer(run, corpus, knowledge=True, initial=None, dropped=0.1, size=16, **changes):
    vocabulary, sentences = load_vocabulary(corpus), load_sentences(corpus)
    config = TopicalChatConfig(
        knowledge=knowledge, vocabulary_size=len(vocabulary), hidden_size=size, feed_forward=size,
        dropout=dropped, response_length=12,
    )  # fmt: skip
    settings = {"epochs": 2, "optimizer": "adam", "learning_rate": 0.01, "clip": 1.0, "checkpoint_every": 3}
    return Trainer(
        run,
        config=config,
        vocabulary=vocabulary,
        settings=TrainingSettings(**settings | changes),
        train=Batches(load_part(corpus, "train"), sentences, config, 32),
        validation=Batches(load_part(corpus, "validation"), sentences, config, 32),
        device=torch.device("cpu"),
        initial=initial,
    )


def rows(path):
    with path.open() as file:
        return list(csv.DictReader(file))


def test_the_corpus_has_each_answer_s_sentence(tmp_path):
    report = make_corpus(tmp_path)
    part, sentences, vocabulary = (
        load_part(tmp_path, "train"),
        load_sentences(tmp_path),
        load_vocabulary(tmp_path),
    )

    # Of each conversation's six turns the two answers are told by a sentence; nobody else has read one.
    chosen = [number for number in part.sentences.tolist() if number >= 0]
    assert len(chosen) >= 48
    assert report["train"]["turns_without_reading"] == 72
    assert report["train"]["turns_without_a_sentence"] == 144 - len(chosen)
    assert report["train"]["table"]["all"]["turns"] == 6
    for turn, number in enumerate(part.sentences.tolist()):
        words = part.words[part.turns[turn] : part.turns[turn + 1] - 1]
        if number >= 0:
            read = sentences.words[sentences.begins[number] : sentences.begins[number + 1] - 2]
            assert vocabulary.decode(words).rstrip(".") == vocabulary.decode(read)


def test_only_a_model_with_knowledge_learns_what_was_read(tmp_path):
    # Four conversations, hello and a place; the place is told by the sentence alone.
    vocabulary = Vocabulary(["hello", *PLACES])
    places = [vocabulary.encode(place, length=2) for place in PLACES]
    hello = vocabulary.encode("hello", length=2)
    part = Part(
        words=np.array([word for place in places for word in (*hello, *place)], np.uint16),
        turns=np.arange(0, 17, 2),
        conversations=np.arange(0, 9, 2),
        sentences=np.array([NONE, 0, NONE, 1, NONE, 2, NONE, 3]),
    )
    sentences = Sentences(np.concatenate(places).astype(np.uint16), np.arange(0, 9, 2))

    def lowest(knowledge):
        config = TopicalChatConfig(
            knowledge=knowledge, vocabulary_size=len(vocabulary), hidden_size=16, feed_forward=16, dropout=0.0
        )
        batches = Batches(part, sentences, config, 4)
        settings = TrainingSettings(epochs=40, optimizer="adam", learning_rate=0.03, clip=1.0, stop=40)
        one = Trainer(
            tmp_path / str(knowledge), config=config, vocabulary=vocabulary, settings=settings,
            train=batches, validation=batches, device=torch.device("cpu"),
        )  # fmt: skip
        one.train()
        return min(one.perplexities)

    # One of four places, and the end for certain: without knowledge nobody gets below exp(ln(4) / 2) = 2.
    assert 2 <= lowest(False) < 2.1
    assert lowest(True) < 1.1
    model, vocabulary = load_checkpoint(tmp_path / "True" / "best")
    batch = collate([hello], [places[2]])
    (found,) = replies(model, batch, [0], DecodingSettings(beam=2))
    assert vocabulary.decode(found[0].words) == "Roof"


def test_a_killed_run_resumes_as_if_it_had_not_stopped(tmp_path, corpus):
    trainer(tmp_path / "whole", corpus).train()
    code = """
import os, signal, sys
from pathlib import Path
from tests.chatbots.knowledge.test_training import trainer
one = trainer(Path(sys.argv[1]), Path(sys.argv[2]))
update = one.update
def until_the_sixth(batch):
    if one.step == 5:
        os.kill(os.getpid(), signal.SIGKILL)
    return update(batch)
one.update = until_the_sixth
one.train()
"""
    done = subprocess.run(
        [sys.executable, "-c", code, str(tmp_path / "killed"), str(corpus)], env=os.environ, check=False
    )
    assert done.returncode == -signal.SIGKILL
    assert len(rows(tmp_path / "killed" / "train.csv")) == 5

    trainer(tmp_path / "killed", corpus).train()

    last = sorted(path.name for path in (tmp_path / "whole").glob("step-*"))[-1]
    for name in (last, "best"):
        whole, killed = (read_weights(tmp_path / run / name) for run in ("whole", "killed"))
        assert all(torch.equal(whole[each], killed[each]) for each in whole)
    for log, columns in (("train.csv", ("step", "nats")), ("validation.csv", ("step", "perplexity"))):
        ours, theirs = (rows(tmp_path / run / log) for run in ("whole", "killed"))
        assert [[row[c] for c in columns] for row in ours] == [[row[c] for c in columns] for row in theirs]


def test_the_rate_is_halved_and_training_ends_when_perplexity_falls_no_more():
    settings = TrainingSettings(learning_rate=0.8, patience=3, stop=10, epochs=50)
    falling, flat = [9.0, 8.0, 7.0], [7.5, 7.0, 7.2]
    assert settings.rate([]) == settings.rate(falling) == settings.rate([*falling, *flat[:2]]) == 0.8
    assert settings.rate([*falling, *flat]) == 0.4
    assert settings.rate([*falling, *flat, *flat]) == 0.2
    assert settings.rate([*falling, *flat, 6.0, *flat[:2]]) == 0.4
    assert not settings.ended([*falling, *flat * 3])
    assert settings.ended([*falling, *flat * 3, 7.1])
    assert settings.ended([9.0 - epoch / 100 for epoch in range(50)])
    assert not settings.ended([])


def test_pre_trained_weights_begin_a_run_and_must_fit(tmp_path, corpus):
    first = trainer(tmp_path / "first", corpus, knowledge=False, epochs=1)
    first.train()
    best = tmp_path / "first" / "best"

    second = trainer(tmp_path / "second", corpus, knowledge=True, initial=Initial(best))

    assert all(
        torch.equal(value, second.model.state_dict()[name]) for name, value in read_weights(best).items()
    )
    with pytest.raises(CheckpointError, match="has another shape"):
        trainer(tmp_path / "third", corpus, size=32, initial=Initial(best))
    (best / "vocabulary.json").write_text('["a"]')
    with pytest.raises(CheckpointError, match="another vocabulary"):
        trainer(tmp_path / "fourth", corpus, initial=Initial(best))


def test_a_run_goes_on_with_nothing_but_its_own_settings(tmp_path, corpus):
    trainer(tmp_path, corpus, epochs=1).train()
    with pytest.raises(CheckpointError, match="another configuration"):
        trainer(tmp_path, corpus, knowledge=False)
    with pytest.raises(CheckpointError, match=r"other settings \(before, now\): \{'seed': \(0, 4\)\}"):
        trainer(tmp_path, corpus, seed=4)
    assert trainer(tmp_path, corpus, epochs=2).epoch == 1


def test_a_loss_that_is_not_finite_stops_the_run(tmp_path, corpus):
    one = trainer(tmp_path, corpus)
    with torch.no_grad():
        one.model.embedding.weight[5] = torch.nan
    with pytest.raises(
        TrainingDivergedError, match=r"The loss is nan at step 1\. The last good checkpoint is none"
    ):
        one.train()
    with pytest.raises(ValueError, match=r"learning_rate=0\.0 must be above 0"):
        TrainingSettings(learning_rate=0.0)
