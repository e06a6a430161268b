"""Fetch one file of the Hugging Face hub, or of a mirror with its addresses, by its hash.

For a file that is known beforehand: its size and its SHA-256 are compared, so that a mirror needs no trust.
"""

import hashlib
import os
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from http.client import HTTPException
from pathlib import Path
from urllib.error import HTTPError, URLError
from urllib.request import Request, urlopen

from chatbots.huggingface.files import ModelFilesError

HUB = "https://huggingface.co"
TIMEOUT_SECONDS = 30
"""Of one read from the connection."""
_CHUNK = 1 << 20


@dataclass(frozen=True, slots=True)
class HubFile:
    """One file of the hub.

    Attributes:
        repository: as owner/name.
        name: its name there.
        size: in bytes.
        sha256: of its content, hexadecimal.
        revision: branch, tag or commit.
    """

    repository: str
    name: str
    size: int
    sha256: str
    revision: str = "main"


def hub_address() -> str:
    """Address of the hub: that of the environment variable HF_ENDPOINT, as for the hub's own client."""
    return os.environ.get("HF_ENDPOINT", "").strip().rstrip("/") or HUB


def check_space(folder: Path, needed: int) -> None:
    """Refuse a folder whose disk has too little space.

    Args:
        folder: need not exist yet.
        needed: bytes that must be free.

    Raises:
        ModelFilesError: fewer are; says how many.
    """
    existing = next(each for each in (folder, *folder.absolute().parents) if each.is_dir())
    free = shutil.disk_usage(existing).free
    if free < needed:
        raise ModelFilesError(
            f"The disk of {folder} has {free / 1e9:.1f} GB left; {needed / 1e9:.1f} GB are needed. "
            "Make room, then try again"
        )


def fetch(file: HubFile, folder: Path, on_progress: Callable[[int], None]) -> Path:
    """Fetch a file into a folder, where it is complete or absent.

    Args:
        file: the file.
        folder: an existing folder.
        on_progress: called with the bytes received so far, after every megabyte.

    Raises:
        ModelFilesError: the hub cannot be reached, has no such file, or sent another one.
        OSError: the file cannot be written.
    """
    address = f"{hub_address()}/{file.repository}/resolve/{file.revision}/{file.name}"
    if not address.startswith(("https://", "http://")):
        raise ModelFilesError(
            f"HF_ENDPOINT={hub_address()} is no address of a hub. Write https://… or unset it"
        )
    target = folder / file.name
    unfinished = target.with_name(f"{target.name}.part")
    try:
        digest, size = _received(address, unfinished, file.size, on_progress)
        if size != file.size or digest != file.sha256:
            raise ModelFilesError(
                f"{address} sent another file: {size:,} bytes with SHA-256 {digest[:12]}…, expected "
                f"{file.size:,} with {file.sha256[:12]}…. Nothing was kept. Try again; if it stays so, the "
                "hub or its mirror has changed the file"
            )
        unfinished.replace(target)
    finally:
        unfinished.unlink(missing_ok=True)
    return target


def _received(
    address: str, unfinished: Path, most: int, on_progress: Callable[[int], None]
) -> tuple[str, int]:
    """Write what the address sends; return its hash and size, which is at most a chunk above `most`."""
    digest, size = hashlib.sha256(), 0
    try:
        asked = Request(address, headers={"User-Agent": "turnwise"})
        with urlopen(asked, timeout=TIMEOUT_SECONDS) as answer, unfinished.open("wb") as written:
            while size <= most and (chunk := answer.read(_CHUNK)):
                written.write(chunk)
                digest.update(chunk)
                size += len(chunk)
                on_progress(size)
    except HTTPError as error:
        raise ModelFilesError(
            f"The hub has no such file for us: {address} answers {error.code} {error.reason}. Try again later"
        ) from None
    except (URLError, TimeoutError, ConnectionError, HTTPException) as error:
        reason = getattr(error, "reason", error)
        raise ModelFilesError(
            f"The hub cannot be reached at {hub_address()} ({reason}). This server needs the internet for "
            "it, or a mirror in HF_ENDPOINT"
        ) from None
    return digest.hexdigest(), size
