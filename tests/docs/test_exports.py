import re
from pathlib import Path

from reports.queries import LabelledTurn

PAGE = Path(__file__).parents[2] / "docs" / "exports.md"


def test_the_page_lists_exactly_the_columns_in_their_order() -> None:
    assert re.findall(r"^\| `(\w+)` \|", PAGE.read_text(), flags=re.M) == list(LabelledTurn._fields)
