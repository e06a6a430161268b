"""Whether this very code has prepared this database before: a restart then serves first, and checks later.

A start that prepares the database anew takes longer than all else of it together, and workers wait.
"""

import hashlib
import json
import os
import sysconfig
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path

from turnwise.project.instance import write_private

ROOT = Path(__file__).resolve().parents[3]
# What a preparation is made of: models, migrations, SQL, static files, what a first start brings along.
FOLDERS = ("platform", "evaluation", "chatbots", "static")
FILE = "prepared.json"
# How `manage.py bootstrap` ends if the data are of another version: whatever runs on them must end, too.
ANOTHER_VERSION = 3


@dataclass(frozen=True, slots=True)
class Prepared:
    """What a preparation told, and the code that made it."""

    code: str
    worker_path: str


def before(folder: Path) -> Prepared | None:
    """What the last preparation of the data in this folder told, if it was made by the code that runs now."""
    try:
        found = Prepared(**json.loads((folder / FILE).read_text()))
    except (OSError, ValueError, TypeError):
        return None
    return found if found.code == fingerprint() else None


def note(folder: Path, worker_path: str) -> None:
    """Keep it beside the data: whoever removes them removes it, too."""
    write_private(folder / FILE, json.dumps(asdict(Prepared(fingerprint(), worker_path))))


def forget(folder: Path) -> None:
    (folder / FILE).unlink(missing_ok=True)


def fingerprint() -> str:
    """Of all files of ours and of the versions of all packages: it changes whenever any of them does."""
    installed = sorted(os.listdir(sysconfig.get_path("purelib")))
    ours = sorted(line for folder in FOLDERS for line in _files(ROOT / folder))
    return hashlib.sha256("\n".join([*installed, *ours]).encode()).hexdigest()


def _files(folder: Path) -> Iterator[str]:
    for where, folders, names in os.walk(folder):
        folders[:] = [name for name in folders if name != "__pycache__"]
        for name in names:
            path = os.path.join(where, name)
            found = os.stat(path)
            yield f"{path} {found.st_size} {found.st_mtime_ns}"
