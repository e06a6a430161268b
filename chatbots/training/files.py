"""Files of training: written completely or not at all, arrays of corpora, and logs of steps.

A log is a CSV file that a resumed run continues as if it had not stopped.
"""

from __future__ import annotations

import csv
import io
import json
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from chatbots.training.vocabulary import Vocabulary


def write_json(path: Path, value: Any) -> None:
    """Write JSON so that readers see all of it or nothing."""
    write_atomically(path, json.dumps(value, indent=1).encode())


def write_atomically(path: Path, content: bytes) -> None:
    """Write a file so that readers see all of it or the old one."""
    path.parent.mkdir(parents=True, exist_ok=True)
    unfinished = path.with_name(path.name + ".part")
    unfinished.write_bytes(content)
    os.replace(unfinished, path)


SPLITS = ("train", "validation", "test")


class CorpusError(ValueError):
    """The input cannot become a corpus, or a file is not part of one; the message says why and what to do."""

    @classmethod
    def unreadable(cls, path: Path, error: Exception, package: str) -> CorpusError:
        """Create the error for a corpus file that is missing or holds something else.

        Args:
            path: path of the file.
            error: raised by reading it.
            package: with the command that builds it.
        """
        return cls(f"{path} cannot be read ({error}). Build it with 'python -m chatbots {package} corpus'.")


def save_arrays(path: Path, **arrays: Any) -> None:
    """Write arrays to a file, completely or not at all."""
    content = io.BytesIO()
    np.savez(content, **arrays)
    write_atomically(path, content.getvalue())


def load_arrays(path: Path, names: Sequence[str], package: str) -> dict[str, Any]:
    """Read arrays that `save_arrays` wrote.

    Args:
        path: path of the file.
        names: names of the arrays.
        package: with the command that builds the file, for the error.

    Raises:
        CorpusError: the file is missing, or holds something else.
    """
    try:
        with np.load(path) as stored:
            return {name: stored[name] for name in names}
    except (OSError, ValueError, KeyError) as error:
        raise CorpusError.unreadable(path, error, package) from error


def save_vocabulary(corpus: Path, vocabulary: Vocabulary) -> None:
    """Write the vocabulary of a corpus."""
    write_atomically(corpus / "vocabulary.json", vocabulary.to_json())


def load_corpus_vocabulary(corpus: Path, package: str) -> Vocabulary:
    """Load the vocabulary of a corpus.

    Raises:
        CorpusError: the file is missing.
    """
    path = corpus / "vocabulary.json"
    try:
        return Vocabulary.from_json(path.read_bytes())
    except OSError as error:
        raise CorpusError.unreadable(path, error, package) from None


def append_row(path: Path, values: Mapping[str, float]) -> None:
    """Add a row to a log; the first row adds a header of these names."""
    path.parent.mkdir(parents=True, exist_ok=True)
    is_new = not path.exists()
    with path.open("a", newline="") as file:
        writer = csv.DictWriter(file, values.keys())
        if is_new:
            writer.writeheader()
        writer.writerow(values)


def forget_later(path: Path, step: int) -> None:
    """Remove a log's rows after a step, and an incomplete row: the run writes them again."""
    if path.exists():
        header, *rows = path.read_text().splitlines(keepends=True) or [""]
        remaining = [row for row in rows if row.endswith("\n") and int(row.partition(",")[0]) <= step]
        write_atomically(path, "".join([header, *remaining]).encode())
