"""What pages load of others: pinned, licensed, and as the script that renews it made it."""

import hashlib
import json
import re
from pathlib import Path

ROOT = Path(__file__).parents[1]
VENDOR = ROOT / "static/vendor"
PINNED = ROOT / "scripts/vendor"


def test_the_files_are_those_that_the_script_made() -> None:
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


def test_every_package_brings_its_licence() -> None:
    locked = json.loads((PINNED / "package-lock.json").read_text())["packages"]
    licences = {
        path.removeprefix("node_modules/"): each["license"]
        for path, each in locked.items()
        if path and not each.get("dev")
    }
    told = "".join(each.read_text() for each in sorted(VENDOR.glob("*.LICENSE")))

    assert set(licences.values()) <= {"ISC", "BSD-3-Clause", "MIT", "OFL-1.1"}
    for name, licence in licences.items():
        if licence == "OFL-1.1":
            assert "SIL Open Font License" in (VENDOR / f"{name.rpartition('/')[2]}.LICENSE").read_text()
        elif name != "lucide-static":
            assert f"{name}\n\nCopyright" in told
    assert "Lucide Icons and Contributors" in told


def test_exactly_the_icons_that_pages_use_are_shipped() -> None:
    """One that is missing shows as nothing at all."""
    there = set(re.findall(r'<symbol id="([\w-]+)"', (VENDOR / "icons.svg").read_text()))
    sources = [*ROOT.glob("templates/**/*.html"), *ROOT.glob("platform/turnwise/*/templatetags/*.py")]
    text = "".join(each.read_text() for each in sources)
    wanted = set(re.findall(r'{% (?:icon|page_link "[\w:]+") "([\w-]+)"', text))
    wanted |= set(re.findall(r'_\("\w+"\), "([\w-]+)", ', text))  # the pages of a study

    assert wanted - there == set()
    assert there - wanted == set(), "Take them out of scripts/vendor/icons.txt, and run scripts/vendor.sh."
