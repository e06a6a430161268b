"""Contexts of a file, parsed by a process of its own: `python -m turnwise.contexts.reading ENDING LANGUAGE`.

Parsing searches thousands of contexts for near duplicates, and the process that serves pages serves workers,
too.
"""

import json
import logging
import sys
from collections.abc import Sequence
from dataclasses import asdict
from subprocess import SubprocessError
from typing import Any

from django.conf import settings
from django.utils.translation import gettext as _

from turnwise.contexts.files import ContextRow, Parsed, parse
from turnwise.contexts.tables import Finding
from turnwise.live.subprocesses import TIMEOUT_SECONDS, run_module, shape_of

log = logging.getLogger(__name__)


ParsedJSON = dict[str, Any]
"""A parsed file in plain values, stored until it is imported."""


def run_reader(module: str, arguments: Sequence[str], data: Any) -> ParsedJSON | None:
    """JSON printed by a module that runs as a process with this file; None if it fails or times out."""
    try:
        parsed: ParsedJSON = json.loads(run_module(module, arguments, data))
    except SubprocessError as error:
        log.warning("%s did not read a file: %s", module, error)
        return None
    return parsed


def parse_in_subprocess(text: str, ending: str, *, language: str) -> ParsedJSON:
    """Parse a file in another process; a timeout is the file's only problem."""
    parsed = run_reader("turnwise.contexts.reading", [ending, language], text.encode())
    return asdict(Parsed(problems=[timeout_finding()])) if parsed is None else parsed


def timeout_finding() -> Finding:
    """The problem of a file that could not be parsed in time."""
    say = _("It could not be read within %(n)d\u00a0s. Split the file, or shorten its texts.")
    return Finding(1, say % {"n": TIMEOUT_SECONDS})


def parsed_from_json(values: ParsedJSON) -> Parsed:
    return Parsed(
        rows=[
            ContextRow(**row | {"turns": tuple(row["turns"]), "material": tuple(row["material"])})
            for row in values["rows"]
        ],
        problems=[Finding(**each) for each in values["problems"]],
        notes=[Finding(**each) for each in values["notes"]],
        unknown=values["unknown"],
    )


SHAPE = shape_of(Parsed, ContextRow, Finding)
"""Fingerprint of the stored format, so that an upload of another version of the code is refused."""


def main() -> None:
    settings.configure(USE_I18N=False)  # no app is needed, and these pages are in English
    ending, language = sys.argv[1:]
    json.dump(asdict(parse(sys.stdin.buffer.read().decode(), ending, language=language)), sys.stdout)


if __name__ == "__main__":
    main()
