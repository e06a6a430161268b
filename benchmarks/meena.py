"""Meena's figures: prints JSON. Run as `python benchmarks/meena.py [--repeats 5]`.

Every figure is a median over repeats, taken in turn so that a busy machine slows all of them alike. Seconds
are processor seconds of one thread, which others on the machine do not change much.

With random weights of about 33 million parameters:

- `reply`: 20 samples of 32 tokens for one context. As the bots compute it (`chatbots.meena.acceleration`:
  products in bf16 where the chip has them, of weights packed once; the rest in float32), in plain float32 and
  in float32 on packed weights, as the bots do where the chip has no bf16;
  `transformers` `generate` on a BART of equal size in float32 and in bf16; and the floors, the matrix
  products alone in the shapes of our model, by PyTorch's `linear` in float32 and in bf16, and packed as ours;
- `eight_contexts`: replies per second of eight contexts at once over those of one, as the bots compute and in
  float32; the same ratio of the packed products alone; and what it could be at most, if nothing but their
  products took time for the eight;
- `shipped`: the first ratio for the small trained model, whose samples end by themselves;
- `training`: tokens per second (contexts and responses) of one update, ours and of PyTorch's `nn.Transformer`
  with about as many parameters;
- `corpus`: megabytes of text per second on one core, and the share of that time inside sentencepiece;
- `gpus_way`: how often a reply drawn as on a GPU waits for the device, and calls an operation that computes,
  per token, counted in a profile of the CPU in place of one of a GPU. There attention and each convolution
  take fewer, and all those of a token are called at once, as a CUDA graph.

A GPU has `benchmarks/gpu.py`.
"""

import argparse
import json
import random
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn.functional import linear

from chatbots.bots.meena import SHIPPED
from chatbots.meena.acceleration import PackedLinear, gather, pack, product_type, training_precision
from chatbots.meena.cache import TO_DEVICE, TO_HOST
from chatbots.meena.config import MeenaConfig
from chatbots.meena.corpus.building import Corpus, CorpusSettings
from chatbots.meena.model import Meena, count_parameters, load_checkpoint
from chatbots.meena.sampling import MEENA_BASE, SampleStream, SamplingSettings
from chatbots.meena.training.perplexity import negative_log_likelihood

SAMPLES, TOKENS, CONTEXT = 20, 32, 60
ALL = SamplingSettings(samples=SAMPLES, temperature=1.0)
MEDIUM = MeenaConfig(hidden_size=512, heads=8, decoder_blocks=3, response_length=TOKENS)
MEASURES = dict[str, object]


def seconds(work: Callable[[], object], device: torch.device) -> float:
    """Time of one call; processor time on the CPU."""
    clock = time.perf_counter if device.type == "cuda" else time.process_time
    started = clock()
    work()
    if device.type == "cuda":
        torch.cuda.synchronize()
    return clock() - started


def medians(
    works: Mapping[str, Callable[[], object]], repeats: int, device: torch.device
) -> dict[str, float]:
    """Median seconds of each work, all of them in turn, after one round that is not counted."""
    rounds = [{name: seconds(work, device) for name, work in works.items()} for _ in range(repeats + 1)]
    return {name: float(np.median([each[name] for each in rounds[1:]])) for name in works}


def random_model(config: MeenaConfig, device: torch.device, dtype: torch.dtype = torch.float32) -> Meena:
    """A model that hardly ever ends a response, so that all samples have the full length."""
    with torch.device("meta"):
        model = Meena(config)
    model = model.to(dtype).to_empty(device=device).eval().requires_grad_(False)
    model.reset_positions()
    model.to(device)
    for parameter in model.parameters():
        nn.init.normal_(parameter, std=0.02)
    return model


def contexts(number: int) -> list[list[int]]:
    """Contexts of random tokens."""
    generator = random.Random(number)
    return [[generator.randrange(5, 8192) for _ in range(CONTEXT)] for _ in range(number)]


def reply(model: Meena, number: int = 1) -> Callable[[], object]:
    """Sampling for that many contexts at once, in a stream that stays, as a bot's does."""
    return replies(model, contexts(number), ALL, room=number)


