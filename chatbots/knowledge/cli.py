"""`python -m chatbots topical-chat …`: describe, split, corpus, lessons, train, sweep, evaluate."""

from __future__ import annotations

import argparse
import json
from dataclasses import asdict, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from chatbots.knowledge.config import PRESETS, TopicalChatConfig, preset
from chatbots.training.command import (
    Command,
    preset_option,
    print_preset,
    provided_options,
    run_command,
    settings_from,
)
from chatbots.training.settings import check_range

if TYPE_CHECKING:
    from chatbots.knowledge.conversations import ReadingSet

PARTS = ("validation", "test")


def describe(options: argparse.Namespace) -> None:
    """Print a preset and its parameter counts."""
    from chatbots.knowledge.model import count_parameters

    config = preset(options.preset)
    print_preset(options.preset, count_parameters(config), config)


def _add_split(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("--conversations", type=Path, required=True, help="JSON as Topical-Chat publishes it")
    add("--reading-sets", type=Path, nargs="+", required=True, help="theirs, after its build")
    add("--output", type=Path, required=True, help="folder of the parts, a file each")
    add("--share", type=float, default=0.1, help="of conversations that are rare, and that are frequent")
    add("--seed", type=int, default=0)


def split(options: argparse.Namespace) -> None:
    """Write the parts, and print their numbers of conversations and how familiar their entities are."""
    from chatbots.knowledge import splitting
    from chatbots.knowledge.conversations import counts, read_conversations, read_documents, read_reading_sets
    from chatbots.training.files import write_json

    reading_sets = read_reading_sets(options.reading_sets)
    conversations = read_conversations(options.conversations, reading_sets)
    parts = splitting.split(conversations, share=options.share, seed=options.seed)
    documents = read_documents(options.conversations)
    trained = splitting.frequencies(parts["train"])
    report = {}
    for name, part in parts.items():
        write_json(options.output / f"{name}.json", {each.key: documents[each.key] for each in part})
        figures = splitting.familiarity(part, trained)
        report[name] = counts(part).to_dict() | {"entities": asdict(figures) if figures else None}
    print(json.dumps(report, indent=1))


def _add_corpus(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("--train", type=Path, nargs="+", required=True, help="Topical-Chat's JSON, or JSON Lines of turns")
    add("--validation", type=Path, nargs="*", default=[], help="to stop training by")
    add("--test", type=Path, nargs="*", default=[], help="to report; never what training stops by")
    add("--reading-sets", type=Path, nargs="*", default=[], help="all of them; none to pre-train without")
    add("--output", type=Path, required=True, help="folder of the corpus")
    add("--vocabulary", type=int, default=49_957, dest="vocabulary_size", help="most words")
    add("--least-occurrences", type=int, default=1, help="of a word that is known")
    add("--vocabulary-of", type=Path, metavar="CORPUS", help="take the vocabulary of that corpus")


def build_corpus(options: argparse.Namespace) -> None:
    """Build a corpus and print its report."""
    from chatbots.knowledge.conversations import read_conversations, read_reading_sets
    from chatbots.knowledge.corpus import CorpusSettings, build, load_vocabulary
    from chatbots.training.files import SPLITS

    settings = settings_from(options, CorpusSettings)
    reading_sets: dict[str, ReadingSet] = read_reading_sets(options.reading_sets)
    splits = {
        name: [each for path in getattr(options, name) for each in read_conversations(path, reading_sets)]
        for name in SPLITS
    }
    vocabulary = load_vocabulary(options.vocabulary_of) if options.vocabulary_of else None
    print(json.dumps(build(splits, reading_sets, options.output, settings, vocabulary), indent=1))


def _add_lessons(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("--corpus", type=Path, required=True, help="with reading sets")
    add("--output", type=Path, required=True, help="folder of the lessons, a corpus to train on first")
    add("--number", type=int, default=38_400, help="of lessons; a fiftieth is added to validate on")
    add("--seed", type=int, default=0)


def make_lessons(options: argparse.Namespace) -> None:
    """Write lessons and print their numbers."""
    from chatbots.knowledge.lessons import write_lessons

    made = write_lessons(options.corpus, options.output, number=options.number, seed=options.seed)
    print(json.dumps(made, indent=1))


def _add_training(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("--corpus", type=Path, required=True)
    add(
        "--preset", choices=PRESETS, default="tf-knowledge", help="shape; its vocabulary becomes the corpus's"
    )
    add("--initial", type=Path, metavar="CHECKPOINT", help="begin with its weights: pre-training")
    add("--epochs", type=int, default=100, help="at most")
    add("--batch", type=int, default=32, help="turns of a batch")
    add("--optimizer", choices=("sgd", "adam"), default="sgd")
    add("--learning-rate", type=float, default=1.0, help="of Adam, 0.001 is usual")
    add("--patience", type=int, default=3, help="epochs without progress until the rate is halved")
    add("--stop", type=int, default=10, help="epochs without progress until the end")
    add("--clip", type=float, default=0.1, help="most norm of the gradient; 0 for none")
    add("--dropout", type=float, help="instead of the preset's")
    add("--seed", type=int, default=0)
    add("--checkpoint-every", type=int, default=1_000, help="steps")
    add("--keep", type=int, default=2, help="newest checkpoints kept")
    add("--device", default="cpu")


def _add_train(parser: argparse.ArgumentParser) -> None:
    _add_training(parser)
    parser.add_argument("--output", type=Path, required=True, help="folder of logs and checkpoints")
    parser.add_argument("--history", type=int, help="W_H, words of history, instead of the preset's 32")


def train(options: argparse.Namespace) -> None:
    """Train a model."""
    run_training(options, options.output, options.history)


def run_training(options: argparse.Namespace, output: Path, history: int | None) -> float:
    """Train with this many words of history; return the lowest perplexity on the validation turns."""
    from chatbots.knowledge.batching import Batches
    from chatbots.knowledge.corpus import load_part, load_sentences, load_vocabulary
    from chatbots.knowledge.training import Initial, Trainer, TrainingSettings
    from chatbots.training.running import pick_device

    device, settings = pick_device(options.device), settings_from(options, TrainingSettings)
    vocabulary, sentences = load_vocabulary(options.corpus), load_sentences(options.corpus)
    config = _config(preset(options.preset), options, len(vocabulary), history)
    parts = {name: load_part(options.corpus, name) for name in ("train", "validation")}
    trainer = Trainer(
        output,
        config=config,
        vocabulary=vocabulary,
        settings=settings,
        train=Batches(parts["train"], sentences, config, options.batch, options.seed),
        validation=Batches(parts["validation"], sentences, config, 2 * options.batch),
        device=device,
        initial=Initial(options.initial) if options.initial else None,
    )
    trainer.train()
    return min(trainer.perplexities)


def _config(
    shape: TopicalChatConfig, options: argparse.Namespace, words: int, history: int | None
) -> TopicalChatConfig:
    changed = provided_options(options, "dropout") | ({} if history is None else {"history": history})
    return replace(shape, vocabulary_size=words, **changed)


def _add_sweep(parser: argparse.ArgumentParser) -> None:
    _add_training(parser)
    parser.add_argument("--output", type=Path, required=True, help="folder of the runs, one for each length")
    parser.add_argument("--histories", type=int, nargs="+", default=[16, 32, 64, 128, 512], help="W_H")


def sweep(options: argparse.Namespace) -> None:
    """Train with each length of history, and print the lowest perplexities beside the paper's table 5."""
    from chatbots.knowledge.evaluation import PUBLISHED_NOTE, TABLE_5

    perplexities = {
        length: run_training(options, options.output / f"history-{length}", length)
        for length in options.histories
    }
    result = {"validation_perplexity": perplexities, "published": TABLE_5, "published_note": PUBLISHED_NOTE}
    print(json.dumps(result, indent=1))


def _add_evaluate(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("--checkpoint", type=Path, required=True, help="RUN/best, or another")
    add("--corpus", type=Path, required=True)
    add("--part", choices=PARTS, default="test")
    add("--output", type=Path, help="JSON Lines of responses, for `python -m evaluation generation`")
    add("--name", help="of the system in that file; default: TF or TF w/ k.")
    add("--responses", type=int, help="write only this many, spread evenly; default: all")
    add("--choose", choices=("best", "sampled"), default="best", help="of the beam, or word by word")
    add("--beam", type=int, default=5)
    add("--temperature", type=float, default=1.0)
    add("--top-p", type=float, default=1.0, help="sample from the likeliest words of this probability")
    add("--batch", type=int, default=32)
    add("--seed", type=int, default=0)
    add("--device", default="cpu")


def evaluate(options: argparse.Namespace) -> None:
    """Print perplexity, and write responses with the likelihoods of people's turns."""
    from chatbots.knowledge.batching import Batches
    from chatbots.knowledge.corpus import load_part, load_sentences, load_texts, load_vocabulary
    from chatbots.knowledge.evaluation import Evaluation
    from chatbots.knowledge.model import load_checkpoint
    from chatbots.knowledge.responder import DecodingSettings
    from chatbots.training.running import pick_device

    if options.responses is not None:
        check_range("responses", options.responses, least=0)
    settings = settings_from(options, DecodingSettings)
    model, vocabulary = load_checkpoint(options.checkpoint, device=pick_device(options.device))
    if load_vocabulary(options.corpus).to_json() != vocabulary.to_json():
        raise ValueError(
            f"{options.corpus} is of another vocabulary than {options.checkpoint}. Use its corpus."
        )
    part, sentences = load_part(options.corpus, options.part), load_sentences(options.corpus)
    batches = Batches(part, sentences, model.config, options.batch)
    evaluation = Evaluation(model, vocabulary, batches, load_texts(options.corpus, options.part))
    report = evaluation.report()
    if options.output:
        name = options.name or ("TF w/ k." if model.config.knowledge else "TF")
        responses = evaluation.responses(settings, options.seed, options.responses)
        evaluation.write(options.output, name, responses)
        report["responses"] = len(responses)
    print(json.dumps(report, indent=1, ensure_ascii=False))


def _add_snippets(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("--conversations", type=Path, required=True, help="that the corpus's part was built from")
    add("--reading-sets", type=Path, nargs="+", required=True, help="all of them, as for the corpus")
    add("--responses", type=Path, nargs="+", required=True, help="files of `evaluate`, one or more systems")
    add("--number", type=int, default=150, help="of snippets, each from another conversation")
    add("--seed", type=int, default=0)
    add("--output", type=Path, required=True, help="folder of the files for *Contexts* and *Responses*")


def draw_snippets(options: argparse.Namespace) -> None:
    """Write contexts with their sentences and all responses; print the names of the files."""
    from chatbots.knowledge import snippets
    from chatbots.knowledge.conversations import read_conversations, read_reading_sets

    check_range("number", options.number, least=1)
    check_range("seed", options.seed, least=0)
    reading_sets = read_reading_sets(options.reading_sets)
    conversations = read_conversations(options.conversations, reading_sets)
    responses = snippets.read_responses(options.responses, conversations)
    drawn = snippets.draw(conversations, reading_sets, responses, number=options.number, seed=options.seed)
    print(json.dumps(snippets.write(drawn, options.output, options.seed), indent=1, ensure_ascii=False))


COMMANDS = (
    Command(
        "describe",
        "print a preset and its parameter counts as JSON",
        preset_option(PRESETS, "tf-knowledge"),
        describe,
    ),
    Command("split", "divide conversations into frequent and rare parts", _add_split, split),
    Command("corpus", "build a corpus, each turn with its nearest sentence", _add_corpus, build_corpus),
    Command("lessons", "make lessons in reading from a corpus, to begin with", _add_lessons, make_lessons),
    Command("train", "train a model on a corpus, or continue a run", _add_train, train),
    Command("sweep", "train with several lengths of history", _add_sweep, sweep),
    Command("evaluate", "measure a checkpoint, and write its responses", _add_evaluate, evaluate),
    Command("snippets", "draw snippets with responses for people to judge", _add_snippets, draw_snippets),
)


main = partial(run_command, "topical-chat", __doc__, COMMANDS)
"""Run the command given after `python -m chatbots topical-chat`; see `run_command`."""
