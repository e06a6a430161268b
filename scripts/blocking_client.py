#!/usr/bin/env python3
"""Write turnwise.client.blocking from turnwise.client.asynchronous, without `async` and `await`.

    scripts/blocking_client.py

`make fmt` runs it, and a test says when it was forgotten.
"""

import re
import subprocess
import sys
from pathlib import Path

CLIENT = Path(__file__).resolve().parents[1] / "platform" / "turnwise" / "client"
SOURCE, TARGET = CLIENT / "asynchronous", CLIENT / "blocking"
NOTE = "# Written by scripts/blocking_client.py: change ../asynchronous/{name}, then run make fmt.\n"
PACKAGE = '"""The client for programs without an event loop."""\n'

REPLACEMENTS = [
    (re.compile(pattern), replacement)
    for pattern, replacement in (
        (r"\basync (def|for|with)\b", r"\1"),
        (r"\bawait ", ""),
        (r"\bAwaitable\[([^\[\]]+)\]", r"\1"),
        (r"\bAsync([A-Z])", r"\1"),  # classes of ours, of httpx and of collections.abc
        (r"\basynccontextmanager\b", "contextmanager"),
        (r"\basyncio\.sleep\b", "time.sleep"),
        (r"\b__a(enter|exit|iter)__\b", r"__\1__"),
        (r"\ba(read|close|iter_bytes)\(", r"\1("),
        (r"\bclient\.asynchronous\b", "client.blocking"),
    )
]


def blocking(name: str, source: str) -> str:
    """Text of the module of the blocking client that belongs to one of the asynchronous client."""
    for pattern, replacement in REPLACEMENTS:
        source = pattern.sub(replacement, source)
    for command in (["check", "--fix", "--unsafe-fixes", "--quiet"], ["format", "--quiet"]):
        source = subprocess.run(
            [sys.executable, "-m", "ruff", *command, "--stdin-filename", str(TARGET / name), "-"],
            input=source, stdout=subprocess.PIPE, text=True, check=False,
        ).stdout  # fmt: skip
    return NOTE.format(name=name) + source


def modules() -> dict[Path, str]:
    """Every module of the blocking client with the text that it should have."""
    sources = sorted(path for path in SOURCE.glob("*.py") if path.name != "__init__.py")
    written = {TARGET / path.name: blocking(path.name, path.read_text()) for path in sources}
    return {TARGET / "__init__.py": PACKAGE, **written}


def main() -> None:
    """Write all modules."""
    for path, text in modules().items():
        path.write_text(text)


if __name__ == "__main__":
    main()
