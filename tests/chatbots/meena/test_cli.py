"""The commands as typed, from files of messages to the perplexity of a trained model."""

import json
import os
import subprocess
import sys

import pytest
import torch

from chatbots.meena.cli import main
from chatbots.training.checkpoint import read_weights

torch.set_num_threads(1)  # threads only wait for each other in products this small
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


def test_parts_can_be_built_separately_and_merged(tmp_path, capsys, talk):
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


RUN = ("--corpus", "nowhere", "--output", "x", "--steps", "1")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["perplexity", "--checkpoint", "nowhere", "--data", "x"], "nowhere is not a checkpoint"),
        (["train", "--corpus", "nowhere", "--output", "x", "--steps", "1"], "No such file"),
        (
            ["corpus", "--input", "a", "--output", "{tmp}", "--only", "2/2"],
            "--only 2/2 is not of the form I/N",
        ),
        (["train", *RUN, "--keep", "-1"], "keep=-1 must be at least 0"),
        (["train", *RUN, "--validate-every", "0"], "validate_every=0 must be at least 1"),
        (["train", *RUN, "--learning-rate", "nan"], "learning_rate=nan must be above 0"),
        (["train", *RUN, "--device", "foo"], "device=foo cannot be used: "),
        (
            ["perplexity", "--checkpoint", "x", "--data", "x", "--device", "foo"],
            "device=foo cannot be used: ",
        ),
        (["perplexity", "--checkpoint", "x", "--data", "x", "--positions", "0"], "positions=0 must be"),
        (["corpus", "--input", "a", "--output", "{tmp}", "--heldout", "1"], "heldout=1.0 must be"),
        (["corpus", "--input", "a", "--output", "{tmp}", "--workers", "0"], "workers=0 must be"),
        (["corpus", "--input", "a", "--output", "{tmp}", "--vocabulary", "70000"], "at most 65,536"),
        (["corpus", "--input", "a.gz", "b/a", "--output", "{tmp}"], "Several input files are called a"),
    ],
)
def test_mistakes_are_one_line(capsys, tmp_path, arguments, message):
    assert main([argument.format(tmp=tmp_path / "out") for argument in arguments]) == 2
    error = capsys.readouterr().err
    *_, error = error.splitlines()  # before it, perhaps, in which precision it was to train
    assert error.startswith("meena: ")
    assert message in error
    assert "Traceback" not in error


def test_the_package_and_its_command_line_load_without_torch():
    code = "import sys, chatbots.meena, chatbots.meena.cli; sys.exit('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


@pytest.mark.parametrize(
    ("precision", "told", "warned"),
    [([], "fp32", False), (["--precision", "bf16"], "bf16", True)],
)
def test_training_says_its_precision_and_warns_of_a_slow_one(precision, told, warned):
    code = "import sys; from chatbots.meena.cli import main; sys.exit(main(sys.argv[1:]))"
    done = subprocess.run(
        [sys.executable, "-c", code, "train", *RUN, *precision],
        env=os.environ | {"ONEDNN_MAX_CPU_ISA": "AVX2"},
        capture_output=True,
        text=True,
        check=False,
    )
    first, *others = done.stderr.splitlines()
    assert first == f"meena: training in {told} on cpu."
    assert any("warning: cpu does not multiply bf16" in line for line in others) is warned
    assert "No such file" in others[-1]
