#!/usr/bin/env python3
"""Write what an installation consists of, as a bill of materials in CycloneDX 1.6.

    scripts/sbom.py [--extra deploy …] > turnwise.cdx.json

It lists the distributions that are installed here and that Turnwise needs, with those that they need in turn,
and the scripts and typefaces of static/vendor. It asks no network. Run it in the environment that is
released, such as the image: what is listed is what is installed there.
"""

import argparse
import json
import re
import sys
import uuid
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime
from importlib.metadata import Distribution, distributions
from pathlib import Path
from typing import Any
from urllib.parse import quote

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).resolve().parents[1]
PRODUCT = "turnwise"
OF_VENDORED = ROOT / "scripts" / "vendor" / "package-lock.json"
# Packages of the vendor folder that only build what lies there.
BUILD_TOOLS = ("esbuild", "@esbuild/")

Component = dict[str, Any]


def bill_of_materials(extras: Iterable[str] = ()) -> dict[str, Any]:
    """The bill of materials of this environment.

    Args:
        extras: optional parts of Turnwise that are released with it; one that is not installed adds nothing.

    Raises:
        LookupError: Turnwise is not installed here.
    """
    installed = {canonicalize_name(each.metadata["Name"]): each for each in distributions()}
    if PRODUCT not in installed:
        raise LookupError("Turnwise is not installed in this environment. Run make setup, or pip install it.")
    needed = _needed(installed, frozenset(extras))
    components = [_component(installed[name]) for name in sorted(needed) if name != PRODUCT]
    vendored = _vendored()
    root = _component(installed[PRODUCT]) | {"type": "application"}
    depends = {name: sorted(needed[name]) for name in needed}
    depends[PRODUCT] = depends[PRODUCT] + [each["bom-ref"] for each in vendored]
    return {
        "$schema": "http://cyclonedx.org/schema/bom-1.6.schema.json",
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "serialNumber": f"urn:uuid:{uuid.uuid4()}",
        "version": 1,
        "metadata": {
            "timestamp": datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
            "tools": {"components": [{"type": "application", "name": "scripts/sbom.py"}]},
            "component": root,
        },
        "components": components + vendored,
        "dependencies": [
            {
                "ref": _ref(installed[name]),
                "dependsOn": [_ref(installed[each]) if each in installed else each for each in depends[name]],
            }
            for name in sorted(depends)
        ],
    }


def _needed(installed: dict[str, Distribution], extras: frozenset[str]) -> dict[str, set[str]]:
    """The installed distributions that Turnwise needs, by name, each with those that it needs itself."""
    needed: dict[str, set[str]] = {}
    wanted = [(PRODUCT, extras)]
    seen: set[tuple[str, frozenset[str]]] = set()
    while wanted:
        name, its_extras = wanted.pop()
        if (name, its_extras) in seen:
            continue
        seen.add((name, its_extras))
        found = needed.setdefault(name, set())
        for requirement in _requirements(installed[name], its_extras):
            other = canonicalize_name(requirement.name)
            if other in installed:
                if other != name:
                    found.add(other)
                wanted.append((other, frozenset(requirement.extras)))
    return needed


def _requirements(distribution: Distribution, extras: frozenset[str]) -> Iterator[Requirement]:
    """Requirements that hold on this system with these extras."""
    for text in distribution.requires or ():
        requirement = Requirement(text)
        marker = requirement.marker
        if marker is None or any(marker.evaluate({"extra": extra}) for extra in ("", *extras)):
            yield requirement


def _ref(distribution: Distribution) -> str:
    name = canonicalize_name(distribution.metadata["Name"])
    return f"pkg:pypi/{name}@{quote(distribution.version, safe='')}"


def _component(distribution: Distribution) -> Component:
    metadata = distribution.metadata
    component: Component = {
        "type": "library",
        "bom-ref": _ref(distribution),
        "name": metadata["Name"],
        "version": distribution.version,
        "purl": _ref(distribution),
    }
    if summary := metadata.get("Summary"):
        component["description"] = summary
    if licences := _licences(distribution):
        component["licenses"] = licences
    return component


def _licences(distribution: Distribution) -> list[dict[str, Any]]:
    """The licence as its author declares it: an SPDX expression, else classifiers, else a short name."""
    metadata = distribution.metadata
    if expression := metadata.get("License-Expression"):
        return [{"expression": expression}]
    named = [
        each.rpartition(" :: ")[2]
        for each in metadata.get_all("Classifier") or ()
        if each.startswith("License :: ") and not each.endswith("OSI Approved")
    ]
    text = (metadata.get("License") or "").strip()
    if not named and text and "\n" not in text and len(text) <= 80:  # else it is the text of the licence
        named = [text]
    return [{"license": {"name": name}} for name in named]


def _vendored() -> list[Component]:
    """Packages of npm from which static/vendor was made, at the versions of its lock file."""
    if not OF_VENDORED.exists():
        return []
    found = []
    for path, package in json.loads(OF_VENDORED.read_text())["packages"].items():
        name = path.removeprefix("node_modules/")
        if not name or name.startswith(BUILD_TOOLS):
            continue
        purl = f"pkg:npm/{quote(name, safe='/')}@{quote(package['version'], safe='')}"
        component = {"type": "library", "bom-ref": purl, "name": name, "version": package["version"]}
        component |= {"purl": purl, "licenses": [{"license": {"name": package["license"]}}]}
        found.append(component)
    return found


def main() -> int:
    """Print the bill of materials."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument(
        "--extra", action="append", default=[], help="an optional part of Turnwise that is released with it"
    )
    extras = parser.parse_args().extra
    if unknown := [each for each in extras if not re.fullmatch(r"[a-z][a-z0-9-]*", each)]:
        parser.error(f"{unknown[0]!r} is no name of an extra. See pyproject.toml for those that there are.")
    try:
        print(json.dumps(bill_of_materials(extras), indent=1, ensure_ascii=False))
    except LookupError as error:
        print(error, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
