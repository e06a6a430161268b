"""The commands as typed, from a file of conversations to a reply."""

import json
import subprocess
import sys

import pytest
import torch

from chatbots.hierarchical.cli import main
from chatbots.training.checkpoint import read_weights
from evaluation.__main__ import main as evaluate

torch.set_num_threads(1)


@pytest.fixture(scope="module")
def talk(tmp_path_factory):
    path = tmp_path_factory.mktemp("talk") / "talk.jsonl"
    said = [
        {
            "id": f"{name}{word}",
            "turns": [f"hello {name}", f"do you {word}?", "yes, I love it", f"{word} more!"],
        }
        for name in ("ann", "bob", "carl", "dora", "emil", "fay")
        for word in ("run", "swim", "read", "sing")
    ]
    path.write_text("\n".join(map(json.dumps, said)))
    return path


def run(capsys, *arguments):
    assert main([str(argument) for argument in arguments]) == 0
    return capsys.readouterr().out


def test_describe_prints_the_counts_of_a_preset(capsys):
    found = json.loads(run(capsys, "describe", "--preset", "reddit-vhcr-ei"))
    assert found["parameters"] == sum(found["by_part"].values())
    assert found["semantic_weight"] == 100_000
    assert found["config"]["context_size"] == 1250


def test_corpus_targets_train_perplexity_export_and_reply_fit_together(tmp_path, capsys, talk):
    corpus, out, targets = tmp_path / "corpus", tmp_path / "run", tmp_path / "targets.npz"
    options = ["--validation", 0.1, "--test", 0.3, "--safety", "none", "--least-occurrences", 2]
    report = json.loads(run(capsys, "corpus", "--input", talk, "--output", corpus, *options))
    assert report["train"]["conversations"] + report["test"]["conversations"] <= 24

    assert evaluate(["targets", str(talk), "--output", str(targets), "--semantics", "words"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["sizes"]["emotions"] == 3

    common = ["--corpus", corpus, "--output", out, "--preset", "tiny-vhcr-ei", "--targets", targets]
    run(capsys, "train", *common, "--epochs", 4, "--learning-rate", 0.02, "--annealing", 9)
    (checkpoint,) = out.glob("step-*")
    steps = 4 * -(-report["train"]["conversations"] // 8)
    assert checkpoint.name == f"step-{steps:07d}"
    run(capsys, "export", "--checkpoint", checkpoint, "--output", tmp_path / "export")
    assert {path.name for path in (tmp_path / "export").iterdir()} == {
        "config.json",
        "model.safetensors",
        "vocabulary.json",
    }
    assert read_weights(tmp_path / "export")["embedding.weight"].dtype == torch.bfloat16
    first, second, text = (
        json.loads(run(capsys, "perplexity", "--checkpoint", model, "--data", data, "--samples", 5))
        for model, data in (
            (checkpoint, corpus / "test.npz"),
            (tmp_path / "export", corpus / "test.npz"),
            (checkpoint, talk),
        )
    )
    assert 1 < first["perplexity"] == pytest.approx(second["perplexity"], rel=0.05)  # bf16
    assert first["words"] == second["words"] < text["words"]
    assert first["divergence"] > 0

    ablated = tmp_path / "ablated"
    run(capsys, "train", *common, "--output", ablated, "--input-only", "--steps", 2)
    (reads,) = ablated.glob("step-*")
    about = ["perplexity", "--checkpoint", reads, "--data", corpus / "test.npz", "--samples", 2]
    found = json.loads(run(capsys, *about, "--targets", targets))
    assert 1 < found["perplexity"] < 100
    assert main([*map(str, about)]) == 2
    assert "name their file with --targets" in capsys.readouterr().err

    said = [
        run(capsys, "reply", "--checkpoint", tmp_path / "export", "--context", "hello", *choice)
        for choice in ((), ("--choose", "drawn"), ("--choose", "sampled", "--temperature", 0.5, "--seed", 3))
    ]
    assert all(reply.strip() for reply in said)


TRAIN = ["train", "--corpus", "nowhere", "--output", "x"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["perplexity", "--checkpoint", "nowhere", "--data", "x"], "nowhere is not a checkpoint"),
        ([*TRAIN, "--preset", "tiny-vhred-ei"], "name their file with --targets"),
        ([*TRAIN, "--preset", "tiny-vhred", "--targets", "x"], "Take tiny-vhred-ei, or leave --targets out"),
        ([*TRAIN, "--preset", "tiny-vhred", "--input-only"], "Take tiny-vhred-ei."),
        ([*TRAIN, "--preset", "tiny-vhred"], "cannot be read ([Errno 2]"),
        ([*TRAIN, "--steps", "0"], "steps=0 must be at least 1"),
        ([*TRAIN, "--batch", "0"], "batch=0 must be at least 1"),
        ([*TRAIN, "--device", "foo"], "device=foo cannot be used: "),
        (
            ["perplexity", "--checkpoint", "x", "--data", "x", "--samples", "0"],
            "samples=0 must be at least 1",
        ),
        (["reply", "--checkpoint", "x", "--context", "Hi", "--beam", "0"], "beam=0 must be at least 1"),
        (["corpus", "--input", "a", "--output", "x", "--utterances", "1"], "utterances=1 must be at least 2"),
        (["corpus", "--input", "absent", "--output", "x"], "No such file or directory: 'absent'"),
    ],
)
def test_mistakes_are_one_line(capsys, tmp_path, monkeypatch, arguments, message):
    monkeypatch.chdir(tmp_path)
    assert main(arguments) == 2
    (error,) = capsys.readouterr().err.splitlines()
    assert error.startswith("hierarchical: ")
    assert message in error


def test_the_package_and_its_command_line_load_without_torch():
    code = "import sys, chatbots.hierarchical, chatbots.hierarchical.cli; sys.exit('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
