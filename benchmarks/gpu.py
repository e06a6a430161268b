"""Figures of a GPU: prints JSON. Run as `PYTHONPATH=. python benchmarks/gpu.py`, in under six minutes.

    --device cuda|cpu   the CPU tries the script out, with `--tiny`
    --tiny              models that a CPU computes in seconds
    --parts NAME …      some of: agreement, decoding, joining, training, causal
    --profile           adds the longest kernels of each part
    --repeats 5         of each measurement, whose median counts
    --output FILE       also writes the figures to a file, after each part

Nothing is fetched: all large models have random weights, in the shapes of real ones. Every part has its floor
measured in the same run: how fast this GPU reads memory (`bytes_per_second`) and multiplies large bf16
matrices (`operations_per_second`).

- `agreement`: replies of the bots with shipped models on the GPU and on the CPU; and losses of a training run
  that stops and continues, against one that does not;
- `decoding`: `meena-2.6b` in bf16, 20 samples of 32 tokens, for 1, 8 and 64 dialogues at once, against
  reading the weights once per token and against the products of those rows;
- `joining`: the same model where a dialogue joins at every fourth token, as people come in hosting;
- `training`: one update of `meena-2.6b` as `chatbots meena train --precision bf16` takes it, against its
  matrix products alone;
- `causal`: the bot `huggingface-causal` with a Llama of 1.2 billion parameters in bf16, 64 dialogues of 64
  tokens, against `transformers` `generate` and against reading the weights once per token.
"""

import argparse
import json
import os
import random
import sys
import tempfile
import time
import traceback
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import nn
from torch.profiler import ProfilerActivity, profile

from benchmarks.huggingface import contexts_of, generate
from benchmarks.meena import random_model
from chatbots.base import Context
from chatbots.bots.meena import SHIPPED
from chatbots.meena.config import MeenaConfig, preset
from chatbots.meena.corpus.shards import ShardWriter, open_shards
from chatbots.meena.model import Meena, load_checkpoint, read_tokenizer
from chatbots.meena.sampling import SampleStream, SamplingSettings
from chatbots.meena.tokenizer import Tokenizer
from chatbots.meena.training.batching import Batches
from chatbots.meena.training.loop import Trainer
from chatbots.meena.training.settings import TrainingSettings
from chatbots.registry import create_bot

SAMPLES, TOKENS, CONTEXT = 20, 32, 60
MEASURES = dict[str, object]
Work = Callable[[], object]


