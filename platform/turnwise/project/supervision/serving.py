"""`manage.py serve` becomes the supervisor. Nothing else is imported for it: people wait after a restart."""

import os
import sys
from collections.abc import Sequence
from typing import NoReturn

from turnwise.live.locations import SOURCE_ROOTS


def become(arguments: Sequence[str]) -> NoReturn:
    """Replace this process by the supervisor, with our code on the path of its children."""
    paths = [*map(str, SOURCE_ROOTS), os.environ.get("PYTHONPATH", "")]
    os.environ["PYTHONPATH"] = os.pathsep.join(path for path in paths if path)
    os.execv(sys.executable, [sys.executable, "-m", "turnwise.project.supervision.supervisor", *arguments])
