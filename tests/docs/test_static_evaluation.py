"""docs/static-evaluation.md against the code that it describes."""

import re
from pathlib import Path

from evaluation.open_mtb import NEAR_DUPLICATE_OVERLAP
from evaluation.texts.lengths import MAX_TURN_CHARS
from turnwise.contexts.files import ENDINGS, MOST_COMPARED
from turnwise.contexts.tables import MAX_BYTES, MAX_ROWS, MAX_TURNS
from turnwise.responses import bulk_replies, files, services
from turnwise.responses.bot_jobs import SILENCE_TIMEOUT

PAGE = (Path(__file__).parents[2] / "docs" / "static-evaluation.md").read_text()
WORDS = " ".join(PAGE.split())


def test_the_page_names_the_columns_that_are_exported() -> None:
    section = PAGE.partition("### Exported columns")[2]

    assert tuple(name for name in re.findall(r"`(\w+)`", section) if name in files.COLUMNS) == files.COLUMNS


def test_the_page_names_the_endings_that_are_read() -> None:
    assert set(re.findall(r"`\.(\w+)`", PAGE)) == set(ENDINGS)


def test_the_page_tells_the_bounds_that_hold() -> None:
    for sentence in (
        f"up to {MAX_BYTES // 1_000_000} MB and {MAX_ROWS:,} contexts",
        f"list of 1 to {MAX_TURNS} texts of up to {MAX_TURN_CHARS:,} characters",
        f"share {NEAR_DUPLICATE_OVERLAP:.0%}".replace("%", " % or more of their letters"),
        f"sets of up to {MOST_COMPARED:,} contexts",
        f"up to {services.MOST_REPETITIONS} repetitions",
        f"slices of {bulk_replies.SLICE_SECONDS:.0f} seconds",
        f"up to {bulk_replies.MOST_AT_ONCE} contexts at once",
        f"tried {services.MOST_ATTEMPTS} times",
        f"fails {bulk_replies.MOST_FAILURES_IN_A_ROW} times in a row",
        f"no response for {SILENCE_TIMEOUT.seconds // 60} minutes",
        f"`repetition` from 1 to {files.MOST_REPETITIONS}",
    ):
        assert sentence in WORDS, sentence
