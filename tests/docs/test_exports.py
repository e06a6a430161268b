import re
from pathlib import Path

from turnwise.crowd.running.participant_views import COLUMNS
from turnwise.exports.turn_files import LabelledTurn

PAGE = Path(__file__).parents[2] / "docs" / "exports.md"


def test_the_page_lists_exactly_the_columns_in_their_order() -> None:
    column = re.compile(r"^\| `(\w+)` \|", re.M)
    turns, _, participants = PAGE.read_text().partition("## Participants")
    *fields, condition = LabelledTurn._fields  # in files, a column for each factor of the study
    assert (column.findall(turns), condition) == ([*fields, "condition_NAME"], "condition")
    assert column.findall(participants) == [*COLUMNS, "condition_NAME"]
