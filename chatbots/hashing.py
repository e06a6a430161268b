"""Hashes of files, for fingerprints."""

import hashlib
from collections.abc import Sequence
from pathlib import Path


def hash_of(paths: Sequence[Path]) -> str:
    """SHA-256, in hexadecimal, of the files' contents in that order."""
    digest = hashlib.sha256()
    for path in paths:
        with path.open("rb") as file:
            digest.update(hashlib.file_digest(file, "sha256").digest())
    return digest.hexdigest()
