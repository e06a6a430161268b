"""Lessons in reading: texts to repeat, before a model learns to converse.

A model trained on conversations alone hardly learns to use the sentence beside them: it can guess most words
of an answer without it. In a lesson the answer is the sentence itself, after a random turn. Half of the texts
are sentences that people read, half are turns, which are far more: a model cannot learn them by heart without
reading. Lessons are a corpus like any other; a run on them is the `--initial` of the run on conversations. A
model without knowledge learns the same texts as language.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from chatbots.knowledge.corpus import (
    Part,
    Sentences,
    load_part,
    load_sentences,
    load_vocabulary,
    write_numbers,
    write_sentences,
)
from chatbots.knowledge.oracle import NONE, IntArray
from chatbots.training.files import CorpusError, write_atomically
from chatbots.training.settings import check_range

HELD_OUT = 0.02
"""Share of the sentences, of the turns and of the lessons used only for validation."""


def write_lessons(corpus: Path, output: Path, *, number: int, seed: int) -> dict[str, int]:
    """Write a corpus of lessons from a corpus's training turns and their sentences.

    Args:
        corpus: folder of conversations as numbers, with reading sets.
        output: folder of the lessons, with the same vocabulary; its contents are replaced.
        number: number of lessons to learn from; a fiftieth, at least two, is added to validate on.
        seed: seed of the random choices.

    Returns:
        Numbers of training lessons, and of their sentences and turns.

    Raises:
        CorpusError: the training turns draw on fewer than two sentences, or the corpus cannot be read.
        ValueError: a number out of its range.
    """
    check_range("number", number, least=2)
    check_range("seed", seed, least=0)
    talk, sentences, vocabulary = load_part(corpus, "train"), load_sentences(corpus), load_vocabulary(corpus)
    rng = np.random.default_rng(seed)
    read = _dealt(np.unique(talk.sentences[talk.sentences != NONE]), rng)
    turns = _dealt(np.arange(len(talk.sentences)) + len(sentences.begins) - 1, rng)
    if not len(read["train"]):
        raise CorpusError(
            f"The training turns of {corpus} draw on fewer than two sentences. Build it with its reading "
            "sets."
        )
    texts = Sentences(
        np.concatenate([sentences.words, talk.words]),
        np.concatenate([sentences.begins, talk.turns[1:] + len(sentences.words)]),
    )
    for name, count in (("train", number), ("validation", max(2, round(number * HELD_OUT)))):
        repeated = np.concatenate(
            [np.resize(read[name], count // 2), np.resize(turns[name], count - count // 2)]
        )
        write_numbers(output, name, lessons(talk, texts, repeated, rng))
    write_sentences(output, texts)
    write_atomically(output / "vocabulary.json", vocabulary.to_json())
    return {"lessons": number, "sentences": len(read["train"]), "turns": len(turns["train"])}


def _dealt(numbers: IntArray, rng: np.random.Generator) -> dict[str, IntArray]:
    """Shuffle numbers of texts, and set some aside for validation."""
    held_out, shuffled = max(1, round(len(numbers) * HELD_OUT)), rng.permutation(numbers)
    return {"train": shuffled[held_out:], "validation": shuffled[:held_out]}


def lessons(talk: Part, texts: Sentences, repeated: IntArray, rng: np.random.Generator) -> Part:
    """Create conversations of two turns: a random one, and a text that answers it and is its sentence.

    Args:
        talk: the source of the first turns.
        texts: all texts that lessons may repeat.
        repeated: numbers of the texts to repeat, one for each lesson.
        rng: random generator.
    """
    words: list[NDArray[np.uint16]] = []
    for turn, text in zip(
        rng.integers(len(talk.sentences), size=len(repeated)).tolist(), repeated.tolist(), strict=True
    ):
        words.append(talk.words[talk.turns[turn] : talk.turns[turn + 1]])
        words.append(texts.words[texts.begins[text] : texts.begins[text + 1]])
    sentences = np.full(2 * len(repeated), NONE)
    sentences[1::2] = repeated
    return Part(
        words=np.concatenate(words),
        turns=np.cumsum([0, *map(len, words)]),
        conversations=np.arange(0, 2 * len(repeated) + 1, 2),
        sentences=sentences,
    )
