"""A base from its file, read by a process of its own: `python -m turnwise.knowledge.reading`.

The process that serves pages serves workers, too, and texts of 20 MB are weighed for seconds.
"""

import json
import logging
import sys
from dataclasses import asdict
from subprocess import SubprocessError
from typing import Any

from django.conf import settings
from django.utils.translation import gettext as _

from turnwise.knowledge.building import ArticleRow, Built, EntityRow, Finding
from turnwise.knowledge.files import parse
from turnwise.live.subprocesses import PATIENCE_SECONDS, run, shape_of

log = logging.getLogger(__name__)


Told = dict[str, Any]
"""A base in plain values, to be kept until it is imported."""


def parsed_apart(text: str) -> Told:
    """What `parse` finds, found by another process; a file that takes too long has that as its problem."""
    try:
        told: Told = json.loads(run("turnwise.knowledge.reading", [], text.encode()))
    except SubprocessError as error:
        log.warning("A knowledge base could not be read: %s", error)
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
