"""The nearest sentence of TF-IDF for each turn: sparse matrix products against loops over scikit-learn.

Run as `python benchmarks/knowledge_oracle.py CONVERSATIONS.json READING_SETS.json`, the two files of
Topical-Chat. In one thread and processor seconds, sentences fitted before the clock starts; "loop"
transforms each turn and the sentences that its speaker had read and takes their cosines, "kept" transforms
every sentence once.
Prints JSON.
"""

import json
import os
import sys
import time
from pathlib import Path

os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.metrics.pairwise import linear_kernel

from chatbots.knowledge.conversations import read_conversations, read_reading_sets
from chatbots.knowledge.corpus import Library
from chatbots.knowledge.oracle import NONE, IntArray, Ranker


def nearest_in_a_loop(
    vectorizer: TfidfVectorizer,
    sentences: list[str],
    texts: list[str],
    candidates: list[IntArray],
    kept: bool,
) -> list[int]:
    """Version of `Ranker.nearest` that handles one text after another."""
    of_sentences = vectorizer.transform(sentences) if kept else None
    found = []
    for text, places in zip(texts, candidates, strict=True):
        read = (
            vectorizer.transform([sentences[place] for place in places]) if of_sentences is None
            else of_sentences[places]
        )  # fmt: skip
        cosines = linear_kernel(vectorizer.transform([text]), read)[0].round(12)
        best = int(np.argmax(cosines))
        found.append(int(places[best]) if cosines[best] > 0 else NONE)
    return found


def main(conversations: Path, reading_sets: Path) -> None:
    """Measure and print."""
    sets = read_reading_sets([reading_sets])
    library = Library(sets.values())
    sentences = library.sentences
    texts, candidates = library.candidates(read_conversations(conversations, sets))
    ranker, vectorizer = Ranker(sentences), TfidfVectorizer().fit(sentences)
    seconds: dict[str, float] = {}
    found: dict[str, list[int]] = {}

    def timed(name: str) -> None:
        started = time.process_time()
        if name == "products":
            found[name] = ranker.nearest(texts, candidates).sentences.tolist()
        else:
            found[name] = nearest_in_a_loop(vectorizer, sentences, texts, candidates, name == "kept")
        seconds[name] = time.process_time() - started

    for name in ("products", "kept", "loop"):
        timed(name)
    print(
        json.dumps(
            {
                "turns": len(texts),
                "sentences": len(sentences),
                "candidates_per_turn": round(float(np.mean([len(each) for each in candidates])), 1),
                "without_a_sentence": found["products"].count(NONE),
                "equal": found["products"] == found["kept"] == found["loop"],
                "seconds": {name: round(value, 2) for name, value in seconds.items()},
                "times_the_loop": round(seconds["loop"] / seconds["products"], 1),
                "times_the_loop_that_keeps_sentences": round(seconds["kept"] / seconds["products"], 1),
            },
            indent=1,
        )
    )


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
