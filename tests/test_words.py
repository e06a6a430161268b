"""A word that names one thing of a study names nothing else in the code."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[1]
_PLACE = re.compile(r"(^|_)place(s)?(_|$)|Place(s)?([A-Z]|$)")
# Who takes a place in a study, and what follows from it.
WITH_PLACES = (
    "crowd/",
    "dialogues/reading_material.py",
    "monitoring/funnel.py",
    "privacy/withdrawal.py",
    "responses/admin.py",
    "responses/models.py",
    "tasks/arena/",
    "tasks/conversation/",
    "tasks/two_people/",
    "tasks/writing/",
)


def _names(file: Path) -> Iterator[str]:
    """Every variable, parameter, attribute, function, class and import of a file, by name."""
    for node in ast.walk(ast.parse(file.read_text())):
        for field in ("id", "arg", "attr", "name", "asname"):
            if isinstance(name := getattr(node, field, None), str):
                yield name


def test_place_means_a_reservation_and_no_position_column_or_number() -> None:
    files = [*(ROOT / "evaluation").rglob("*.py"), *(ROOT / "platform").rglob("*.py")]
    elsewhere = [
        f"{file.relative_to(ROOT)}: {name}"
        for file in files
        if not str(file.relative_to(ROOT)).removeprefix("platform/turnwise/").startswith(WITH_PLACES)
        for name in {*_names(file), file.stem}
        if _PLACE.search(name) and name != "decimal_places"
    ]

    assert len(files) > 500
    assert elsewhere == []
