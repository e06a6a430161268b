"""Storage of static files by the hash of their content.

`collectstatic` writes `js/live.js` as `js/live.3f2a….js` beside the original. Imports and addresses inside a
file name the hashed files, so a changed file changes its own name and those of its importers. A hashed file
never changes once it is written. So browsers may keep it for a year, and pages of the previous version still
find theirs while a new version starts.
"""

import json
import os
import time
from collections.abc import Iterator
from hashlib import sha256
from pathlib import Path
from typing import Any

from django.contrib.staticfiles.storage import ManifestStaticFilesStorage
from django.core.files.storage import Storage
from servestatic.compress import Compressor
from typing_extensions import override

from turnwise.live.static_files.names import HASHED
from turnwise.live.static_files.references import pattern_for, with_new_names

# A page that has been open for longer than this after an update loads anew.
KEPT_SECONDS = 60 * 24 * 3600
_COMPRESSED = (".gz", ".br", ".zstd")

Sources = dict[str, tuple[Storage, str]]


class HashedStaticFiles(ManifestStaticFilesStorage):
    """Static files that pages address by their hashed names.

    Without a manifest, as in most tests, pages get the original names.
    """

    @override
    def stored_name(self, name: str) -> str:
        hashed: str = self.hashed_files.get(self.clean_name(name), name)
        return hashed

    @override
    def post_process(
        self, paths: Sources, dry_run: bool = False, **options: Any
    ) -> Iterator[tuple[str, str, bool]]:
        """Write all hashed files, then the manifest.

        Raises:
            ValueError: a file names one that does not exist, or files name one another in a circle.
        """
        if dry_run:
            return
        replaced = set(self.hashed_files.values())
        self.hashed_files = {}
        for name in paths:
            yield name, self._publish(name, paths, ()), True
        self.save_manifest()
        self._remove_expired(replaced)

    def _publish(self, name: str, paths: Sources, importers: tuple[str, ...]) -> str:
        """Write the hashed file of `name`, after those that it names; return its name."""
        if name in self.hashed_files:
            return str(self.hashed_files[name])
        if name in importers:
            raise ValueError(f"Static files import one another: {' -> '.join([*importers, name])}.")
        if name not in paths:
            raise ValueError(f"{importers[-1]} names the static file {name}, which does not exist.")
        storage, path = paths[name]
        with storage.open(path) as file:
            content: bytes = file.read()
        if pattern := pattern_for(name):
            inner = (*importers, name)
            text = with_new_names(
                name, content.decode(), pattern, lambda each: self._publish(each, paths, inner)
            )
            content = text.encode()
        root, ending = os.path.splitext(name)
        hashed = f"{root}.{sha256(content).hexdigest()[:12]}{ending}"
        if not self.exists(hashed):
            self._write(hashed, content)
            self._compress(hashed)
        self.hashed_files[name] = hashed
        return hashed

    def _write(self, name: str, content: bytes) -> None:
        """Write a file whole or not at all: servers may read it at any moment."""
        target = Path(self.path(name))
        target.parent.mkdir(parents=True, exist_ok=True)
        unfinished = target.with_name(f".{target.name}.unfinished")
        unfinished.write_bytes(content)
        unfinished.replace(target)

    def _compress(self, name: str) -> None:
        compressor = Compressor(quiet=True)
        if compressor.should_compress(name):
            compressor.compress(self.path(name))

    @override
    def save_manifest(self) -> None:
        names = json.dumps(self.hashed_files, sort_keys=True)
        self.manifest_hash = sha256(names.encode()).hexdigest()[:12]
        manifest = {"paths": self.hashed_files, "version": self.manifest_version, "hash": self.manifest_hash}
        self._write(self.manifest_name, json.dumps(manifest).encode())

    def _remove_expired(self, replaced: set[str]) -> None:
        """Remove hashed files that have been out of use for longer than `KEPT_SECONDS`."""
        current = {self.path(name) for name in self.hashed_files.values()}
        for name in replaced:
            if (path := Path(self.path(name))).exists() and str(path) not in current:
                os.utime(path)  # its time out of use begins now
        for path in Path(self.location).rglob("*"):
            is_kept = str(path) in current or path.suffix in _COMPRESSED or not HASHED.search(path.name)
            if not is_kept and path.stat().st_mtime < time.time() - KEPT_SECONDS:
                for ending in ("", *_COMPRESSED):
                    path.with_name(path.name + ending).unlink(missing_ok=True)
