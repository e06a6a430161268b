"""Speed-up of decoding dialogues together: a model of about 30M parameters on the CPU.

    python benchmarks/huggingface.py [--kind causal|seq2seq] [--dialogues 16] [--tokens 32] [--repeats 5]

Builds a GPT-2, or a BlenderBot, with random weights, real files and the bot around them; answers the same
contexts together, one joining the others after each token, one after another, and with
`transformers.generate` in one padded batch, in the same run. Greedy, so that the replies can be compared
token for token. Prints JSON; times are medians in seconds.
"""

import argparse
import json
import platform
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import torch
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
from transformers import (
    BlenderbotConfig,
    BlenderbotForConditionalGeneration,
    GPT2Config,
    GPT2LMHeadModel,
    PreTrainedTokenizerFast,
)

from chatbots.base import Context
from chatbots.registry import create_bot

END = "<|endoftext|>"
WORDS = ["I", "you", "we", "like", "hate", "the", "a", "red", "big", "old", "cat", "dog", "house", "."]


def save_model(folder: Path, kind: str) -> int:
    """Write a model of about 30M parameters and a byte-level tokenizer; returns the number of parameters."""
    trained = Tokenizer(models.BPE())
    trained.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    trained.decoder = decoders.ByteLevel()
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    trained.train_from_iterator(
        [" ".join(WORDS)] * 10, trainers.BpeTrainer(special_tokens=[END], initial_alphabet=alphabet)
    )
    tokenizer = PreTrainedTokenizerFast(tokenizer_object=trained, eos_token=END)  # type: ignore[no-untyped-call]
    torch.manual_seed(0)
    model = gpt2() if kind == "causal" else blenderbot()
    model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return sum(parameter.numel() for parameter in model.parameters())


def gpt2() -> Any:
    return GPT2LMHeadModel(
        GPT2Config(
            vocab_size=20_000,
            n_embd=512,
            n_layer=6,
            n_head=8,
            bos_token_id=0,
            eos_token_id=0,
            initializer_range=0.2,
        )
    )


def blenderbot() -> Any:
    """Build a BlenderBot with few encoder layers and more decoder layers, as its authors' models have."""
    return BlenderbotForConditionalGeneration(
        BlenderbotConfig(
            vocab_size=20_000,
            d_model=512,
            encoder_layers=1,
            decoder_layers=4,
            encoder_attention_heads=8,
            decoder_attention_heads=8,
            encoder_ffn_dim=2048,
            decoder_ffn_dim=2048,
            max_position_embeddings=1024,
            pad_token_id=0,
            bos_token_id=0,
            eos_token_id=0,
            decoder_start_token_id=1,
            forced_eos_token_id=None,
            init_std=0.2,
        )
    )


def contexts_of(number: int) -> list[Context]:
    """Dialogues of one to seven turns of different lengths."""
    texts = [" ".join(WORDS[(n + k) % len(WORDS)] for k in range(4 + n % 9)) for n in range(number + 7)]
    return [Context.from_texts(texts[n : n + 1 + n % 7], seed=n) for n in range(number)]


def seconds_of(repeats: int, work: Callable[[], Any]) -> float:
    """Median time of some work, after one run that is not counted."""
    work()
    times = []
    for _ in range(repeats):
        started = time.perf_counter()
        work()
        times.append(time.perf_counter() - started)
    return float(np.median(times))


def generate(bot: Any, prompts: list[list[int]], tokens: int, *, greedy: bool = True) -> Any:
    """Generate replies with the decoding of transformers in one padded batch; sampled unless greedy."""
    longest = max(map(len, prompts))
    rows = []
    for prompt in prompts:
        left = longest - len(prompt)
        before, after = (0, left) if bot.architecture == "seq2seq" else (left, 0)
        rows.append(([0] * before + prompt + [0] * after, [0] * before + [1] * len(prompt) + [0] * after))
    ids, mask = (torch.tensor(each, device=bot.model.device) for each in zip(*rows, strict=True))
    with torch.inference_mode():
        return bot.model.generate(
            ids,
            attention_mask=mask,
            do_sample=not greedy,
            **({} if greedy else {"top_k": 0}),
            max_new_tokens=tokens,
            pad_token_id=0,
            min_new_tokens=tokens,
        )


def join_one_by_one(bot: Any, contexts: list[Context]) -> list[Any]:
    """Responses if one more context joins before each step, as dialogues do in hosting."""
    done: dict[int, Any] = {}
    answering, waiting = bot.answering(), list(contexts)
    while len(done) < len(contexts):
        if waiting and answering.room:
            answering.admit([waiting.pop(0)])
        done |= answering.step()
    return [done[key] for key in sorted(done)]  # keys are given in the order of joining


def measured(kind: str = "causal", dialogues: int = 16, tokens: int = 32, repeats: int = 5) -> dict[str, Any]:
    """Measure and return all printed figures."""
    with tempfile.TemporaryDirectory() as folder:
        parameters = save_model(Path(folder), kind)
        bot: Any = create_bot(
            f"huggingface-{kind}",
            {"model": folder, "greedy": True, "most_tokens": tokens, "batch": dialogues},
        )
    contexts = contexts_of(dialogues)
    prompts = [bot.prompt(context, bot.prompt_room()) for context in contexts]
    together = bot.respond(contexts)
    alone = [bot.respond([context])[0] for context in contexts]
    joined = join_one_by_one(bot, contexts)
    times = {
        "together": seconds_of(repeats, lambda: bot.respond(contexts)),
        "joining": seconds_of(repeats, lambda: join_one_by_one(bot, contexts)),
        "one_after_another": seconds_of(repeats, lambda: [bot.respond([context]) for context in contexts]),
        "transformers_generate_together": seconds_of(repeats, lambda: generate(bot, prompts, tokens)),
    }
    return {
        "kind": kind,
        "parameters": parameters,
        "dialogues": dialogues,
        "tokens_of_replies": [response.usage.completion for response in together],
        "different_replies": len({response.text for response in together}),
        "same_replies_as_alone": together == alone == joined,
        "seconds": {name: round(seconds, 3) for name, seconds in times.items()},
        "gain": round(times["one_after_another"] / times["together"], 2),
        "gain_joining": round(times["one_after_another"] / times["joining"], 2),
        "against_generate": round(times["transformers_generate_together"] / times["together"], 2),
        "threads": torch.get_num_threads(),
        "torch": torch.__version__,
        "machine": platform.machine(),
    }


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--kind", choices=["causal", "seq2seq"], default="causal")
    parser.add_argument("--dialogues", type=int, default=16)
    parser.add_argument("--tokens", type=int, default=32)
    parser.add_argument("--repeats", type=int, default=5)
    print(json.dumps(measured(**vars(parser.parse_args())), indent=1))


if __name__ == "__main__":
    main()
