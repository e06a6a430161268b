"""The commands as typed, from files of messages to the perplexity of a trained model."""

import json
import subprocess
import sys

import pytest

from chatbots.meena.checkpoint import read_weights
from chatbots.meena.cli import main

ANSWERS = {
    "cat": "the cat is red",
    "dog": "a dog is big",
    "fish": "fish swim in the sea",
    "bird": "birds fly high",
}


@pytest.fixture
def talk(tmp_path):
    """Two files of little conversations."""
    files = []
    for part in ("one", "two"):
        lines = [
            {"id": f"{part}{i}", "turns": [f"tell me about the {word} {name}", f"{answer} {name}"]}
            for i, name in enumerate(("ann", "bob", "carl", "dora", "emil", "fay", "gus", "hal"))
            for word, answer in ANSWERS.items()
        ]
        path = tmp_path / f"{part}.jsonl"
        path.write_text("\n".join(map(json.dumps, lines)))
        files.append(str(path))
    return files


def run(capsys, *arguments):
    assert main([str(argument) for argument in arguments]) == 0
    return json.loads(capsys.readouterr().out or "null")


def test_describe_prints_the_counts_of_a_preset(capsys):
    found = run(capsys, "describe", "--preset", "meena-2.6b")
    assert found["parameters"] == 2_592_236_800
    parts = found["by_part"]
    assert parts["embedding"] + parts["encoder"] + parts["decoder"] == found["parameters"]


def test_corpus_train_perplexity_and_export_fit_together(tmp_path, capsys, talk):
    corpus, out = tmp_path / "corpus", tmp_path / "run"
    options = ["--vocabulary", 90, "--heldout", 0.2, "--safety", "none"]
    report = run(capsys, "corpus", "--input", *talk, "--output", corpus, *options)
    assert report["train"]["pairs"] + report["heldout"]["pairs"] == 64

    common = ["--corpus", corpus, "--output", out, "--preset", "tiny", "--precision", "fp32", "--steps", 60]
    run(capsys, "train", *common, "--checkpoint-every", 30, "--validate-every", 60, "--positions", 1024)
    checkpoints = sorted(out.glob("step-*"))
    assert [path.name for path in checkpoints] == ["step-0000030", "step-0000060"]

    first, last = (
        run(capsys, "perplexity", "--checkpoint", path, "--data", corpus / "heldout") for path in checkpoints
    )
    assert first["tokens"] == last["tokens"] > report["heldout"]["tokens"] / 2
    assert last["perplexity"] < first["perplexity"] < 90

    run(capsys, "export", "--checkpoint", checkpoints[-1], "--output", tmp_path / "export")
    assert {path.name for path in (tmp_path / "export").iterdir()} == {
        "config.json",
        "model.safetensors",
        "tokenizer.model",
    }
    exported = run(capsys, "perplexity", "--checkpoint", tmp_path / "export", "--data", corpus / "heldout")
    assert exported["perplexity"] == pytest.approx(last["perplexity"], rel=0.02)  # bf16
    assert read_weights(tmp_path / "export")["embedding.weight"].dtype.itemsize == 2


def test_parts_can_be_built_apart_and_merged(tmp_path, capsys, talk):
    """As an array job does: each stage for each part, then the next stage."""
    together, apart = tmp_path / "together", tmp_path / "apart"
    options = ["--input", *talk, "--vocabulary", 90, "--safety", "none"]
    report = run(capsys, "corpus", *options, "--output", together)
    for stage in ("scan", "tokenizer", "encode", "merge"):
        for only in (["0/2"], ["1/2"]) if stage in ("scan", "encode") else ([],):
            chosen = ["--only", *only] if only else []
            merged = run(capsys, "corpus", *options, "--output", apart, "--stage", stage, *chosen)
    assert {k: merged[k] for k in ("train", "heldout", "removed")} == {
        k: report[k] for k in ("train", "heldout", "removed")
    }
    for file in ("tokens.u16", "offsets.i64", "parents.i64"):
        one, other = (folder / "train" / "two" / file for folder in (together, apart))
        assert one.read_bytes() == other.read_bytes()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["perplexity", "--checkpoint", "nowhere", "--data", "x"], "nowhere is no checkpoint"),
        (["train", "--corpus", "nowhere", "--output", "x", "--steps", "1"], "No such file"),
        (
            ["corpus", "--input", "a", "--output", "{tmp}", "--only", "2/2"],
            "--only 2/2 is not of the form I/N",
        ),
        (["corpus", "--input", "a.gz", "b/a", "--output", "{tmp}"], "Several input files are called a"),
    ],
)
def test_mistakes_are_one_line(capsys, tmp_path, arguments, message):
    assert main([argument.format(tmp=tmp_path / "out") for argument in arguments]) == 2
    error = capsys.readouterr().err
    assert error.startswith("meena: ")
    assert message in error
    assert error.count("\n") == 1


def test_the_package_and_its_command_line_load_without_torch():
    code = "import sys, chatbots.meena, chatbots.meena.cli; sys.exit('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
