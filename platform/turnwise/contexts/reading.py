"""Contexts from a file, read by a process of its own: `python -m turnwise.contexts.reading ENDING LANGUAGE`.

The process that serves pages serves workers, too, and near duplicates are looked for among thousands.
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
from turnwise.live.subprocesses import PATIENCE_SECONDS, run, shape_of

log = logging.getLogger(__name__)


Told = dict[str, Any]
"""What a file holds in plain values, to be kept until it is imported."""


def run_reader(module: str, arguments: Sequence[str], data: Any) -> Told | None:
    """The JSON that a module prints as a process of its own, given a file; None if it fails or is late."""
    try:
        told: Told = json.loads(run(module, arguments, data))
    except SubprocessError as error:
        log.warning("%s did not read a file: %s", module, error)
        return None
    return told


def parsed_apart(text: str, ending: str, *, language: str) -> Told:
    """What `parse` finds, found by another process; a file that takes too long has that as its problem."""
    told = run_reader("turnwise.contexts.reading", [ending, language], text.encode())
    return asdict(Parsed(problems=[unread()])) if told is None else told


def unread() -> Finding:
    """What is said of a file that could not be read in time, or not at all."""
    say = _("It could not be read within %(n)d\u00a0s. Split the file, or shorten its texts.")
    return Finding(1, say % {"n": PATIENCE_SECONDS})


def parsed_from(told: Told) -> Parsed:
    return Parsed(
        rows=[
            ContextRow(**row | {"turns": tuple(row["turns"]), "material": tuple(row["material"])})
            for row in told["rows"]
        ],
        problems=[Finding(**each) for each in told["problems"]],
        notes=[Finding(**each) for each in told["notes"]],
        unknown=told["unknown"],
    )


SHAPE = shape_of(Parsed, ContextRow, Finding)
"""Of what is kept until it is imported, for a version of the code that knows nothing else."""


def main() -> None:
    settings.configure(USE_I18N=False)  # no app is needed, and these pages are in English
    ending, language = sys.argv[1:]
    json.dump(asdict(parse(sys.stdin.buffer.read().decode(), ending, language=language)), sys.stdout)


if __name__ == "__main__":
    main()