def replies(
    model: Meena, given: list[list[int]], settings: SamplingSettings, *, room: int
) -> Callable[[], object]:
    """Sampling for contexts, that many at once, the next joining as soon as one is done."""
    stream = SampleStream(model, settings, room=room)

    def work() -> None:
        waiting, done = list(enumerate(given)), 0
        while done < len(given):
            joining, waiting = waiting[: stream.room], waiting[stream.room :]
            stream.admit([context for _, context in joining], [seed for seed, _ in joining])
            done += len(stream.step())

    return work


def matrix_products(
    model: Meena, dtype: torch.dtype = torch.float32, *, packed: bool = False, number: int = 1
) -> Callable[[], object]:
    """The products of all layers that replies to so many contexts need, and nothing between them.

    Args:
        model: its dense layers give the shapes.
        dtype: dtype of the products.
        packed: whether on packed weights, as the bots do.
        number: contexts at once.
    """

    def prepare(weight: Tensor, rows: int) -> Callable[[], Tensor]:
        inputs, typed = torch.randn(rows, weight.size(1)).to(dtype), weight.to(dtype)
        if not packed:
            return lambda: linear(inputs, typed)
        layer = PackedLinear(typed, None, dtype)
        gather([layer.weight])
        return lambda: layer(inputs)

    per_token: list[Callable[[], Tensor]] = []
    per_context: list[Callable[[], Tensor]] = []
    for name, layer in model.named_modules():
        if isinstance(layer, nn.Linear):
            if name.startswith("encoder.") or "encoder_attention.key_value" in name:
                per_context.append(prepare(layer.weight, number * CONTEXT))
            else:
                per_token.append(prepare(layer.weight, number * SAMPLES))
    per_token.append(prepare(model.embedding.weight, number * SAMPLES))

    @torch.inference_mode()
    def work() -> None:
        for product in per_context + TOKENS * per_token:
            product()

    return work


def bart_reply(dtype: torch.dtype) -> tuple[Callable[[], object], int]:
    """Draw the samples with `transformers` in that precision; return also the number of parameters."""
    from transformers import BartConfig, BartForConditionalGeneration

    config = BartConfig(
        vocab_size=8192,
        d_model=512,
        max_position_embeddings=256,
        encoder_layers=1,
        decoder_layers=6,
        encoder_ffn_dim=2048,
        decoder_ffn_dim=2048,
        encoder_attention_heads=8,
        decoder_attention_heads=8,
    )
    model: Any = BartForConditionalGeneration(config)
    model.to(dtype).eval()
    tokens = torch.tensor(contexts(1))

    def generate() -> object:
        with torch.inference_mode():
            return model.generate(
                tokens,
                do_sample=True,
                top_k=0,
                num_return_sequences=SAMPLES,
                min_new_tokens=TOKENS,
                max_new_tokens=TOKENS,
            )

    return generate, sum(parameter.numel() for parameter in model.parameters())


class PlainTransformer(nn.Module):
    """PyTorch's own encoder and decoder between shared embeddings: what training is compared with."""

    def __init__(self, hidden_size: int, decoder_layers: int) -> None:
        """Build it with one encoder layer, pre-norm."""
        super().__init__()
        self.embedding = nn.Embedding(8192, hidden_size)
        self.layers = nn.Transformer(
            hidden_size, 8, 1, decoder_layers, 4 * hidden_size, 0.1, batch_first=True, norm_first=True
        )

    def forward(self, given: Tensor, inputs: Tensor) -> Tensor:
        """Scores of the next tokens: (n, s), (n, t) → (n, t, v)."""
        mask = nn.Transformer.generate_square_subsequent_mask(inputs.size(1), device=inputs.device)
        states: Tensor = self.layers(
            self.embedding(given), self.embedding(inputs), tgt_mask=mask, tgt_is_causal=True
        )
        return states @ self.embedding.weight.t()


