import re
from pathlib import Path

from turnwise.transcripts.importers import FORMATS

PAGE = (Path(__file__).parents[2] / "docs" / "imports.md").read_text()


def test_the_page_has_a_section_for_each_format() -> None:
    assert sorted(re.findall(r"^### (\S+)$", PAGE, flags=re.MULTILINE)) == sorted(FORMATS)
