"""A base from its file, read by a process of its own: `python -m turnwise.knowledge.reading`.

The process that serves pages serves workers, too, and texts of 20 MB are weighed for seconds.
"""

import json
import sys
from dataclasses import asdict

from django.conf import settings
from django.utils.translation import gettext as _

from turnwise.contexts.reading import Told, run_reader
from turnwise.knowledge.building import ArticleRow, Built, EntityRow, Finding
from turnwise.knowledge.files import parse
from turnwise.live.subprocesses import PATIENCE_SECONDS, shape_of


def parsed_apart(text: str) -> Told:
    """What `parse` finds, found by another process; a file that takes too long has that as its problem."""
    told = run_reader("turnwise.knowledge.reading", [], text.encode())
    if told is None:
        say = _("It could not be read within %(n)d\u00a0s. Leave entities or articles out, or shorten them.")
        return asdict(Built(problems=[Finding("file", say % {"n": PATIENCE_SECONDS})]))
    return told


def built_from(told: Told) -> Built:
    return Built(
        entities=[EntityRow(**_with_tuples(each)) for each in told["entities"]],
        articles=[ArticleRow(**_with_tuples(each)) for each in told["articles"]],
        configurations=told["configurations"],
        budgets=told["budgets"],
        problems=[Finding(**each) for each in told["problems"]],
        notes=[Finding(**each) for each in told["notes"]],
    )


SHAPE = shape_of(Built, EntityRow, ArticleRow, Finding)
"""Of what is kept until it is imported, for a version of the code that knows nothing else."""


def _with_tuples(row: Told) -> Told:
    return {key: tuple(value) if isinstance(value, list) else value for key, value in row.items()}


def main() -> None:
    settings.configure(USE_I18N=False)  # no app is needed, and these pages are in English
    json.dump(asdict(parse(sys.stdin.buffer.read().decode())), sys.stdout)


if __name__ == "__main__":
    main()
