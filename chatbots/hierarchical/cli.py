"""`python -m chatbots hierarchical …`: describe, corpus, train, perplexity, reply, export."""

from __future__ import annotations

import argparse
import json
from dataclasses import fields, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from chatbots.hierarchical.config import PRESETS, HierarchicalConfig, preset
from chatbots.training.command import (
    Command,
    add_export_options,
    preset_option,
    print_preset,
    provided_options,
    run_command,
    settings_from,
    weights_to_export,
)
from chatbots.training.settings import check_range

if TYPE_CHECKING:
    from chatbots.hierarchical.corpus import Part
    from chatbots.hierarchical.distillation import TargetFile
    from chatbots.training.vocabulary import Vocabulary


def describe(options: argparse.Namespace) -> None:
    """Print a preset and its parameter counts."""
    from chatbots.hierarchical.model import count_parameters

    described = preset(options.preset)
    settings = {
        field.name: getattr(described, field.name) for field in fields(described) if field.name != "config"
    }
    print_preset(options.preset, count_parameters(described.config), described.config, **settings)


def _add_corpus(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("--input", type=Path, nargs="+", required=True, help="JSON Lines of conversations, perhaps .gz")
    add("--output", type=Path, required=True, help="folder of the corpus")
    add("--vocabulary", type=int, default=20_000, dest="vocabulary_size", help="most words")
    add("--least-occurrences", type=int, default=5, help="of a word that is known")
    add("--utterance-length", type=int, default=30, help="most words of an utterance, its end included")
    add("--utterances", type=int, default=10, help="most utterances of a conversation")
    add("--validation", type=float, default=0.1, help="share of conversations to look at during training")
    add("--test", type=float, default=0.1, help="share of conversations to measure on at the end")
    add("--safety", choices=("profanity-check", "none"), default="profanity-check")
    add(
        "--rules",
        choices=("plain", "reddit"),
        default="plain",
        help="reddit: links leave a text, removed and deleted messages go, a text ends before EDIT",
    )


def build_corpus(options: argparse.Namespace) -> None:
    """Build a corpus and print its report."""
    from chatbots.hierarchical.corpus import CorpusSettings, build

    report = build(options.input, options.output, settings_from(options, CorpusSettings))
    print(json.dumps(report, indent=1, ensure_ascii=False))


def _add_train(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("--corpus", type=Path, required=True)
    add("--output", type=Path, required=True, help="folder of logs and checkpoints; run again to continue")
    add("--preset", choices=PRESETS, default="small-vhred", help="shape; its vocabulary becomes the corpus's")
    add("--targets", type=Path, help="what the teachers say, for a preset with EI")
    add("--input-only", action="store_true", help="let the context read the targets instead of learning them")
    add("--steps", type=int, help="updates in all; without it, so many epochs")
    add("--epochs", type=int, default=30, help="passes over the conversations")
    add("--batch", type=int, help="conversations of a batch, instead of the preset's")
    add("--learning-rate", type=float, default=1e-4)
    add("--decay", action="store_true", help="let the rate fall along a cosine to 0")
    add("--warmup", type=int, default=0, help="steps over which a rate that falls rises first")
    add("--annealing", type=int, default=25_000, help="steps until the divergence counts in full")
    add("--emotion-weight", type=float, help="instead of the preset's")
    add("--semantic-weight", type=float, help="instead of the preset's")
    add("--dropout", type=float, help="instead of the preset's")
    add("--word-drop", type=float, help="instead of the preset's")
    add("--sentence-drop", type=float, help="instead of the preset's")
    add("--clip", type=float, default=1.0, help="most norm of the gradient; 0 for none")
    add("--seed", type=int, default=0)
    add("--validate-every", type=int, default=1_000, help="steps")
    add("--validation-samples", type=int, default=1, help="draws of the latent variables in these")
    add("--checkpoint-every", type=int, default=1_000, help="steps")
    add("--keep", type=int, default=3, help="newest checkpoints kept; 0 for all")
    add("--device", default="cpu")


def train(options: argparse.Namespace) -> None:
    """Train a model."""
    from chatbots.hierarchical.batching import Batches
    from chatbots.hierarchical.corpus import Part
    from chatbots.hierarchical.distillation import TargetFile
    from chatbots.hierarchical.training import Trainer, TrainingSettings
    from chatbots.training.files import load_corpus_vocabulary
    from chatbots.training.running import pick_device

    defaults = preset(options.preset)
    for name in ("batch", "emotion_weight", "semantic_weight"):
        if getattr(options, name) is None:
            setattr(options, name, getattr(defaults, name))
    check_range("epochs", options.epochs, least=1)
    check_range("batch", options.batch, least=1)
    by_epochs = options.steps is None
    settings = settings_from(options, TrainingSettings, **({"steps": 1} if by_epochs else {}))
    device = pick_device(options.device)
    targets = _targets(defaults.config, options, TargetFile)
    parts = {name: Part.load(options.corpus / f"{name}.npz") for name in ("train", "validation")}
    vocabulary = load_corpus_vocabulary(options.corpus, "hierarchical")
    if by_epochs:
        steps = options.epochs * -(-len(parts["train"]) // options.batch)
        settings = replace(settings, steps=max(1, steps))
    Trainer(
        options.output,
        config=_config(defaults.config, options, vocabulary, targets),
        vocabulary=vocabulary,
        settings=settings,
        train=Batches(parts["train"], options.batch, targets, options.seed),
        validation=Batches(parts["validation"], options.batch, targets if options.input_only else None),
        device=device,
    ).train()


def _targets(
    config: HierarchicalConfig, options: argparse.Namespace, read: type[TargetFile]
) -> TargetFile | None:
    """Read the file of targets if the preset wants one.

    Raises:
        ValueError: the preset wants a file and none is named, or the other way round.
    """
    name, path = options.preset, options.targets
    if options.input_only and not config.has_heads:
        raise ValueError(f"{name} knows no targets that --input-only could read. Take {name}-ei.")
    if config.has_heads and path is None:
        raise ValueError(
            f"{name} learns emotions and meanings: name their file with --targets, which "
            "'python -m evaluation targets' makes, or take the preset without -ei."
        )
    if path is not None and not config.has_heads:
        raise ValueError(f"{name} has no heads to learn {path}. Take {name}-ei, or leave --targets out.")
    return None if path is None else read(path)


def _config(
    shape: HierarchicalConfig, options: argparse.Namespace, vocabulary: Vocabulary, targets: TargetFile | None
) -> HierarchicalConfig:
    """Combine the preset's shape, the corpus's vocabulary, the targets' sizes and the options."""
    changed = provided_options(options, "dropout", "word_drop", "sentence_drop") | {
        "input_only": options.input_only
    }
    if targets:
        changed |= {"emotions": targets.emotions, "semantics": targets.semantics}
    return replace(shape, vocabulary_size=len(vocabulary), **changed)


def _add_perplexity(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--checkpoint", type=Path, required=True)
    parser.add_argument(
        "--data", type=Path, required=True, help="a part of a corpus (…/test.npz), or JSON Lines"
    )
    parser.add_argument("--targets", type=Path, help="what the teachers say, for a model that reads it")
    parser.add_argument("--samples", type=int, default=100, help="draws of the latent variables")
    parser.add_argument("--batch", type=int, default=64, help="conversations of a batch")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--device", default="cpu")


def measure_perplexity(options: argparse.Namespace) -> None:
    """Print perplexity, divergence and number of words as JSON."""
    from chatbots.hierarchical.batching import Batches
    from chatbots.hierarchical.distillation import TargetFile
    from chatbots.hierarchical.model import load_checkpoint
    from chatbots.hierarchical.perplexity import perplexity
    from chatbots.training.running import pick_device

    check_range("samples", options.samples, least=1)
    device = pick_device(options.device)
    model, vocabulary = load_checkpoint(options.checkpoint, device=device)
    part = _part(options.data, model.config, vocabulary)
    targets = TargetFile(options.targets) if options.targets and model.config.input_only else None
    batches = Batches(part, options.batch, targets).in_order()
    measured = perplexity(model, batches, samples=options.samples, seed=options.seed)
    figures = {"perplexity": measured.value, "divergence": measured.divergence, "words": measured.words}
    samples = options.samples if model.config.is_variational else None
    print(json.dumps(figures | {"conversations": len(part), "samples": samples}))


def _part(data: Path, config: HierarchicalConfig, vocabulary: Vocabulary) -> Part:
    from chatbots.hierarchical.corpus import Part, part_of_text

    if data.suffix != ".npz":
        return part_of_text(data, vocabulary, length=config.utterance_length, utterances=config.utterances)
    path_of_words = data.parent / "vocabulary.json"
    if path_of_words.exists() and path_of_words.read_bytes() != vocabulary.to_json():
        raise ValueError(
            f"{data} has another vocabulary than the checkpoint. Pass its conversations instead."
        )
    return Part.load(data)


def _add_reply(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("--checkpoint", type=Path, required=True)
    add("--context", action="append", required=True, metavar="TEXT", help="a turn; repeat, oldest first")
    add("--choose", choices=("best", "drawn", "sampled"), default="best", help="of the beam, or word by word")
    add("--beam", type=int, default=5)
    add("--temperature", type=float, default=1.0)
    add("--seed", type=int, default=0)


def reply(options: argparse.Namespace) -> None:
    """Print the reply to a context."""
    from chatbots.hierarchical.model import load_checkpoint
    from chatbots.hierarchical.responder import DecodingSettings, Responder

    settings = settings_from(options, DecodingSettings)
    model, vocabulary = load_checkpoint(options.checkpoint)
    (answer,) = Responder(model, vocabulary, settings).reply([options.context], [options.seed])
    print(answer.text)


def export(options: argparse.Namespace) -> None:
    """Write weights, configuration and vocabulary without the state of training."""
    from chatbots.hierarchical.model import read_config
    from chatbots.training.checkpoint import read_vocabulary, save_with_vocabulary

    config = read_config(options.checkpoint)
    save_with_vocabulary(
        options.output,
        config=config,
        weights=weights_to_export(options),
        vocabulary=read_vocabulary(options.checkpoint, config.vocabulary_size),
    )


COMMANDS = (
    Command(
        "describe",
        "print a preset and its parameter counts as JSON",
        preset_option(PRESETS, "reddit-vhcr-ei"),
        describe,
    ),
    Command("corpus", "build a corpus from conversations", _add_corpus, build_corpus),
    Command("train", "train a model on a corpus, or continue a run", _add_train, train),
    Command("perplexity", "measure a checkpoint on a part of a corpus", _add_perplexity, measure_perplexity),
    Command("reply", "answer one context", _add_reply, reply),
    Command("export", "write a checkpoint's weights alone, for use", add_export_options, export),
)


main = partial(run_command, "hierarchical", __doc__, COMMANDS)
"""Run the command given after `python -m chatbots hierarchical`; see `run_command`."""