@dataclass
class Machine:
    """The device and its measured rates.

    Attributes:
        device: that computes.
        repeats: of each measurement.
        tiny: True for models that a CPU computes in seconds.
        kernels: True to list the longest kernels.
        bytes_per_second: read from memory.
        operations_per_second: of large bf16 products.
    """

    device: torch.device
    repeats: int
    tiny: bool
    kernels: bool
    bytes_per_second: float = 1.0
    operations_per_second: float = 1.0

    def seconds(self, work: Work, *, warm: int = 1) -> float:
        """Median time of one call, after `warm` calls that are not counted."""
        return float(np.median([self.once(work) for _ in range(warm + self.repeats)][warm:]))

    def once(self, work: Work) -> float:
        """Time of one call, until the device is done."""
        self.wait()
        started = time.perf_counter()
        work()
        self.wait()
        return time.perf_counter() - started

    def wait(self) -> None:
        """Wait until the device is done."""
        if self.device.type == "cuda":
            torch.cuda.synchronize()

    def measure_rates(self) -> MEASURES:
        """Measure the two floors' rates."""
        size = 256 if self.tiny else 8192
        a, b = (torch.randn(size, size, device=self.device, dtype=torch.bfloat16) for _ in range(2))
        seconds = self.seconds(lambda: [a @ b for _ in range(10)], warm=3)
        self.operations_per_second = 10 * 2 * size**3 / seconds
        values = torch.randn(2**20 if self.tiny else 2**30, device=self.device)
        read_seconds = self.seconds(lambda: [values.amax() for _ in range(5)], warm=3)
        target = torch.empty_like(values)
        copy_seconds = self.seconds(lambda: [target.copy_(values) for _ in range(5)], warm=3)
        self.bytes_per_second = 5 * 4 * values.numel() / read_seconds
        return {
            "bytes_per_second": self.bytes_per_second,
            "bytes_per_second_of_a_copy": 5 * 8 * values.numel() / copy_seconds,
            "operations_per_second": self.operations_per_second,
        }

    def longest_kernels(self, work: Work, most: int = 14) -> MEASURES:
        """The kernels that take longest in one call: milliseconds and calls of each."""
        if not self.kernels or self.device.type != "cuda":
            return {}
        work()
        with profile(activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA]) as profiled:
            work()
            self.wait()
        events = [each for each in profiled.key_averages() if each.device_type.name == "CUDA"]
        events.sort(key=lambda each: -each.self_device_time_total)
        total = sum(each.self_device_time_total for each in events) / 1000
        calls = sum(each.count for each in events)
        kernels = {
            each.key[:110]: [round(each.self_device_time_total / 1000, 2), each.count]
            for each in events[:most]
        }
        return {"kernels": {"ms": total, "calls": calls, **kernels}}

    @contextmanager
    def memory(self, measures: MEASURES) -> Iterator[None]:
        """Add the most memory that was taken meanwhile, in gigabytes."""
        if self.device.type == "cuda":
            torch.cuda.reset_peak_memory_stats()
        yield
        if self.device.type == "cuda":
            measures["gigabytes"] = torch.cuda.max_memory_allocated() / 1e9


# decoding


def large(machine: Machine, **changes: Any) -> MeenaConfig:
    """Shape of the measured model."""
    return replace(preset("tiny" if machine.tiny else "meena-2.6b"), **changes)


def tokens_of(number: int, length: int, vocabulary: int) -> list[int]:
    """Random tokens; the same number always gives the same ones."""
    generator = random.Random(number)
    return [generator.randrange(5, vocabulary) for _ in range(length)]


def weights_of(model: Meena) -> dict[str, int]:
    """Weights of dense layers by the positions that multiply them, and all that a step reads.

    Returns:
        `context`: multiplied with every position of a context; `response`: of a response; `step`: all
        weights that one token reads.
    """
    context = sum(
        layer.weight.numel()
        for name, layer in model.named_modules()
        if isinstance(layer, nn.Linear | nn.Conv1d)
        and (name.startswith("encoder.") or "encoder_attention.key_value" in name)
    )
    dense = sum(each.weight.numel() for each in model.modules() if isinstance(each, nn.Linear | nn.Conv1d))
    everything = sum(parameter.numel() for parameter in model.parameters())
    return {
        "context": context,
        "response": dense - context + model.embedding.weight.numel(),
        "step": everything - context,
    }


def drawing(model: Meena, stream: SampleStream, contexts: Sequence[Sequence[int]]) -> Work:
    """Draw all samples of these contexts, which join together."""

    def work() -> None:
        stream.admit(contexts, list(range(len(contexts))))
        done = 0
        while done < len(contexts):
            done += len(stream.step())

    return work


