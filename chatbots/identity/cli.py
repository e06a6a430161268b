"""`python -m chatbots identity …`: grammar, sample, recognise, train, predict."""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Iterable, Sequence
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import Any

from chatbots.identity.classifiers import KINDS, SHIPPED, load_classifier
from chatbots.identity.classifiers.base import checked
from chatbots.identity.grammar.notation import ROOTS, Grammar, ebnf, load
from chatbots.identity.grammar.recognition import Recogniser
from chatbots.identity.grammar.sampling import SHARES, Split, by_shares, sample
from chatbots.identity.labels import LABELS, Label
from chatbots.identity.training import (
    Utterance,
    UtteranceError,
    conversation_negatives,
    read_utterances,
    train,
    validated,
)
from chatbots.training.command import Command, run_command

ENOUGH_STRINGS = 100_000
MOST_SAMPLES = 1_000_000


def _add_grammar(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--ebnf", choices=list(ROOTS.values()), help="print the grammar of a root for Lark")


def show_grammar(options: argparse.Namespace) -> None:
    """Print counts by root as JSON, or EBNF."""
    grammar = load()
    if options.ebnf:
        print(ebnf(grammar, options.ebnf), end="")
        return
    counts = {root: _counts(grammar, root) for root in ROOTS.values()}
    total = {"rules": len(grammar.rules), "symbols": len(grammar.symbols())}
    print(json.dumps(total | counts, indent=1))


def _counts(grammar: Grammar, root: str) -> dict[str, int]:
    part = grammar.reachable(root)
    strings: set[str] = set()
    for text in part.strings(root):
        strings.add(text)
        if len(strings) == ENOUGH_STRINGS:
            break
    return {
        "rules": len(part.rules),
        "symbols": len(part.symbols()),
        "derivations": part.derivations(root),
        "different_strings_at_least": len(strings),
    }


def _add_sample(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("--label", choices=list(LABELS), action="append", help="repeat for several; default: all three")
    add("--split", choices=list(Split), action="append", help="repeat for several; default: all three")
    add("--count", type=int, default=100, help="utterances of each label")
    add("--seed", type=int, default=0)
    add("--plain", action="store_true", help="without typos and other variants of words")


def draw(options: argparse.Namespace) -> None:
    """Print utterances as JSON Lines."""
    if not 1 <= options.count <= MOST_SAMPLES:
        raise UtteranceError(f"--count {options.count}: give 1 to {MOST_SAMPLES:,}.")
    splits = [Split(name) for name in options.split or Split]
    total = sum(SHARES[split] for split in splits)
    counts = by_shares(options.count, {split: SHARES[split] / total for split in splits})
    labels = [Label(name) for name in options.label or LABELS]
    drawn = sample(dict.fromkeys(labels, counts), seed=options.seed, with_variants=not options.plain)
    for each in drawn:
        print(json.dumps(asdict(each) | {"source": "grammar"}, ensure_ascii=False))


def _add_recognise(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("text", nargs="*", metavar="TEXT", help="default: the lines of the standard input")


def recognise(options: argparse.Namespace) -> None:
    """Print for each text the labels that derive it, with their categories, as JSON Lines."""
    recogniser = Recogniser()
    for text in options.text or (line.rstrip("\n") for line in sys.stdin):
        print(json.dumps({"text": text, "labels": recogniser.categories(text)}, ensure_ascii=False))


def _add_train(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("--kind", choices=list(KINDS), required=True)
    add("--data", type=Path, nargs="+", default=[], help="CSV or .jsonl with text and label (p, a, n)")
    add(
        "--grammar", type=int, default=0, metavar="N", help="add N utterances of the grammar's training split"
    )
    add("--conversations", type=Path, nargs="+", default=[], help=".jsonl with turns: negatives")
    add("--validation", type=Path, nargs="+", default=[], help="take the guard's threshold from these")
    add("--output", type=Path, required=True, help="folder of the classifier")
    add("--seed", type=int, default=0)
    add("--model", type=Path, help="encoder: folder of the pretrained model")
    add("--epochs", type=int, default=3, help="encoder: times that each text is seen")
    add("--device", default="cpu", help="encoder: cpu or cuda")


def train_one(options: argparse.Namespace) -> None:
    """Train a classifier, write it, and print its training data and threshold."""
    data = read_utterances(options.data, labelled=True) if options.data else []
    data += _of_grammar(options.grammar, Split.TRAIN, options.seed)
    negatives, left_out = conversation_negatives(options.conversations)
    settings: dict[str, Any] = {}
    if options.kind == "encoder":
        settings = {"model": options.model, "epochs": options.epochs, "device": options.device}
    began = time.perf_counter()
    classifier = train(options.kind, data + negatives, seed=options.seed, **settings)
    seconds = time.perf_counter() - began
    if options.validation:
        checks = validated(classifier, read_utterances(options.validation, labelled=True))
    else:
        checks = validated(
            classifier, _of_grammar(max(options.grammar // 5, 300), Split.VALIDATION, options.seed)
        )
    notes = {
        "trained_on": {label: sum(u.label is label for u in data + negatives) for label in LABELS},
        "threshold": checks["threshold"],
        "validation": checks,
    }
    classifier.save(options.output, **notes)
    print(
        json.dumps(notes | {"seconds": round(seconds, 1), "left_out": left_out}, indent=1, ensure_ascii=False)
    )


def _of_grammar(count: int, split: Split, seed: int) -> list[Utterance]:
    """Draw utterances of one split: 40 % positive, 20 % ambiguous, 40 % negative."""
    if not count:
        return []
    shares = {Label.POSITIVE: 0.4, Label.AMBIGUOUS: 0.2, Label.NEGATIVE: 0.4}
    drawn = sample({label: {split: round(share * count)} for label, share in shares.items()}, seed=seed)
    return [Utterance(each.text, each.label, each.category, "grammar") for each in drawn]


def _add_predict(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("files", type=Path, nargs="+", metavar="FILE", help="CSV or .jsonl with text, perhaps with labels")
    add(
        "--model",
        type=Path,
        action="append",
        help="folder of a classifier; repeat for several; default: shipped",
    )


def predict(options: argparse.Namespace) -> None:
    """Print each utterance with its known labels and its probabilities as JSON Lines."""
    utterances = read_utterances(options.files, labelled=False)
    for folder in options.model or [SHIPPED]:
        classifier = load_classifier(folder)
        texts = [each.text for each in utterances]
        began = time.process_time()
        rows = checked(classifier.probabilities(texts), len(texts))
        each_ms = 1_000 * (time.process_time() - began) / len(texts)
        for line in _predictions(str(folder), utterances, rows.tolist(), each_ms):
            print(line)


def _predictions(
    model: str, utterances: Iterable[Utterance], rows: Iterable[Sequence[float]], milliseconds: float
) -> Iterable[str]:
    for utterance, row in zip(utterances, rows, strict=True):
        predicted = {label: round(value, 6) for label, value in zip(LABELS, row, strict=True)}
        fields = {name: value for name, value in asdict(utterance).items() if value}
        fields["text"] = utterance.text
        yield json.dumps(
            fields | predicted | {"model": model, "milliseconds": milliseconds}, ensure_ascii=False
        )


COMMANDS = (
    Command("grammar", "count the grammar's rules, symbols and strings", _add_grammar, show_grammar),
    Command("sample", "draw utterances from the grammar", _add_sample, draw),
    Command("recognise", "say which labels' grammar derives a text", _add_recognise, recognise),
    Command("train", "train a classifier", _add_train, train_one),
    Command("predict", "write a classifier's probabilities of utterances", _add_predict, predict),
)


main = partial(run_command, "identity", __doc__, COMMANDS)
"""Run the command given after `python -m chatbots identity`; see `run_command`."""
