"""Time the training of HRED; prints JSON: `PYTHONPATH=. python benchmarks/hierarchical.py [--repeats 9]`.

One update's forward and backward pass of HRED with encoder, context and decoder of 1,000, embeddings of 500
and 20,000 words, on conversations of 2 to 10 utterances of 3 to 30 words. Seconds are of the processor, of
one thread, of repeats taken in turn, so that a busy machine slows all alike; ratios are of the same repeat.
Medians are printed with the lowest and the highest; a first round, which warms up, is not counted.

- `ours`: the model as it is trained;
- `products`: its matrix products alone, forward and backward, in the same shapes, position by position where
  the recurrence needs it;
- `loop`: the same weights as `torch.nn.GRU` modules in a plain loop over conversations and utterances.

The loop's gradients are compared with ours.
"""

import argparse
import json
import os
import time
from collections.abc import Callable, Sequence
from itertools import pairwise

import numpy as np
import torch
from torch import Tensor
from torch.nn.functional import cross_entropy, linear

from chatbots.hierarchical.batching import Batch, collate
from chatbots.hierarchical.config import HierarchicalConfig
from chatbots.hierarchical.model import Hierarchical
from chatbots.training.vocabulary import END, START

Conversations = list[list[list[int]]]


def conversations(number: int, vocabulary: int) -> Conversations:
    """Uneven ones, of random words."""
    random = np.random.default_rng(0)

    def utterance() -> list[int]:
        return [*random.integers(4, vocabulary, int(random.integers(2, 30))).tolist(), END]

    return [[utterance() for _ in range(int(random.integers(2, 11)))] for _ in range(number)]


def ours(model: Hierarchical, batch: Batch) -> Tensor:
    """Loss, with gradients."""
    loss: Tensor = model(batch).words
    torch.autograd.backward(loss)
    return loss.detach()


def loop(model: Hierarchical, said: Conversations) -> Tensor:
    """Encode one utterance after another."""
    total = torch.zeros(())
    for turns in said:
        state = None
        for utterance, answer in pairwise(turns):
            _, read = model.encoder(model.embedding(torch.tensor([utterance])))
            _, state = model.context(read.transpose(0, 1).reshape(1, 1, -1), state)
            first = model.to_decoder(state).tanh()
            outputs, _ = model.decoder(model.embedding(torch.tensor([[START, *answer[:-1]]])), first)
            scores = model.output(outputs[0], model.embedding.weight)
            total = total + cross_entropy(scores, torch.tensor(answer), reduction="sum")
    torch.autograd.backward(total)
    return total.detach()


def sizes_at(lengths: Sequence[int]) -> list[int]:
    """Number of sequences that reach each position."""
    return [sum(length > position for length in lengths) for position in range(max(lengths))]


def products(model: Hierarchical, batch: Batch) -> Callable[[], None]:
    """All matrix products of an update: y = x W, and of its gradients dx = dy W' and dW = dy' x."""
    c = model.config
    read = [int(length) for length in batch.lengths]
    written = [int(batch.lengths[place]) for place in batch.written]
    answered, turns = len(written), [int(n) - 1 for n in batch.turns]
    whole, recurrent = [], []
    for _ in range(2):
        whole.append((sum(read), c.embedding_size, 3 * c.encoder_size))
        recurrent.append((sizes_at(read), c.encoder_size))
    whole += [
        (answered, 2 * c.encoder_size, 3 * c.context_size),
        (answered, c.context_size, c.decoder_size),
        (sum(written), c.embedding_size, 3 * c.decoder_size),
        (sum(written), c.decoder_size, c.vocabulary_size),
    ]
    recurrent += [(sizes_at(turns), c.context_size), (sizes_at(written), c.decoder_size)]
    prepared = [(torch.randn(n, i), torch.randn(o, i), torch.randn(n, o)) for n, i, o in whole]
    stepped = [
        (sizes, torch.randn(sum(sizes), h), torch.randn(3 * h, h), torch.randn(sum(sizes), 3 * h))
        for sizes, h in recurrent
    ]

    def run() -> None:
        for x, weight, gradient in prepared:
            linear(x, weight)
            gradient @ weight
            gradient.t() @ x
        for sizes, x, weight, gradient in stepped:
            for size in sizes:
                linear(x[:size], weight)
                gradient[:size] @ weight
            gradient.t() @ x

    return run


def gradients(model: Hierarchical) -> list[Tensor]:
    """Of all parameters; forgets them."""
    found = [parameter.grad for parameter in model.parameters() if parameter.grad is not None]
    model.zero_grad()
    return found


def difference(ours_: Sequence[Tensor], theirs: Sequence[Tensor]) -> float:
    """The largest difference of gradients, each in units of its largest number."""
    pairs = zip(ours_, theirs, strict=True)
    return max(float((a - b).abs().max() / b.abs().max()) for a, b in pairs)


def seconds(work: Callable[[], object]) -> float:
    """Of the processor."""
    started = time.process_time()
    work()
    return time.process_time() - started


def spread(values: Sequence[float]) -> dict[str, float]:
    """Median and range."""
    return {"median": float(np.median(values)), "lowest": min(values), "highest": max(values)}


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--conversations", type=int, default=16)
    parser.add_argument("--repeats", type=int, default=9, help="that are counted")
    options = parser.parse_args()
    if options.repeats < 1:
        parser.error(f"--repeats {options.repeats} must be at least 1.")
    torch.set_num_threads(1)
    torch.manual_seed(0)
    config = HierarchicalConfig(
        architecture="hred", encoder_size=1_000, context_size=1_000, decoder_size=1_000, embedding_size=500
    )
    model = Hierarchical(config)
    said = conversations(options.conversations, model.config.vocabulary_size)
    batch = collate(said)
    work = {"ours": lambda: ours(model, batch), "loop": lambda: loop(model, said)}
    bare = products(model, batch)
    rounds: list[dict[str, float]] = []
    for _ in range(1 + options.repeats):
        took, found = {}, []
        for name, each in work.items():
            took[name] = seconds(each)
            found.append(gradients(model))
        rounds.append(took | {"products": seconds(bare)})
    del rounds[0]
    report = {
        "words": batch.words,
        "repeats": options.repeats,
        "load": os.getloadavg()[0],
        "largest_difference_from_the_loop": difference(*found),
        "seconds": {name: spread([took[name] for took in rounds]) for name in rounds[0]},
        "words_per_second": {
            name: spread([batch.words / took[name] for took in rounds]) for name in rounds[0]
        },
        "ours_over_products": spread([took["ours"] / took["products"] for took in rounds]),
        "loop_over_ours": spread([took["loop"] / took["ours"] for took in rounds]),
    }
    print(json.dumps(report, indent=1))


if __name__ == "__main__":
    main()