def measure_decoding(machine: Machine) -> MEASURES:
    """Replies to 1, 8 and 64 dialogues at once."""
    model = random_model(large(machine, response_length=TOKENS), machine.device, torch.bfloat16)
    weights, size = weights_of(model), model.config.vocabulary_size
    reading = 2 * (weights["context"] + TOKENS * weights["step"]) / machine.bytes_per_second
    figures: MEASURES = {"parameters": weights["context"] + weights["step"]}
    for number in (1, 2) if machine.tiny else (1, 8, 64):
        contexts = [tokens_of(each, CONTEXT, size) for each in range(number)]
        settings = SamplingSettings(samples=SAMPLES, temperature=1.0)
        stream = SampleStream(model, settings, room=number)
        work = drawing(model, stream, contexts)
        measures: MEASURES = {}
        with machine.memory(measures):
            measures["first"] = machine.once(work)
            measures["seconds"] = seconds = machine.seconds(work)
        operations = 2 * number * (CONTEXT * weights["context"] + TOKENS * SAMPLES * weights["response"])
        multiplying = operations / machine.operations_per_second
        figures[f"dialogues_{number}"] = {
            **measures,
            "reading_the_weights": reading,
            "multiplying": multiplying,
            "over_the_floor": seconds / max(reading, multiplying),
            "tokens_per_second": number * SAMPLES * TOKENS / seconds,
            "admitting": measure_admitting(machine, stream, contexts),
            **machine.longest_kernels(work),
        }
        del stream, work
    return figures


def measure_admitting(machine: Machine, stream: SampleStream, contexts: Sequence[Sequence[int]]) -> float:
    """Seconds until these contexts have joined."""

    def work() -> None:
        stream.cancel(stream.admit(contexts, list(range(len(contexts)))))

    return machine.seconds(work)


def measure_joining(machine: Machine) -> MEASURES:
    """Dialogues of all lengths, one of which joins at every fourth token while there is room."""
    model = random_model(large(machine, response_length=TOKENS), machine.device, torch.bfloat16)
    number, size = (4 if machine.tiny else 40), model.config.vocabulary_size
    lengths = [8 + each * 37 % (model.config.context_length - 8) for each in range(number)]
    contexts = [tokens_of(each, length, size) for each, length in enumerate(lengths)]
    stream = SampleStream(model, SamplingSettings(samples=SAMPLES, temperature=1.0), room=8)
    steps: list[float] = []

    def work() -> None:
        waiting, done, at = list(enumerate(contexts)), 0, 0
        steps.clear()
        while done < number:
            if waiting and stream.room and at % 4 == 0:
                seed, context = waiting.pop(0)
                stream.admit([context], [seed])
            started = time.perf_counter()
            done += len(stream.step())
            steps.append(time.perf_counter() - started)
            at += 1

    measures: MEASURES = {"dialogues": number}
    with machine.memory(measures):
        measures["first"] = machine.once(work)
        measures["seconds"] = machine.seconds(work, warm=0)
    measures["steps"] = len(steps)
    measures["longest_steps"] = [round(each, 4) for each in sorted(steps)[-8:]]
    return {
        **measures,
        "reading_the_weights": len(steps) * 2 * weights_of(model)["step"] / machine.bytes_per_second,
        "reading_alone": number * TOKENS * 2 * weights_of(model)["step"] / machine.bytes_per_second,
    }


# training


def write_pairs(folder: Path, number: int, length: int, vocabulary: int) -> Path:
    """A shard of that many pairs of random tokens, each of full length."""
    with ShardWriter(folder / "train" / "shard") as shard:
        for each in range(number):
            turns = [tokens_of(2 * each + part, length - 1, vocabulary) for part in range(2)]
            shard.add(turns, [-1, 0])
    return folder / "train"


def trainer_of(
    machine: Machine,
    run: Path,
    pairs: Path,
    config: MeenaConfig,
    *,
    begin_with: Path | None = None,
    **settings: Any,
) -> Trainer:
    """A run over those pairs."""
    training = TrainingSettings(**{"steps": 1000, "precision": "bf16", **settings})
    batches = Batches(open_shards(pairs), config, training.positions)
    return Trainer(
        run,
        config=config,
        tokenizer=read_tokenizer(SHIPPED, replace(config, vocabulary_size=4096)),
        settings=training,
        train=batches,
        heldout=batches,
        device=machine.device,
        begin_with=begin_with,
    )