def update(model: nn.Module, batch: tuple[Tensor, Tensor]) -> Callable[[], object]:
    """One training step without the optimiser, which both would share."""

    def work() -> None:
        given, targets = batch
        model.zero_grad(set_to_none=True)
        in_bf16 = training_precision(given.device) == "bf16"
        with torch.autocast(given.device.type, torch.bfloat16, enabled=in_bf16):
            scores = model(given, targets)
        torch.autograd.backward(negative_log_likelihood(scores, targets) / targets.numel())

    return work


def random_batch(size: int, device: torch.device) -> tuple[Tensor, Tensor]:
    """Contexts of 64 and responses of 32 random tokens."""
    return tuple(torch.randint(5, 8192, (size, length), device=device) for length in (64, 32))  # type: ignore[return-value]


def measure_corpus() -> MEASURES:
    """Build a corpus of made-up conversations in one process."""
    generator = random.Random(0)
    words = ["".join(generator.choices("etaoinshrdlu", k=generator.randint(2, 8))) for _ in range(5000)]
    with tempfile.TemporaryDirectory() as folder:
        part = Path(folder) / "talk.jsonl"
        with part.open("w") as file:
            for number in range(8000):
                turns = [" ".join(generator.choices(words, k=generator.randint(3, 20))) for _ in range(10)]
                file.write(json.dumps({"id": str(number), "turns": turns}) + "\n")
        corpus = Corpus(Path(folder) / "corpus", [part], CorpusSettings(vocabulary_size=2000, safety="none"))
        scan = seconds(lambda: corpus.scan(part), torch.device("cpu"))
        corpus.learn_tokenizer()
        encode = seconds(lambda: corpus.encode(part), torch.device("cpu"))
        spent = corpus.merge()["seconds"]
        size = part.stat().st_size / 1e6
    return {
        "megabytes_per_second": size / (scan + encode),
        "encode_megabytes_per_second": size / encode,
        "sentencepiece_share_of_encode": spent["sentencepiece"] / spent["total"],
    }


def measure_cpu(repeats: int) -> MEASURES:
    """All figures of the CPU."""
    device = torch.device("cpu")
    bf16_generate, _ = bart_reply(torch.bfloat16)
    generate, bart_size = bart_reply(torch.float32)
    evolved, plain = Meena(MEDIUM).train(), PlainTransformer(512, 6).train()
    trained = medians(
        {"ours": update(evolved, random_batch(16, device)), "plain": update(plain, random_batch(16, device))},
        repeats,
        device,
    )
    return {
        "parameters": {"ours": count_parameters(MEDIUM)["total"], "bart": bart_size, "plain": size_of(plain)},
        **measure_replies({"transformers_float32": generate, "transformers_bf16": bf16_generate}, repeats),
        "shipped": measure_shipped(repeats),
        "training": {
            "tokens_per_second": {name: 16 * 96 / each for name, each in trained.items()},
            "ours_over_plain": trained["plain"] / trained["ours"],
        },
        "corpus": measure_corpus(),
        "gpus_way": measure_device_calls(),
    }


def measure_replies(peers: Mapping[str, Callable[[], object]], repeats: int) -> MEASURES:
    """Replies of one context and of eight, beside the peers' and the matrix products alone."""
    device, model = torch.device("cpu"), random_model(MEDIUM, torch.device("cpu"))
    packed = pack(random_model(MEDIUM, device))
    packed_float32 = pack(random_model(MEDIUM, device), torch.float32)
    taken = medians(
        {
            "ours": reply(packed),
            "ours_float32": reply(model),
            "ours_packed_float32": reply(packed_float32),
            **peers,
            "products_float32": matrix_products(model),
            "products_bf16": matrix_products(model, torch.bfloat16),
            "products_packed": matrix_products(model, product_type(), packed=True),
            "products_packed_float32": matrix_products(model, packed=True),
            "eight": reply(packed, 8),
            "eight_products_packed": matrix_products(model, product_type(), packed=True, number=8),
            "eight_packed_float32": reply(packed_float32, 8),
            "eight_products_packed_float32": matrix_products(model, packed=True, number=8),
        },
        repeats,
        device,
    )
    ours = taken["ours"]
    return {
        "reply": {
            "seconds": {name: value for name, value in taken.items() if "eight" not in name},
            "transformers_float32_over_ours": taken["transformers_float32"] / ours,
            "transformers_bf16_over_ours": taken["transformers_bf16"] / ours,
            "transformers_float32_over_ours_float32": taken["transformers_float32"] / taken["ours_float32"],
            "transformers_float32_over_ours_packed_float32": (
                taken["transformers_float32"] / taken["ours_packed_float32"]
            ),
            "ours_over_products_bf16": ours / taken["products_bf16"],
            "ours_over_products_packed": ours / taken["products_packed"],
            "ours_float32_over_products_float32": taken["ours_float32"] / taken["products_float32"],
        },
        "eight_contexts": {
            "seconds": {name: value for name, value in taken.items() if "eight" in name},
            "as_the_bots": over_one(taken, ours="ours", eight="eight", products="products_packed"),
            "in_float32": over_one(
                taken,
                ours="ours_packed_float32",
                eight="eight_packed_float32",
                products="products_packed_float32",
            ),
        },
    }


