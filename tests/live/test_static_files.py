"""Names of static files by the hash of their content."""

import os
import re
import shutil
import time
from pathlib import Path
from posixpath import dirname, join, normpath

import pytest
from django.contrib import admin
from django.core.files.storage import FileSystemStorage

from turnwise.live.locations import RESOURCES
from turnwise.live.static_files.names import HASHED
from turnwise.live.static_files.storage import KEPT_SECONDS, HashedStaticFiles

# Every relative address of a script but those of types in comments, and what a style sheet loads.
NAMED = {
    ".js": re.compile(r"""(?<!import\()["'](\.{1,2}/[^"']+\.js)["']"""),
    ".css": re.compile(r"""(?:url\(|@import\s)["']?(?!url\(|data:|#)([^"')#]+)"""),
}


class Collected:
    """What `collectstatic` makes of a folder of sources."""

    def __init__(self, folder: Path) -> None:
        self.sources = folder / "sources"
        self.root = folder / "static"
        self.sources.mkdir()
        self.root.mkdir()

    def write(self, **files: str) -> None:
        for name, content in files.items():
            path = self.sources / name.replace("__", "/").replace("_", ".")
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(content)

    def names(self) -> dict[str, str]:
        """Collect, and return the hashed names by the original ones."""
        storage = HashedStaticFiles(location=self.root, base_url="/static/")
        source = FileSystemStorage(self.sources)
        files = sorted(path for path in self.sources.rglob("*") if path.is_file())
        paths = [str(path.relative_to(self.sources)) for path in files]
        processed = storage.post_process({path: (source, path) for path in paths})
        return {name: hashed for name, hashed, _ in processed}

    def read(self, name: str) -> str:
        return (self.root / name).read_text()


@pytest.fixture
def collected(tmp_path: Path) -> Collected:
    return Collected(tmp_path)


def test_a_changed_file_changes_its_own_name_and_those_of_its_importers(collected: Collected) -> None:
    collected.write(
        main_js='import { a } from "./kit/a.js";\nimport {\n  b,\n} from "./kit/b.js";\na(b);\n',
        kit__a_js='import "../base.js";\nexport const a = 1;\n',
        kit__b_js="export const b = 1;\n",
        base_js="// no imports\n",
        css__page_css='@import url("type.css");\na { background: url(../dot.svg#red) url(data:x) }\n',
        css__type_css="b { }\n",
        dot_svg="<svg/>",
    )
    before = collected.names()
    main = collected.read(before["main.js"])

    collected.write(base_js="// changed\n", css__type_css="i { }\n")
    after = collected.names()

    assert f'from "./{before["kit/a.js"]}"' in main
    assert f'from "./{before["kit/b.js"]}"' in main
    assert f'import "../{after["base.js"]}"' in collected.read(after["kit/a.js"])
    page = collected.read(after["css/page.css"])
    assert f'@import url("{after["css/type.css"][4:]}");' in page
    assert f"url(../{after['dot.svg']}#red) url(data:x)" in page
    changed = {name for name in before if before[name] != after[name]}
    assert changed == {"base.js", "kit/a.js", "main.js", "css/type.css", "css/page.css"}
    assert collected.read(before["main.js"]) == main  # the previous version's pages load it


def test_every_address_in_scripts_and_style_sheets_names_a_hashed_file(
    collected: Collected,
) -> None:
    shutil.copytree(RESOURCES / "static", collected.sources, dirs_exist_ok=True)
    shutil.copytree(Path(admin.__file__).parent / "static", collected.sources, dirs_exist_ok=True)

    names = collected.names()

    written = set(names.values())
    addresses = [
        normpath(join(dirname(name), address))
        for name in written
        if not name.startswith("admin/js/")  # scripts without modules
        and (pattern := NAMED.get(Path(name).suffix))
        for address in pattern.findall(collected.read(name))
    ]
    assert len(addresses) > 200
    assert [each for each in addresses if each not in written] == []
    assert all(HASHED.search(each) for each in addresses)


def test_a_file_that_names_none_or_itself_is_refused_and_the_manifest_stays(collected: Collected) -> None:
    collected.write(a_js="// one\n")
    collected.names()
    manifest = collected.read("staticfiles.json")

    collected.write(b_js='import "./gone.js";\n')
    with pytest.raises(ValueError, match=r"b\.js names the static file gone\.js, which does not exist"):
        collected.names()
    collected.write(b_js='import "./c.js";\n', c_js='import "./b.js";\n')
    with pytest.raises(ValueError, match=r"import one another: b\.js -> c\.js -> b\.js"):
        collected.names()

    assert collected.read("staticfiles.json") == manifest


def test_files_of_a_previous_version_stay_for_two_months(collected: Collected) -> None:
    collected.write(a_css="a { }\n" * 100)
    first = collected.root / collected.names()["a.css"]
    long_ago = time.time() - KEPT_SECONDS - 60
    os.utime(first, (long_ago, long_ago))

    collected.write(a_css="b { }\n" * 100)
    second = collected.root / collected.names()["a.css"]
    assert first.exists()  # it went out of use just now

    os.utime(first, (long_ago, long_ago))
    os.utime(second, (long_ago, long_ago))
    collected.names()
    assert not list(collected.root.glob(first.name + "*"))
    assert second.exists()
    assert second.with_name(second.name + ".gz").exists()