def measure_training(machine: Machine) -> MEASURES:
    """Updates of several sizes, as large as fit."""
    config, figures = large(machine), dict[str, object]()
    sizes = ((512, False),) if machine.tiny else ((8192, False), (16384, False), (32768, True))
    for positions, recompute in sizes:
        name = f"positions_{positions}" + ("_recomputed" if recompute else "")
        try:
            figures[name] = measure_updates(machine, config, positions, recompute)
        except torch.cuda.OutOfMemoryError as error:
            figures[name] = f"does not fit: {str(error)[:200]}"
        if machine.device.type == "cuda":
            torch.cuda.empty_cache()
    return figures


def measure_updates(machine: Machine, config: MeenaConfig, positions: int, recompute: bool) -> MEASURES:
    """One update with that many positions in its batch."""
    rows = positions // (config.context_length + config.response_length)
    measures: MEASURES = {"pairs": rows}
    with tempfile.TemporaryDirectory() as folder, machine.memory(measures):
        pairs = write_pairs(Path(folder), 2 * rows, config.response_length, config.vocabulary_size)
        trainer = trainer_of(
            machine, Path(folder) / "run", pairs, config, positions=positions, recompute=recompute
        )
        trainer.model.train()
        (batch, *_) = [each.to(machine.device) for each in trainer.train_batches.epoch(0)]
        seconds = machine.seconds(lambda: trainer.update([batch]), warm=2)
        optimizer = machine.seconds(trainer.optimizer.step)
        kernels = machine.longest_kernels(lambda: trainer.update([batch]))
    weights = weights_of(trainer.model)
    once = 2 * (
        batch.contexts.numel() * weights["context"] + batch.targets.numel() * weights["response"]
    )  # forward; backward takes twice as many
    multiplying = 3 * once / machine.operations_per_second
    return {
        **measures,
        "shape": [list(batch.contexts.shape), list(batch.targets.shape)],
        "seconds": seconds,
        "optimizer": optimizer,
        "multiplying": multiplying,
        "share_of_matrix_rate": multiplying / seconds,
        "share_with_recomputation": multiplying * (4 / 3 if recompute else 1) / seconds,
        "positions_per_second": (batch.contexts.numel() + batch.targets.numel()) / seconds,
        **kernels,
    }


# a model of another publisher


def save_llama(folder: Path, machine: Machine) -> int:
    """Write a Llama in the shape of Llama 3.2 1B and a byte-level tokenizer; returns its parameters."""
    import tokenizers
    from tokenizers import decoders, models, pre_tokenizers
    from transformers import LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast

    letters = sorted(pre_tokenizers.ByteLevel.alphabet())
    words = {letter: number + 1 for number, letter in enumerate(letters)} | {"<|end|>": 0}
    plain = tokenizers.Tokenizer(models.BPE(vocab=words, merges=[]))
    plain.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    plain.decoder = decoders.ByteLevel()
    tokenizer: Any = PreTrainedTokenizerFast(tokenizer_object=plain, eos_token="<|end|>")  # type: ignore[no-untyped-call]
    shape = {"hidden_size": 64, "intermediate_size": 128, "num_hidden_layers": 2, "vocab_size": 512}
    if not machine.tiny:
        shape = {"hidden_size": 2048, "intermediate_size": 8192, "num_hidden_layers": 16}
        shape["vocab_size"] = 128_256
    config = LlamaConfig(
        **shape,  # type: ignore[arg-type]
        num_attention_heads=4 if machine.tiny else 32,
        num_key_value_heads=2 if machine.tiny else 8,
        max_position_embeddings=4096,
        tie_word_embeddings=True,
        bos_token_id=0,
        eos_token_id=0,
        pad_token_id=0,
    )
    torch.manual_seed(0)
    with machine.device:
        model: Any = LlamaForCausalLM(config)
    model.to(torch.bfloat16).save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return sum(parameter.numel() for parameter in model.parameters())


