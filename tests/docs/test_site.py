"""The manual as a site: strict, as `make docs` builds it, and without anything from elsewhere."""

import re
import subprocess
import sys
from pathlib import Path

from turnwise.manual.pages import FILES

ROOT = Path(__file__).parents[2]
LOADED = re.compile(r"""<(?:script|img|link)\b[^>]*?(?:src|href)=["']?(https?://[^"' >]+)""")


def test_the_site_has_every_page_of_the_manual_and_loads_nothing_from_elsewhere(tmp_path: Path) -> None:
    command = [sys.executable, str(ROOT / "scripts" / "manual_site.py"), "--out", str(tmp_path / "site")]
    built = subprocess.run(command, capture_output=True, text=True, check=False)
    assert built.returncode == 0, built.stderr

    pages = {path.relative_to(tmp_path / "site").as_posix() for path in tmp_path.rglob("*.html")}
    for path in FILES.values():
        name = path.relative_to(ROOT).with_suffix(".html").as_posix()
        assert name.replace("README.html", "index.html") in pages
    assert {"docs/api-reference.html", "docs/glossary.html", "docs/first-study.html"} <= pages
    loaded = {each for page in pages for each in LOADED.findall((tmp_path / "site" / page).read_text())}
    assert loaded == set()
    reference = (tmp_path / "site" / "docs" / "api-reference.html").read_text()
    assert "POST /api/studies" in reference
