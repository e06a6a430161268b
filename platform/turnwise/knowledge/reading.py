"""A knowledge base parsed from a file by a process of its own: `python -m turnwise.knowledge.reading`.

Texts of 20 MB take seconds, and the process that serves pages serves workers, too.
"""

import json
import sys
from dataclasses import asdict

from django.conf import settings
from django.utils.translation import gettext as _

from turnwise.contexts.reading import ParsedJSON, run_reader
from turnwise.knowledge.building import ArticleRow, Built, EntityRow, Finding
from turnwise.knowledge.files import parse
from turnwise.live.subprocesses import TIMEOUT_SECONDS, shape_of


def parse_in_subprocess(text: str) -> ParsedJSON:
    """Parse a file in another process; a timeout is the file's only problem."""
    parsed = run_reader("turnwise.knowledge.reading", [], text.encode())
    if parsed is None:
        say = _("It could not be read within %(n)d\u00a0s. Leave entities or articles out, or shorten them.")
        return asdict(Built(problems=[Finding("file", say % {"n": TIMEOUT_SECONDS})]))
    return parsed


def built_from_json(values: ParsedJSON) -> Built:
    return Built(
        entities=[EntityRow(**_with_tuples(each)) for each in values["entities"]],
        articles=[ArticleRow(**_with_tuples(each)) for each in values["articles"]],
        configurations=values["configurations"],
        budgets=values["budgets"],
        problems=[Finding(**each) for each in values["problems"]],
        notes=[Finding(**each) for each in values["notes"]],
    )


SHAPE = shape_of(Built, EntityRow, ArticleRow, Finding)
"""Fingerprint of the stored format, so that an upload of another version of the code is refused."""


def _with_tuples(row: ParsedJSON) -> ParsedJSON:
    return {key: tuple(value) if isinstance(value, list) else value for key, value in row.items()}


def main() -> None:
    settings.configure(USE_I18N=False)  # no app is needed, and these pages are in English
    json.dump(asdict(parse(sys.stdin.buffer.read().decode())), sys.stdout)


if __name__ == "__main__":
    main()