def measure_causal(machine: Machine) -> MEASURES:
    """64 dialogues with `huggingface-causal` and with `generate`."""
    dialogues, tokens = (4, 8) if machine.tiny else (64, 64)
    measures: MEASURES = {"dialogues": dialogues, "tokens": tokens}
    with tempfile.TemporaryDirectory() as folder:
        measures["parameters"] = parameters = save_llama(Path(folder), machine)
        settings = {
            "model": folder,
            "device": machine.device.type,
            "precision": "bfloat16",
            "most_tokens": tokens,
            "batch": dialogues,
        }
        os.environ["TURNWISE_MODEL_FOLDERS"] = folder
        started = time.perf_counter()
        bot: Any = create_bot("huggingface-causal", settings)
        measures["loading"] = time.perf_counter() - started
    contexts = contexts_of(dialogues)
    prompts = [bot.prompt(context, bot.prompt_room()) for context in contexts]

    def peer() -> object:
        return generate(bot, prompts, tokens, greedy=False)

    bot.respond(contexts)
    peer()
    with machine.memory(measures):
        rounds = [
            (machine.once(lambda: bot.respond(contexts)), machine.once(peer)) for _ in range(machine.repeats)
        ]  # in turn, so that a busy processor slows both
    seconds, peer_seconds = map(float, np.median(rounds, axis=0))
    one = machine.seconds(lambda: bot.respond(contexts[:1]))
    lengths = {response.usage.completion for response in bot.respond(contexts)}
    return {
        **measures,
        "lengths": sorted(lengths),
        "prompt_tokens": sum(map(len, prompts)),
        "seconds": seconds,
        "generate": peer_seconds,
        "generate_over_ours": peer_seconds / seconds,
        "reading_the_weights": tokens * 2 * parameters / machine.bytes_per_second,
        "over_reading": seconds * machine.bytes_per_second / (tokens * 2 * parameters),
        "one_dialogue": one,
        "ours": machine.longest_kernels(lambda: bot.respond(contexts)),
        "theirs": machine.longest_kernels(peer),
    }


# agreement with the CPU

TALK = ["Hi!", "Hello, how are you?", "I love tennis. Do you?", "Yes, I play every week.", "Where?"]


def measure_agreement(machine: Machine) -> MEASURES:
    """Agreement of the GPU with the CPU: replies, scores and training losses."""
    device = machine.device.type
    figures: MEASURES = {}
    settings: dict[str, Mapping[str, object]] = {
        "meena-base": {"precision": "fp32"},
        "meena-full": {"precision": "fp32", "safety": "none"},
        "meena-beam": {"precision": "fp32"},
        "vhred": {},
    }
    for name, configuration in settings.items():
        try:
            dialogues = 2 if machine.tiny else 12
            figures[name] = same_replies(name, configuration, device, dialogues)
        except Exception as error:
            traceback.print_exc()
            figures[name] = f"{type(error).__name__}: {error}"
    try:
        figures["bf16"] = measure_bf16(machine)
        figures["training"] = measure_continuing(machine)
    except Exception as error:
        traceback.print_exc()
        figures["error"] = f"{type(error).__name__}: {error}"
    return figures


def same_replies(name: str, configuration: Mapping[str, object], device: str, dialogues: int) -> MEASURES:
    """Replies to dialogues on both devices, and alone and together on this one."""
    contexts = [Context.from_texts(TALK[n % 5 : n % 5 + 1 + n % 3], seed=n) for n in range(dialogues)]
    on_device: Any = create_bot(name, {**configuration, "device": device})
    on_cpu: Any = create_bot(name, {**configuration, "device": "cpu"})
    ours, cpu = on_device.respond(contexts), on_cpu.respond(contexts)
    alone = [on_device.respond([context])[0] for context in contexts]
    return {
        "replies": len(contexts),
        "as_on_the_cpu": sum(a.text == b.text for a, b in zip(ours, cpu, strict=True)),
        "alone_as_together": sum(a.text == b.text for a, b in zip(ours, alone, strict=True)),
        "errors": [str(each.error) for each in ours if not hasattr(each, "text")][:2],
    }


