"""`manage.py serve` becomes the supervisor. Nothing else is imported for it: people wait after a restart."""

import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import NoReturn

ROOT = Path(__file__).resolve().parents[3]


def become(arguments: Sequence[str]) -> NoReturn:
    """Replace this process by the supervisor, with the checkout's code on the path of its children."""
    paths = [str(ROOT), str(ROOT / "platform"), os.environ.get("PYTHONPATH", "")]
    os.environ["PYTHONPATH"] = os.pathsep.join(path for path in paths if path)
    os.execv(sys.executable, [sys.executable, "-m", "turnwise.project.supervision.supervisor", *arguments])
