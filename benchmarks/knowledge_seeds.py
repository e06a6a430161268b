"""Effect of knowledge on F1: `tf` and `tf-knowledge` from several seeds, beside the paper's figures.

Run as `python benchmarks/knowledge_seeds.py CORPUS RUNS`. Training stops by the corpus's validation part,
and its test part alone is reported. Each seed trains and answers with both models before the next begins;
the same command goes on where it was stopped, with more --epochs, too. With --lessons (a folder made by
`python -m chatbots topical-chat lessons`) both first learn to say its texts again, one with them beside and
the other without, and begin their conversations with those weights. Prints JSON: of every model perplexity,
F1 and distinct n-grams by seed and their means, and what knowledge changes within a seed.
"""

import argparse
import json
import os
from contextlib import redirect_stdout
from io import StringIO
from pathlib import Path
from statistics import mean
from typing import Any

os.environ.setdefault("OMP_NUM_THREADS", "1")

from chatbots.knowledge.cli import main as topical_chat
from chatbots.knowledge.evaluation import PUBLISHED_NOTE, TABLE_3
from evaluation.commands.generation import figures, read_generated

NAMES = {"": "TF", "-knowledge": "TF w/ k."}
FIGURES = ("perplexity", "f1", "distinct_1", "distinct_2")


def trained(options: argparse.Namespace, kind: str, seed: int) -> Path:
    """Train a model as far as the options say, and write its responses; returns their file."""
    preset = options.preset + kind
    run: Path = options.runs / f"{preset}-{seed}"
    told = [f"--corpus={options.corpus}", f"--seed={seed}"]
    said = run / f"responses-{options.epochs}.jsonl"
    if not said.exists():
        training = [f"--preset={preset}", *_training(options)]
        begun = [f"--initial={_schooled(options, training, preset, seed)}"] if options.lessons else []
        _run(["train", *told, *training, *begun, f"--epochs={options.epochs}", f"--output={run}"])
        decoding = [f"--checkpoint={run / 'best'}", f"--responses={options.responses}"]
        report = _run(["evaluate", *told, *decoding, f"--output={said}", f"--name={NAMES[kind]}"])
        (run / "report.json").write_text(report)
    return said


def _training(options: argparse.Namespace) -> list[str]:
    dropout = [] if options.dropout is None else [f"--dropout={options.dropout}"]
    rate = [f"--optimizer={options.optimizer}", f"--learning-rate={options.learning_rate}"]
    return [*rate, f"--clip={options.clip}", "--checkpoint-every=200", *dropout]


def _schooled(options: argparse.Namespace, training: list[str], preset: str, seed: int) -> Path:
    """The weights after one pass over the lessons."""
    run: Path = options.runs / f"{preset}-{seed}-lessons"
    _run(
        ["train", f"--corpus={options.lessons}", f"--seed={seed}", *training, "--epochs=1", f"--output={run}"]
    )
    return run / "best"


def _run(arguments: list[str]) -> str:
    with redirect_stdout(StringIO()) as printed:
        if topical_chat(arguments):
            raise SystemExit(2)
    return printed.getvalue()


def by_seed(files: list[Path]) -> dict[str, Any]:
    """The figures of both models from one seed, and how much knowledge changes each."""
    found = figures({name: rows for file in files for name, rows in read_generated(file).items()})
    systems = {
        name: {figure: float(of[figure].get("per_response", of[figure])["value"]) for figure in FIGURES}
        for name, of in found["systems"].items()
    }
    without, with_knowledge = (systems[name] for name in NAMES.values())
    return systems | {"knowledge": {each: with_knowledge[each] - without[each] for each in FIGURES}}


def main() -> None:
    """Train, measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    add = parser.add_argument
    add("corpus", type=Path, help="of `python -m chatbots topical-chat corpus`, with all three parts")
    add("runs", type=Path, help="folder of the runs")
    add("--seeds", type=int, nargs="+", default=[0, 1, 2])
    add("--preset", choices=("tf", "small", "tiny"), default="tf", help="without -knowledge")
    add("--epochs", type=int, default=100, help="at most")
    add("--optimizer", choices=("sgd", "adam"), default="sgd")
    add("--learning-rate", type=float, default=1.0)
    add("--clip", type=float, default=0.1)
    add("--dropout", type=float, help="instead of the preset's")
    add("--lessons", type=Path, help="folder of lessons to begin with")
    add("--responses", type=int, default=1_000, help="of each model, spread evenly over the test part")
    options = parser.parse_args()
    seeds = {seed: by_seed([trained(options, kind, seed) for kind in NAMES]) for seed in options.seeds}
    means = {
        name: {figure: mean(of[name][figure] for of in seeds.values()) for figure in FIGURES}
        for name in (*NAMES.values(), "knowledge")
    }
    told = {"seeds": seeds, "means": means, "published": TABLE_3, "published_note": PUBLISHED_NOTE}
    print(json.dumps(told, indent=1))


if __name__ == "__main__":
    main()