def measure_bf16(machine: Machine) -> MEASURES:
    """Compare scores of the shipped model in bf16 on the GPU with float32 on the CPU, for same samples."""
    on_cpu, tokenizer = load_checkpoint(SHIPPED)
    on_device, _ = load_checkpoint(SHIPPED, device=machine.device, dtype=torch.bfloat16)
    contexts = torch.tensor([tokenizer.context(TALK[:1], length=48).tokens])
    inputs = torch.tensor([[Tokenizer.start, *tokens_of(1, 20, 4096)]])
    with torch.inference_mode():
        expected = on_cpu(contexts, inputs).log_softmax(dim=-1)
        scores = (
            on_device(contexts.to(machine.device), inputs.to(machine.device))
            .float()
            .log_softmax(dim=-1)
            .cpu()
        )
    difference = (scores - expected).abs()
    return {
        "relative_error": float((scores - expected).norm() / expected.norm()),
        "largest_difference_in_nats": float(difference.max()),
    }


def measure_continuing(machine: Machine) -> MEASURES:
    """Losses of four updates in one go, and of two and two with a checkpoint between; and on the CPU."""
    config = replace(preset("tiny"), vocabulary_size=4096, context_length=32, response_length=32, dropout=0.1)
    cpu = replace(machine, device=torch.device("cpu"))
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        pairs = write_pairs(folder, 64, 32, 4096)
        settings: dict[str, Any] = {"positions": 1024, "validate_every": 10, "checkpoint_every": 2}

        def losses(run: str, on: Machine, **more: Any) -> list[float]:
            shape = replace(config, **more.pop("shape", {}))
            trainer = trainer_of(on, folder / run, pairs, shape, **settings, **more)
            return [loss for loss, _ in trainer.steps()]

        whole = losses("whole", machine, steps=4)
        parts = [*losses("parts", machine, steps=2), *losses("parts", machine, steps=4)]
        plain: dict[str, Any] = {"steps": 4, "precision": "fp32", "shape": {"dropout": 0.0}}
        losses("first", cpu, **plain)
        plain["begin_with"] = folder / "first" / "step-0000004"
        on_device, on_cpu = losses("there", machine, **plain), losses("here", cpu, **plain)
    return {"whole": whole, "in_two_parts": parts, "fp32": on_device, "fp32_on_the_cpu": on_cpu}


PARTS: dict[str, Callable[[Machine], MEASURES]] = {
    "agreement": measure_agreement,
    "decoding": measure_decoding,
    "joining": measure_joining,
    "training": measure_training,
    "causal": measure_causal,
}


def main() -> None:
    """Measure and print; a part that fails is named, and the others run."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--tiny", action="store_true")
    parser.add_argument("--profile", action="store_true")
    parser.add_argument("--parts", nargs="+", choices=list(PARTS), default=list(PARTS))
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--output", type=Path)
    options = parser.parse_args()
    machine = Machine(torch.device(options.device), options.repeats, options.tiny, options.profile)
    torch.set_num_threads(1)
    on_gpu = machine.device.type == "cuda"
    figures: MEASURES = {
        "device": torch.cuda.get_device_name() if on_gpu else "cpu",
        "torch": torch.__version__,
        "rates": machine.measure_rates(),
    }
    for name in options.parts:
        started = time.perf_counter()
        try:
            figures[name] = PARTS[name](machine)
        except Exception as error:
            traceback.print_exc()
            figures[name] = {"error": f"{type(error).__name__}: {error}"[:500]}
        if on_gpu:
            torch.cuda.empty_cache()
        print(f"{name}: {time.perf_counter() - started:.0f} s", file=sys.stderr, flush=True)
        if options.output:
            options.output.write_text(json.dumps(figures, indent=1, default=str))
    print(json.dumps(figures, indent=1, default=str))


if __name__ == "__main__":
    main()
