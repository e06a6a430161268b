"""A zip archive written to a stream that cannot be wound back, and a list of its files with their hashes."""

import hashlib
import io
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from typing import IO

from typing_extensions import override


class _Hashed(io.RawIOBase):
    """Passes bytes on and remembers their number and hash."""

    def __init__(self, into: IO[bytes]) -> None:
        self._into = into
        self.sha256 = hashlib.sha256()
        self.length = 0

    @override
    def writable(self) -> bool:
        return True

    @override
    def write(self, data: "bytes | bytearray | memoryview") -> int:  # type: ignore[override]
        self.sha256.update(data)
        self.length += len(data)
        return self._into.write(data)


class Archive:
    """Files go in one after the other; nothing of them stays in memory."""

    def __init__(self, stream: IO[bytes]) -> None:
        self._zip = zipfile.ZipFile(stream, "w")
        self.listed: list[dict[str, object]] = []

    @contextmanager
    def file(self, path: str, /, *, packed: bool = False, **about: object) -> Iterator[io.RawIOBase]:
        """Write a file, compressed unless it is packed; `about` is what the list of files says of it, too."""
        with self._zip.open(self._entry(path, packed=packed), "w", force_zip64=True) as entry:
            hashed = _Hashed(entry)
            yield hashed
        where = {"path": path, "bytes": hashed.length, "hash": f"sha256:{hashed.sha256.hexdigest()}"}
        self.listed.append({**about, **where})

    def add(self, path: str, content: str | bytes) -> None:
        with self.file(path) as file:
            file.write(content.encode() if isinstance(content, str) else content)

    def add_unlisted(self, path: str, content: str) -> None:
        self._zip.writestr(self._entry(path), content)

    def _entry(self, path: str, *, packed: bool = False) -> zipfile.ZipInfo:
        entry = zipfile.ZipInfo(path)  # without a time of its own: equal files make an equal archive
        entry.compress_type = zipfile.ZIP_STORED if packed else zipfile.ZIP_DEFLATED
        entry.external_attr = 0o644 << 16
        return entry

    def close(self) -> None:
        """Write the directory, without which no program opens the archive."""
        self._zip.close()
