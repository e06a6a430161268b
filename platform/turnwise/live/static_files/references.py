"""Addresses of other static files in scripts and style sheets."""

import re
from collections.abc import Callable, Iterator
from posixpath import dirname, join, normpath

_IMPORT = re.compile(r'^import\s[^"]*"(?P<address>\.{1,2}/[^"]+)"', re.MULTILINE)
_CSS = re.compile(r"""(?:url\(|@import\s(?!\s*url\())\s*["']?(?P<address>[^"')\s]+)""")
_BY_ENDING = {".js": _IMPORT, ".css": _CSS}
# Addresses with a scheme or host, from the root, and parts of the same file.
_ELSEWHERE = re.compile(r"[a-z]+:|/|#", re.IGNORECASE)


def imports_of(path: str, source: str) -> Iterator[str]:
    """Paths that a module imports, in order."""
    for found in _IMPORT.finditer(source):
        yield _resolved(path, found["address"])


def pattern_for(path: str) -> re.Pattern[str] | None:
    """Pattern of the addresses in a file, or None if such files hold no addresses."""
    return next((pattern for ending, pattern in _BY_ENDING.items() if path.endswith(ending)), None)


def with_new_names(path: str, source: str, pattern: re.Pattern[str], new_name: Callable[[str], str]) -> str:
    """Text of a file in which every relative address ends with the new name of its file.

    Args:
        path: the file's path below the static folder.
        source: its text.
        pattern: `pattern_for(path)`.
        new_name: maps the path of a named file to its new path in the same folder.
    """

    def renamed(found: re.Match[str]) -> str:
        address = found["address"]
        if _ELSEWHERE.match(address):
            return found[0]
        file, mark, fragment = address.partition("#")
        folder = f"{dirname(file)}/" if "/" in file else ""
        new = folder + new_name(_resolved(path, file)).rpartition("/")[2] + mark + fragment
        before, _, after = found[0].rpartition(address)
        return before + new + after

    return pattern.sub(renamed, source)


def _resolved(path: str, address: str) -> str:
    return normpath(join(dirname(path), address))
