from collections.abc import Callable
from io import BytesIO

import pytest

from turnwise.transcripts.importers import Checked, Limits, Problem, Source, checked

PLENTY = Limits(conversations=1000, turns=10_000)
Read = Callable[..., tuple[list[Checked], list[tuple[int, str]]]]


@pytest.fixture
def read() -> Read:
    """Read a file of one format: its conversations, and the (line, what) of its problems."""

    def read_one(
        format_key: str, content: str | bytes, limits: Limits = PLENTY
    ) -> tuple[list[Checked], list[tuple[int, str]]]:
        data = content.encode() if isinstance(content, str) else content
        found = list(checked(Source(BytesIO(data)), format_key, limits))
        problems = [(each.line, each.what) for each in found if isinstance(each, Problem)]
        return [each for each in found if isinstance(each, Checked)], problems

    return read_one
