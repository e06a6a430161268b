"""What pages load of others: pinned, licensed, and as the script that renews it made it."""

import hashlib
import json
import re
from pathlib import Path

ROOT = Path(__file__).parents[1]
VENDOR = ROOT / "static/vendor"
PINNED = ROOT / "scripts/vendor"


def test_the_files_are_those_that_were_made() -> None:
    for line in (VENDOR / "SHA256SUMS").read_text().splitlines():
        digest, name = line.split()
        made = hashlib.sha256((VENDOR / name).read_bytes()).hexdigest()
        assert made == digest, f"{name} was edited by hand. Change scripts/vendor and run scripts/vendor.sh."


def test_every_package_is_pinned_by_version_and_hash() -> None:
    wanted = json.loads((PINNED / "package.json").read_text())
    locked = json.loads((PINNED / "package-lock.json").read_text())["packages"]

    for name, version in (wanted["dependencies"] | wanted["devDependencies"]).items():
        assert re.fullmatch(r"\d+\.\d+\.\d+", version), name
        assert locked[f"node_modules/{name}"]["version"] == version
    assert all(each.get("integrity") for path, each in locked.items() if path)


def test_every_bundled_package_brings_its_licence() -> None:
    locked = json.loads((PINNED / "package-lock.json").read_text())["packages"]
    bundled = {
        path.removeprefix("node_modules/"): each
        for path, each in locked.items()
        if path and not each.get("dev")
    }
    told = (VENDOR / "d3.LICENSE").read_text()

    assert {each["license"] for each in bundled.values()} <= {"ISC", "BSD-3-Clause", "MIT"}
    assert [name for name in bundled if f"{name}\n\nCopyright" not in told] == []