def over_one(taken: Mapping[str, float], *, ours: str, eight: str, products: str) -> MEASURES:
    """Replies per second of eight contexts at once over those of one, and what bounds that."""
    of_eight = taken[f"eight_{products}"]
    return {
        "throughput_over_one": 8 * taken[ours] / taken[eight],
        "products_alone": 8 * taken[products] / of_eight,
        "if_only_the_products_of_eight_took_time": 8 * taken[ours] / of_eight,
    }


VIEWS = {
    *("alias", "as_strided", "detach", "empty", "empty_like", "empty_strided", "expand", "permute"),
    *("reshape", "resolve_conj", "resolve_neg", "select", "slice", "split", "squeeze", "t", "transpose"),
    *(
        "unbind",
        "unsqueeze",
        "view",
        "_unsafe_view",
        "lift_fresh",
        "narrow",
        "chunk",
        "flatten",
        "result_type",
    ),
}
"""Operations that compute nothing."""


def measure_device_calls() -> MEASURES:
    """Count the device calls of Python for the tokens of a reply, from the second one on."""
    model = random_model(MEDIUM, torch.device("cpu"))
    stream = SampleStream(model, ALL, room=1, steady=True)
    stream.admit(contexts(1), [1])
    stream.step()
    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU]) as profile:
        for _ in range(TOKENS - 1):
            stream.step()
    events = profile.events() or []
    called = Counter(
        event.name.removeprefix("aten::")
        for event in events
        if event.name.startswith("aten::") and not any("::" in child.name for child in event.cpu_children)
    )
    waits = Counter(event.name for event in events)
    kernels = sum(times for name, times in called.items() if name not in VIEWS)
    return {
        "waits_per_token": (waits[TO_HOST] + waits[TO_DEVICE] + called["_local_scalar_dense"]) / (TOKENS - 1),
        "operations_per_token": kernels / (TOKENS - 1),
        "of_them_per_block": kernels / (TOKENS - 1) / MEDIUM.decoder_blocks,
    }


def measure_shipped(repeats: int) -> MEASURES:
    """Replies of the small trained model to 16 contexts, one after another and eight at once."""
    model, tokenizer = load_checkpoint(SHIPPED)
    pack(model)
    said = ["Hi!", "Do you like movies?", "I love tennis", "What is your favorite band?"]
    given = [tokenizer.context(said[-n:], length=64).tokens for n in (1, 2, 3, 4)] * 4
    taken = medians(
        {
            "one_after_another": replies(model, given, MEENA_BASE, room=1),
            "eight_at_once": replies(model, given, MEENA_BASE, room=8),
        },
        repeats,
        torch.device("cpu"),
    )
    return {
        "seconds_per_reply": {name: value / len(given) for name, value in taken.items()},
        "throughput_over_one": taken["one_after_another"] / taken["eight_at_once"],
    }


def size_of(model: nn.Module) -> int:
    """Parameters of a model."""
    return sum(parameter.numel() for parameter in model.parameters())


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--repeats", type=int, default=5)
    options = parser.parse_args()
    torch.set_num_threads(1)
    measured = measure_cpu(options.repeats)
    print(json.dumps({"torch": torch.__version__, **measured}, indent=1))


if __name__ == "__main__":
    main()
