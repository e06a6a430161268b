"""The commands as typed, from published files to figures."""

import json

import pytest
import torch

from chatbots.__main__ import main as chatbots
from chatbots.knowledge.cli import main
from evaluation.__main__ import main as evaluate
from tests.chatbots.knowledge.quiz import quiz, write_files

torch.set_num_threads(1)


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    folder = tmp_path_factory.mktemp("files")
    write_files(folder, quiz(40), "quiz")
    return folder


def run(capsys, *arguments):
    assert main([str(argument) for argument in arguments]) == 0
    return capsys.readouterr().out


def refused(capsys, *arguments):
    assert main([str(argument) for argument in arguments]) == 2
    return capsys.readouterr().err


def test_from_published_files_to_figures(tmp_path, capsys, files):
    reading = files / "quiz-reading.json"
    told = json.loads(
        run(capsys, "split", "--conversations", files / "quiz.json", "--reading-sets", reading,
            "--output", tmp_path, "--share", 0.2)
    )  # fmt: skip
    assert {name: part["conversations"] for name, part in told.items()} == {
        "train": 24, "valid_freq": 4, "valid_rare": 4, "test_freq": 4, "test_rare": 4,
    }  # fmt: skip
    assert told["test_rare"]["entities"]["unseen"] == 0

    corpus = tmp_path / "corpus"
    parts = [tmp_path / f"{name}.json" for name in ("train", "valid_freq", "valid_rare")]
    report = json.loads(
        run(capsys, "corpus", "--train", parts[0], "--validation", parts[1], "--test", parts[2],
            "--reading-sets", reading, "--output", corpus)
    )  # fmt: skip
    assert report["validation"]["table"]["all"]["conversations"] == 4
    assert report["validation"]["entities"]["conversations"] == 4

    common = ["--corpus", corpus, "--optimizer", "adam", "--learning-rate", 0.01, "--clip", 1, "--epochs", 1]
    run(capsys, "train", *common, "--preset", "tiny", "--output", tmp_path / "tf")
    swept = json.loads(
        run(capsys, "sweep", *common, "--preset", "tiny-knowledge", "--output", tmp_path / "sweep",
            "--histories", 4, 16, "--initial", tmp_path / "tf" / "best")
    )  # fmt: skip
    assert set(swept["validation_perplexity"]) == {"4", "16"}
    assert swept["published"]["32"]["perplexity"] == [33.8]

    lines = []
    for name, folder in (("tf", tmp_path / "tf"), ("k", tmp_path / "sweep" / "history-16")):
        output = tmp_path / f"{name}.jsonl"
        found = json.loads(
            run(capsys, "evaluate", "--checkpoint", folder / "best", "--corpus", corpus, "--output", output,
                "--responses", 6, "--beam", 2)
        )  # fmt: skip
        assert (found["turns"], found["responses"]) == (20, 6)
        assert (found["knowledge"] is None) == (name == "tf")
        lines.append(output.read_text())
    both = tmp_path / "both.jsonl"
    both.write_text("".join(lines))
    assert evaluate(["generation", str(both)]) == 0
    figures = json.loads(capsys.readouterr().out)
    assert list(figures["systems"]) == ["TF", "TF w/ k."]
    measured = figures["systems"]["TF w/ k."]
    assert measured["perplexity"]["value"] == pytest.approx(found["perplexity"])
    assert (measured["perplexity"]["responses"], measured["f1"]["responses"]) == (20, 6)

    (corpus / "vocabulary.json").write_text('["a", "b"]')
    said = refused(capsys, "evaluate", "--checkpoint", tmp_path / "tf" / "best", "--corpus", corpus)
    assert "is of another vocabulary than" in said


def test_conversations_without_reading_sets_pre_train(tmp_path, capsys, files):
    talk = tmp_path / "talk.jsonl"
    talk.write_text(
        '{"id": "x", "turns": ["where is the cat?", "at home"]}\n{"turns": [{"text": "hi"}, "ho"]}\n'
    )
    whole, plain = tmp_path / "whole", tmp_path / "plain"
    run(capsys, "corpus", "--train", files / "quiz.json", "--reading-sets", files / "quiz-reading.json",
        "--output", whole)  # fmt: skip

    report = json.loads(run(capsys, "corpus", "--train", talk, "--output", plain, "--vocabulary-of", whole))

    assert report["train"]["table"]["all"]["utterances"] == 4
    assert report["train"]["turns_without_reading"] == 4
    assert (plain / "vocabulary.json").read_bytes() == (whole / "vocabulary.json").read_bytes()
    said = refused(capsys, "train", "--corpus", plain, "--output", tmp_path / "run", "--preset", "tiny")
    assert "turns to validate on" in said


def test_mistakes_are_said_in_a_line(tmp_path, capsys, files):
    assert "cannot be read" in refused(capsys, "train", "--corpus", tmp_path, "--output", tmp_path / "run")
    (tmp_path / "talk.jsonl").write_text('{"turns": ["hi"]}\nnonsense\n')
    said = refused(capsys, "corpus", "--train", tmp_path / "talk.jsonl", "--output", tmp_path / "c")
    assert "talk.jsonl, line 2 is not JSON" in said
    (tmp_path / "talk.jsonl").write_text('{"turns": ["hi"]}\n')
    said = refused(capsys, "corpus", "--train", tmp_path / "talk.jsonl", "--output", tmp_path / "c")
    assert "No conversation for training has two turns" in said


def test_the_command_is_found_by_its_name(capsys):
    assert chatbots(["topical-chat", "describe", "--preset", "tiny"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["parameters"] == sum(found["by_part"].values())
