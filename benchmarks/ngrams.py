"""Baseline of a model: n-gram perplexities of a corpus's held-out responses, as JSON.

Run as `python benchmarks/ngrams.py CORPUS [--response-length 128]`. The same tokens are predicted as by
`python -m chatbots meena perplexity`, the end token included, but without the context:

- `unigram`: relative frequencies, one added to each count;
- `trigram`: interpolated, with modified Kneser-Ney smoothing (Chen and Goodman 1999, section 3), as KenLM has
it.
"""

import argparse
import json
import math
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from chatbots.meena.corpus.shards import open_shards
from chatbots.meena.tokenizer import Tokenizer

Ngram = tuple[int, ...]


class KneserNey:
    """An interpolated n-gram model with modified Kneser-Ney smoothing.

    Args:
        responses: token sequences, the end token included.
        order: n, at least 2.
        vocabulary_size: tokens over which probabilities sum to 1.
    """

    def __init__(self, responses: Iterable[Sequence[int]], *, order: int, vocabulary_size: int) -> None:
        """Count."""
        self.order, self.vocabulary_size = order, vocabulary_size
        highest: Counter[Ngram] = Counter()
        for response in responses:
            highest.update(ngrams(response, order))
        # Of 1-grams, 2-grams, …; below the highest order: after how many different tokens each gram stands.
        self.counts = [highest]
        while len(self.counts) < order:
            self.counts.insert(0, Counter(gram[1:] for gram in self.counts[0]))
        self.discounts = [discounts(Counter(counts.values())) for counts in self.counts]
        self.totals = [context_totals(counts) for counts in self.counts]

    def probability(self, gram: Ngram) -> float:
        """Of the last token of a gram of at most `order` tokens, given those before it; in (0, 1)."""
        if not gram:
            return 1 / self.vocabulary_size
        context, level = gram[:-1], len(gram) - 1
        total, kinds = self.totals[level].get(context, (0, (0, 0, 0)))
        if not total:
            return self.probability(gram[1:])
        count, taken = self.counts[level].get(gram, 0), self.discounts[level]
        left_over = sum(number * discount for number, discount in zip(kinds, taken, strict=True)) / total
        own = (count - taken[min(count, 3) - 1]) / total if count else 0.0
        return own + left_over * self.probability(gram[1:])


def ngrams(response: Sequence[int], order: int) -> Iterator[Ngram]:
    """One n-gram for each token, start tokens before the first ones."""
    padded = (Tokenizer.start,) * (order - 1) + tuple(response)
    return (padded[i : i + order] for i in range(len(response)))


def discounts(counts_of_counts: Counter[int]) -> tuple[float, float, float]:
    """Discounts of counts of 1, 2, and 3 or more."""
    n1, n2, n3, n4 = (max(counts_of_counts[k], 1) for k in (1, 2, 3, 4))
    y = n1 / (n1 + 2 * n2)
    wanted = (1 - 2 * y * n2 / n1, 2 - 3 * y * n3 / n2, 3 - 4 * y * n4 / n3)
    first, second, third = (min(max(d, 0.1), k + 0.9) for k, d in enumerate(wanted))
    return first, second, third


def context_totals(counts: Counter[Ngram]) -> dict[Ngram, tuple[int, tuple[int, int, int]]]:
    """For each context: the sum of counts, and how many tokens follow once, twice, and more often."""
    totals: dict[Ngram, tuple[int, tuple[int, int, int]]] = {}
    for gram, count in counts.items():
        total, kinds = totals.get(gram[:-1], (0, (0, 0, 0)))
        place = min(count, 3) - 1
        totals[gram[:-1]] = (
            total + count,
            (
                kinds[0] + (place == 0),
                kinds[1] + (place == 1),
                kinds[2] + (place == 2),
            ),
        )
    return totals


def perplexity(log_probabilities: Sequence[float]) -> float:
    """Exp of the mean negative log-probability."""
    return math.exp(-sum(log_probabilities) / len(log_probabilities))


def responses(folder: Path, longest: int) -> Iterator[list[int]]:
    """Responses of all pairs of one part of a corpus, as training sees them."""
    for shard in open_shards(folder):
        for turn in shard.pairs():
            yield [*shard.turn(int(turn)), Tokenizer.end][:longest]


def main() -> None:
    """Count, measure and print."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("corpus", type=Path)
    parser.add_argument("--response-length", type=int, default=128)
    options = parser.parse_args()
    size = len(Tokenizer.load(options.corpus / "tokenizer.model"))
    train = list(responses(options.corpus / "train", options.response_length))
    heldout = list(responses(options.corpus / "heldout", options.response_length))
    tokens = Counter(token for response in train for token in response)
    total = tokens.total() + size
    trigram = KneserNey(train, order=3, vocabulary_size=size)
    unigrams = [math.log((tokens[token] + 1) / total) for response in heldout for token in response]
    trigrams = [math.log(trigram.probability(gram)) for response in heldout for gram in ngrams(response, 3)]
    found = {"unigram": perplexity(unigrams), "trigram": perplexity(trigrams)}
    print(json.dumps(found | {"tokens": len(trigrams)}, indent=1))


if __name__ == "__main__":
    main()
