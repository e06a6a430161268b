"""`python -m chatbots meena …`: describe, everyday, corpus, train, perplexity, sweep, export."""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from chatbots.meena.config import PRESETS, preset
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
    import torch

    from chatbots.meena.corpus.building import Corpus
    from chatbots.meena.training.settings import TrainingSettings

# CPU kernels are compiled per shape of a batch; the default of 1,024 drops some before they are used again.
os.environ.setdefault("ONEDNN_PRIMITIVE_CACHE_CAPACITY", "16384")


def describe(options: argparse.Namespace) -> None:
    """Print a configuration and its parameter counts."""
    from chatbots.meena.model import count_parameters

    config = preset(options.preset)
    print_preset(options.preset, count_parameters(config), config)


def _add_everyday(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("--output", type=Path, required=True, help="JSON Lines to write; .gz compresses")
    add("--conversations", type=int, default=50_000)
    add("--seed", type=int, default=0, help="the same one gives the same file")
    add("--threads", action="store_true", help="the bot asks, and stays with a subject for several turns")
    add("--listening", action="store_true", help="the bot takes up what was said, whatever it was")
    add(
        "--overheard",
        type=Path,
        nargs="+",
        default=[],
        help="conversations whose lines it answers, too, also amid threads",
    )
    add("--chitchat", type=Path, help="instead, convert the wheel of chitchat-dataset, or its dataset.json")


def write_everyday(options: argparse.Namespace) -> None:
    """Write conversations and print their numbers."""
    from chatbots.meena.everyday import dialogues, listening_dialogues, threads

    check_range("conversations", options.conversations, least=1)
    count, seed = options.conversations, options.seed
    real = listening_dialogues.overheard(options.overheard)
    if options.chitchat:
        talks = dialogues.chitchat_conversations(options.chitchat)
    elif options.threads:
        talks = threads.conversations(count, seed, real)
    elif options.listening or real:
        talks = listening_dialogues.conversations(count, seed, real)
    else:
        talks = dialogues.conversations(count, seed)
    print(json.dumps(dialogues.write_conversations(options.output, talks)))


def _add_corpus(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("--input", type=Path, nargs="+", required=True, help="JSON Lines, perhaps .gz; each file is one part")
    add("--output", type=Path, required=True, help="folder of the corpus; run again to continue")
    add("--stage", choices=("all", "scan", "tokenizer", "encode", "merge"), default="all")
    add("--only", metavar="I/N", help="of the parts in order of name, every Nth from the Ith (from 0) on")
    add("--workers", type=int, default=1, help="processes; each takes one part at a time")
    add("--vocabulary", type=int, default=8192, help="tokens of the tokenizer")
    add("--tokenizer", type=Path, help="use this tokenizer.model instead of learning one")
    add("--heldout", type=float, default=0.02, help="share of trees held out")
    add("--safety", choices=("profanity-check", "none"), default="profanity-check")
    add("--most-repeats", type=int, default=100, help="most occurrences of one text")
    add("--most-malformed", type=float, default=0.01, help="largest share of malformed lines")


def build_corpus(options: argparse.Namespace) -> None:
    """Run one or all stages of a corpus."""
    from chatbots.meena.corpus.building import Corpus, CorpusSettings, over_parts

    check_range("workers", options.workers, least=1)
    settings = CorpusSettings(
        vocabulary_size=options.vocabulary,
        heldout=options.heldout,
        safety=options.safety,
        most_malformed=options.most_malformed,
        most_repeats=options.most_repeats,
    )
    corpus = Corpus(options.output, options.input, settings)
    parts = _selected_parts(corpus, options.only)
    if options.stage in ("all", "scan"):
        over_parts(corpus.scan, parts, options.workers)
    if options.stage in ("all", "tokenizer"):
        corpus.learn_tokenizer(options.tokenizer)
    if options.stage in ("all", "encode"):
        over_parts(corpus.encode, parts, options.workers)
    if options.stage in ("all", "merge"):
        print(json.dumps(corpus.merge(), indent=1))


def _selected_parts(corpus: Corpus, only: str | None) -> Sequence[Path]:
    if only is None:
        return corpus.parts
    first, slash, step = only.partition("/")
    if not (slash and first.isdigit() and step.isdigit() and int(first) < int(step)):
        raise ValueError(f"--only {only} is not of the form I/N with I from 0 to N - 1, for instance 0/8.")
    return corpus.parts[int(first) :: int(step)]


def _add_train(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("--corpus", type=Path, required=True)
    add("--output", type=Path, required=True, help="folder of log and checkpoints; run again to continue")
    add("--preset", choices=PRESETS, default="small", help="shape; its vocabulary becomes the corpus's")
    add("--begin-with", type=Path, help="a checkpoint whose weights a new run begins with")
    add("--steps", type=int, required=True)
    add("--optimizer", choices=("adafactor", "adamw"), default="adafactor")
    add("--learning-rate", type=float, default=0.01)
    add("--warmup", type=int, default=500, help="steps over which AdamW's rate rises")
    add("--dropout", type=float, default=0.1)
    add("--context-length", type=int, default=128)
    add("--response-length", type=int, default=128)
    add("--decoder-blocks", type=int, help="instead of the preset's")
    add("--heads", type=int, help="of attention, instead of the preset's; must divide its hidden size")
    add("--positions", type=int, default=8192, help="most positions of a batch of one process")
    add("--accumulation", type=int, default=1, help="batches per update and process")
    add("--precision", choices=("fp32", "bf16"), help="of products; default: the device's fastest")
    add("--clip", type=float, default=1.0, help="most norm of the gradient; 0 for none")
    add("--seed", type=int, default=0)
    add("--validate-every", type=int, default=1000)
    add("--checkpoint-every", type=int, default=1000)
    add("--keep", type=int, default=3, help="newest checkpoints kept; 0 for all")
    add("--compile", action="store_true")
    add("--recompute", action="store_true", help="on the way back, compute blocks again: less memory")
    add("--workers", type=int, help="processes that prepare batches; default: 2 for a GPU, else none")
    add("--teacher", type=Path, help="folder of a model with the same tokenizer, to learn from, too")
    add("--teacher-temperature", type=float, default=2.0, help="divides both models' scores; default: 2")
    add("--teacher-weight", type=float, default=0.5, help="share of the teacher in the loss; default: 0.5")
    add("--device", default="cpu")


def train(options: argparse.Namespace) -> None:
    """Train, alone or as one of the processes that torchrun started."""
    from chatbots.meena.corpus.shards import open_shards
    from chatbots.meena.tokenizer import Tokenizer
    from chatbots.meena.training.batching import Batches
    from chatbots.meena.training.distillation import Teacher
    from chatbots.meena.training.loop import Trainer
    from chatbots.meena.training.parallel import process_group
    from chatbots.training.running import pick_device

    device = pick_device(options.device)
    on_gpu = device.type == "cuda"
    workers = 2 * on_gpu if options.workers is None else options.workers
    check_range("workers", workers, least=0, most=1024)
    settings = _training_settings(options, device)
    tokenizer = Tokenizer.load(options.corpus / "tokenizer.model")
    config = replace(
        preset(options.preset),
        vocabulary_size=len(tokenizer),
        dropout=options.dropout,
        context_length=options.context_length,
        response_length=options.response_length,
        **provided_options(options, "decoder_blocks", "heads"),
    )
    with process_group(device) as (rank, ranks):
        Trainer(
            options.output,
            config=config,
            tokenizer=tokenizer,
            settings=settings,
            train=Batches(
                open_shards(options.corpus / "train"),
                config,
                options.positions,
                seed=options.seed,
                ranks=ranks,
                rank=rank,
                workers=workers,
                pinned=on_gpu,
            ),
            heldout=Batches(open_shards(options.corpus / "heldout"), config, options.positions),
            device=device,
            teacher=Teacher(options.teacher, config, tokenizer, device) if options.teacher else None,
            begin_with=options.begin_with,
        ).train()


def _training_settings(options: argparse.Namespace, device: torch.device) -> TrainingSettings:
    """Create the settings from the options, by default in the device's fastest precision; prints it."""
    from chatbots.meena.acceleration import training_precision
    from chatbots.meena.training.distillation import identity_of
    from chatbots.meena.training.settings import TrainingSettings

    fastest = training_precision(device)
    settings = settings_from(
        options,
        TrainingSettings,
        teacher=identity_of(options.teacher) if options.teacher else "",
        precision=options.precision or fastest,
    )
    print(f"meena: training in {settings.precision} on {device}.", file=sys.stderr)
    if settings.precision == "bf16" != fastest:
        slow = f"{device} does not multiply bf16 itself, which can make training 16 times as slow as in fp32"
        print(f"meena: warning: {slow}.", file=sys.stderr)
    return settings


def _add_perplexity(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--checkpoint", type=Path, required=True)
    parser.add_argument(
        "--data", type=Path, required=True, help="a corpus's heldout folder, or JSON Lines of conversations"
    )
    parser.add_argument("--positions", type=int, default=8192, help="most positions of a batch")
    parser.add_argument("--device", default="cpu")


def measure_perplexity(options: argparse.Namespace) -> None:
    """Print perplexity and number of tokens as JSON."""
    from chatbots.meena.model import load_checkpoint
    from chatbots.meena.training.batching import Batches
    from chatbots.meena.training.perplexity import perplexity, shards_for
    from chatbots.training.running import pick_device

    check_range("positions", options.positions, least=1)
    device = pick_device(options.device)
    model, tokenizer = load_checkpoint(options.checkpoint, device=device)
    with shards_for(options.data, tokenizer) as shards:
        batches = Batches(shards, model.config, options.positions)
        measured = perplexity(model, batches.in_order(), device)
    print(json.dumps({"perplexity": measured.value, "tokens": measured.tokens}))


def _add_sweep(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("--checkpoint", type=Path, required=True)
    add("--contexts", type=Path, required=True, help="JSON Lines with id and turns, as contexts are exported")
    add("--output", type=Path, required=True, help="folder of the responses; run again to continue")
    add("--samples", type=int, nargs="+", default=[1, 4, 20, 100, 400], help="N; default: 1 4 20 100 400")
    add("--temperature", type=float, nargs="+", default=[0.88], help="T; default: 0.88")
    add("--top-k", type=int, help="draw from this many likeliest tokens")
    add("--scores", type=Path, help="CSV of Studies side by side, once the responses are judged")
    add("--device", default="cpu")


def run_sweep(options: argparse.Namespace) -> None:
    """Answer the contexts, print one point of the curve per line, and draw it."""
    from chatbots.meena.model import load_checkpoint
    from chatbots.meena.responder import Responder
    from chatbots.meena.sampling import SamplingSettings
    from chatbots.meena.sweep import chart, read_contexts, read_scores, sweep
    from chatbots.training.running import pick_device

    for n in options.samples:
        check_range("samples", n, least=1)
    for temperature in options.temperature:
        if not temperature > 0:
            raise ValueError(f"--temperature {temperature:g}: it must be above 0.")
    contexts = read_contexts(options.contexts)
    scores = read_scores(options.scores) if options.scores else {}
    model, tokenizer = load_checkpoint(options.checkpoint, device=pick_device(options.device))
    responder = Responder(model, tokenizer, SamplingSettings(top_k=options.top_k))
    points = []
    for point in sweep(responder, contexts, options.samples, options.temperature, options.output):
        points.append(point)
        figures = {"log_likelihood_per_token": point.per_token, "tokens": point.tokens}
        print(json.dumps({"system": point.system} | figures | scores.get(point.system, {})), flush=True)
    figure = chart(points, scores)
    for ending in ("svg", "pdf"):
        figure.savefig(options.output / f"sweep.{ending}")


def _add_rank(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("--checkpoint", type=Path, required=True)
    add("--contexts", type=Path, required=True, help="JSON Lines with id and turns, as contexts are exported")
    add("--output", type=Path, required=True, help="folder of the candidates and responses")
    add("--samples", type=int, default=20, help="N; default: 20")
    add("--temperature", type=float, default=0.88, help="T; default: 0.88")
    add("--top-k", type=int, help="draw from this many likeliest tokens")
    add("--show", type=int, default=0, help="also print the choices in this many contexts, side by side")
    add("--device", default="cpu")


def run_rank(options: argparse.Namespace) -> None:
    """Draw candidates once, rank them by every function, and print one result per line."""
    from chatbots.meena.model import load_checkpoint
    from chatbots.meena.ranking_comparison import compare, side_by_side, store_candidates
    from chatbots.meena.responder import Responder
    from chatbots.meena.sampling import SamplingSettings
    from chatbots.meena.sweep import read_contexts
    from chatbots.training.running import pick_device

    check_range("show", options.show, least=0)
    settings = SamplingSettings(samples=options.samples, temperature=options.temperature, top_k=options.top_k)
    contexts = read_contexts(options.contexts)
    model, tokenizer = load_checkpoint(options.checkpoint, device=pick_device(options.device))
    stored = store_candidates(Responder(model, tokenizer, settings), contexts, options.output)
    for choices in side_by_side(stored, options.show) if options.show else ():
        print(json.dumps(choices, ensure_ascii=False))
    for ranking in compare(stored):
        print(json.dumps(ranking._asdict()))


def export(options: argparse.Namespace) -> None:
    """Write weights, configuration and tokenizer without the state of training."""
    from chatbots.meena.model import read_config, read_tokenizer, save_checkpoint

    config = read_config(options.checkpoint)
    save_checkpoint(
        options.output,
        config=config,
        weights=weights_to_export(options),
        tokenizer=read_tokenizer(options.checkpoint, config),
    )


COMMANDS = (
    Command(
        "describe",
        "print a configuration's parameter counts as JSON",
        preset_option(PRESETS, "meena-2.6b"),
        describe,
    ),
    Command("everyday", "write conversations of everyday talk from templates", _add_everyday, write_everyday),
    Command("corpus", "build a corpus from message trees or conversations", _add_corpus, build_corpus),
    Command("train", "train a model on a corpus, or continue a run", _add_train, train),
    Command("perplexity", "measure a checkpoint on held-out pairs", _add_perplexity, measure_perplexity),
    Command("sweep", "answer contexts with several N and T, to be judged", _add_sweep, run_sweep),
    Command("rank", "rank the same candidates by every ranking function", _add_rank, run_rank),
    Command("export", "write a checkpoint's weights alone, for use", add_export_options, export),
)


main = partial(run_command, "meena", __doc__, COMMANDS)
"""Run the command given after `python -m chatbots meena`; see `run_command`."""
