"""Responses from a file, read by a process of its own: `python -m turnwise.responses.reading ENDING`.

The process that serves pages serves workers, too.
"""

import json
import logging
import sys
from collections.abc import Mapping
from dataclasses import asdict
from subprocess import SubprocessError
from typing import Any

from django.conf import settings

from turnwise.contexts.reading import unread
from turnwise.contexts.tables import Finding
from turnwise.live.apart import run
from turnwise.live.shapes import shape_of
from turnwise.responses.files import Parsed, parse

log = logging.getLogger(__name__)


Told = dict[str, Any]
"""What a file holds in plain values, to be kept until it is imported."""


def parsed_apart(text: str, ending: str, keys: Mapping[str, int], languages: Mapping[str, str]) -> Told:
    """What `parse` finds, found by another process; a file that takes too long has that as its problem."""
    given = {"text": text, "keys": dict(keys), "languages": dict(languages)}
    try:
        told: Told = json.loads(run("turnwise.responses.reading", [ending], given))
    except SubprocessError as error:
        log.warning("Responses could not be read: %s", error)
        return _told(Parsed(problems=[unread()]))
    return told


def _told(parsed: Parsed) -> Told:
    """In values that JSON can hold: it has no names that are two numbers."""
    responses = [(*which, text, parsed.lines[which]) for which, text in parsed.responses.items()]
    return {
        "responses": responses,
        "problems": [asdict(each) for each in parsed.problems],
        "notes": [asdict(each) for each in parsed.notes],
    }


def parsed_from(told: Told) -> Parsed:
    return Parsed(
        responses={(context, repetition): text for context, repetition, text, _ in told["responses"]},
        problems=[Finding(**each) for each in told["problems"]],
        notes=[Finding(**each) for each in told["notes"]],
        lines={(context, repetition): line for context, repetition, _, line in told["responses"]},
    )


SHAPE = shape_of(Parsed, Finding)
"""Of what is kept until it is imported, for a version of the code that knows nothing else."""


def main() -> None:
    settings.configure(USE_I18N=False)  # no app is needed, and these pages are in English
    given = json.load(sys.stdin)
    found = parse(given["text"], sys.argv[1], given["keys"], given["languages"])
    json.dump(_told(found), sys.stdout)


if __name__ == "__main__":
    main()
