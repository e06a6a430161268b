"""Metrics of conversations: exchanges per second of each, and the encoders' share, as JSON.

    PYTHONPATH=. python benchmarks/conversation.py FILE [--exchanges 100000] [--sentences 5000]

FILE is JSON Lines with a list `turns` on each line (`.gz` is read, too), such as the shared self-dialogues.
Seconds are of the processor (`process_time`), so that other programs on the machine count little. What turns
texts into numbers (cutting into words, VADER, looking up GloVe's vectors, MiniLM) is told apart from what is
computed from them. MiniLM encodes `--sentences` of the texts, and the rest is reckoned from them.
"""

import argparse
import gzip
import json
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from evaluation.conversation import metrics
from evaluation.conversation.encoders import encoders
from evaluation.conversation.exchanges import Exchanges, of_bots
from evaluation.conversation.ngrams import overlap
from evaluation.conversation.similarity import average, cosines, cut, extrema, greedy, word_rows

T = TypeVar("T")
REPEATS = 3


def conversations(path: Path, exchanges: int) -> Iterator[list[tuple[str, str]]]:
    """As many as have so many exchanges together."""
    found = 0
    with (gzip.open if path.suffix == ".gz" else open)(path, "rt", encoding="utf-8") as lines:
        for line in lines:
            turns = json.loads(line)["turns"]
            texts = [turn["text"] if isinstance(turn, dict) else turn for turn in turns]
            yield [(str(place % 2), text) for place, text in enumerate(texts)]
            found += len(texts) - 1
            if found >= exchanges:
                return


def measure(run: Callable[[], T], times: int = REPEATS) -> tuple[float, T]:
    """Least seconds of the processor, and what came of it."""
    seconds = []
    for _ in range(times):
        began = time.process_time()
        answer = run()
        seconds.append(time.process_time() - began)
    return min(seconds), answer


def pure(exchanges: Exchanges, sentiment: Any, rows: Any, words: Any, vectors: Any) -> dict[str, float]:
    """Seconds of each metric from what the encoders gave."""
    corrected = metrics.Variant.CORRECTED
    said, reply = exchanges.said, exchanges.reply
    runs: dict[str, Callable[[], object]] = {
        "laughter, question, words": lambda: metrics._plain(exchanges, words, corrected),
        "sentiment, transition": lambda: metrics._sentiments(exchanges, sentiment, corrected),
        "min_max": lambda: metrics._min_max(exchanges, sentiment, corrected),
        "semantic_similarity": lambda: cosines(vectors, said, reply),
        "average_coherence": lambda: average(rows, said, reply),
        "extrema_coherence": lambda: extrema(rows, said, reply),
        "greedy_coherence": lambda: greedy(rows, said, reply),
        "mean of each conversation": lambda: metrics.means(exchanges, sentiment[said]),
    }
    return {name: measure(run)[0] for name, run in runs.items()}


def main() -> None:
    """Print the figures."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("file", type=Path)
    parser.add_argument("--exchanges", type=int, default=100_000)
    parser.add_argument("--sentences", type=int, default=5_000)
    options = parser.parse_args()
    talks = list(conversations(options.file, options.exchanges))
    here = encoders()
    feelings, encoder, glove = here.emotions, here.sentences, here.vectors
    assert feelings, here.missing
    assert encoder, here.missing
    assert glove, here.missing
    gathering, exchanges = measure(lambda: of_bots(talks))
    cutting, words = measure(lambda: cut(exchanges.texts))
    feeling, sentiment = measure(lambda: feelings.sentiment(exchanges.texts), 1)
    glove.of(["load"])
    looking, (index, table) = measure(lambda: glove.of(words.vocabulary))
    placing, rows = measure(lambda: word_rows(words, index, table))
    some = exchanges.texts[:: max(1, len(exchanges.texts) // options.sentences)]
    encoder.encode(some[:8])
    encoding, encoded = measure(lambda: encoder.encode(some), 1)
    encoding *= len(exchanges.texts) / len(some)
    vectors = np.resize(encoded, (len(exchanges.texts), encoded.shape[1]))
    n = len(exchanges)
    computed = pure(exchanges, sentiment, rows, words, vectors)
    coded = {
        "cutting into words": cutting,
        feelings.name: feeling,
        f"{glove.name}, of the vocabulary": looking,
        f"{glove.name}, of the texts": placing,
        encoder.name: encoding,
    }
    texts = [[text for _, text in talk] for talk in talks]
    whole = sum(computed.values()) + sum(coded.values()) + gathering
    answer = {
        "exchanges": n,
        "conversations": len(talks),
        "distinct_texts": len(exchanges.texts),
        "exchanges_per_second": {name: round(n / seconds) for name, seconds in computed.items()},
        "encoders_exchanges_per_second": {name: round(n / seconds) for name, seconds in coded.items()},
        "gathering_exchanges_per_second": round(n / gathering),
        "overlap_of_three_seconds": round(measure(lambda: overlap(texts, 3), 1)[0], 2),
        "whole_seconds": round(whole, 1),
        "share_of_encoders": round(sum(coded.values()) / whole, 3),
        "share_without_sentences": round((sum(coded.values()) - encoding) / (whole - encoding), 3),
    }
    print(json.dumps(answer, indent=2))


if __name__ == "__main__":
    main()
