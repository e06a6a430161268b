"""Files that appear whole or not at all."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any


def write_json(path: Path, value: Any) -> None:
    """Write JSON so that readers see all of it or nothing."""
    write_atomically(path, json.dumps(value, indent=1).encode())


def write_atomically(path: Path, content: bytes) -> None:
    """Write a file so that readers see all of it or the old one."""
    path.parent.mkdir(parents=True, exist_ok=True)
    unfinished = path.with_name(path.name + ".part")
    unfinished.write_bytes(content)
    os.replace(unfinished, path)
