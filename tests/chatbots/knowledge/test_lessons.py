"""Lessons in reading: what they ask, and that a model learns to read by them."""

import json

import numpy as np
import pytest
import torch

from chatbots.knowledge.cli import main
from chatbots.knowledge.corpus import CorpusSettings, build, load_part, load_sentences, load_vocabulary
from chatbots.knowledge.oracle import NONE
from tests.chatbots.knowledge.quiz import quiz

torch.set_num_threads(1)


@pytest.fixture(scope="module")
def corpus(tmp_path_factory):
    folder, talks = tmp_path_factory.mktemp("quiz"), quiz(24)
    splits = {"train": talks, "validation": [], "test": []}
    build(splits, {each.key: each.reading for each in talks}, folder, CorpusSettings())
    return folder


@pytest.fixture(scope="module")
def lessons(tmp_path_factory, corpus):
    folder = tmp_path_factory.mktemp("lessons")
    assert main(["lessons", f"--corpus={corpus}", f"--output={folder}", "--number=400"]) == 0
    return folder


def texts_of(part):
    return [part.words[begin:end].tolist() for begin, end in zip(part.turns, part.turns[1:], strict=False)]


def test_the_answer_is_the_text_beside_it(corpus, lessons):
    talk, beside = load_part(corpus, "train"), load_sentences(lessons)
    spoken = {tuple(words) for words in texts_of(talk)}
    for name, count in (("train", 400), ("validation", 8)):
        part = load_part(lessons, name)
        assert len(part.conversations) - 1 == count
        for number, (heard, said) in enumerate(zip(*[iter(texts_of(part))] * 2, strict=True)):
            assert tuple(heard) in spoken
            assert part.sentences[2 * number] == NONE
            text = part.sentences[2 * number + 1]
            assert said == beside.words[beside.begins[text] : beside.begins[text + 1]].tolist()


def test_half_are_sentences_and_half_turns_and_some_are_held_out(corpus, lessons):
    sentences = len(load_sentences(corpus).begins) - 1
    said = {name: load_part(lessons, name).sentences[1::2] for name in ("train", "validation")}
    for numbers in said.values():
        assert (numbers < sentences).mean() == 0.5
    assert not set(said["train"]) & set(said["validation"])
    drawn = load_part(corpus, "train").sentences
    assert set(said["train"][said["train"] < sentences]) <= set(np.unique(drawn[drawn != NONE]))


def test_the_same_seed_makes_the_same_lessons(tmp_path, capsys, corpus, lessons):
    for seed, same in ((0, True), (1, False)):
        folder = tmp_path / str(seed)
        main(["lessons", f"--corpus={corpus}", f"--output={folder}", "--number=400", f"--seed={seed}"])
        said = load_part(folder, "train").sentences
        assert np.array_equal(said, load_part(lessons, "train").sentences) == same
    drawn = load_part(corpus, "train").sentences
    made = json.loads(capsys.readouterr().out.split("}\n")[0] + "}")
    assert made == {"lessons": 400, "sentences": len(np.unique(drawn[drawn != NONE])) - 1, "turns": 141}


def test_who_reads_learns_what_nobody_can_guess(tmp_path, capsys, lessons):
    """Without the sentence no model can know which of them is to be said."""
    found = {}
    for preset in ("tiny", "tiny-knowledge"):
        common = [f"--preset={preset}", "--optimizer=adam", "--learning-rate=0.01", "--clip=1"]
        run = tmp_path / preset
        assert main(["train", f"--corpus={lessons}", f"--output={run}", "--epochs=12", *common]) == 0
        last = (run / "validation.csv").read_text().splitlines()[-1]
        found[preset] = float(last.split(",")[2])
    assert found["tiny-knowledge"] < 0.8 * found["tiny"]


def test_lessons_begin_a_run_on_conversations(tmp_path, corpus, lessons):
    assert load_vocabulary(lessons).to_json() == load_vocabulary(corpus).to_json()
    talks = quiz(30)
    splits = {"train": talks[:24], "validation": talks[24:], "test": []}
    whole = tmp_path / "whole"
    build(splits, {each.key: each.reading for each in talks}, whole, CorpusSettings())
    common = ["--preset=tiny-knowledge", "--optimizer=adam", "--learning-rate=0.01", "--clip=1", "--epochs=1"]
    assert main(["train", f"--corpus={lessons}", f"--output={tmp_path / 'first'}", *common]) == 0
    begun = [f"--initial={tmp_path / 'first' / 'best'}", f"--output={tmp_path / 'run'}"]
    assert main(["train", f"--corpus={whole}", *begun, *common]) == 0


def test_a_corpus_without_sentences_is_refused(tmp_path, capsys):
    talks = quiz(4)
    plain = [type(each)(each.key, each.configuration, each.turns) for each in talks]
    build({"train": plain, "validation": [], "test": []}, {}, tmp_path / "corpus", CorpusSettings())
    assert main(["lessons", f"--corpus={tmp_path / 'corpus'}", f"--output={tmp_path / 'lessons'}"]) == 2
    assert "fewer than two sentences" in capsys.readouterr().err
    assert not (tmp_path / "lessons").exists()
