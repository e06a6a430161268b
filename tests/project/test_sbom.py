"""The bill of materials: what CycloneDX 1.6 demands of one, and whether it names what is really there."""

import importlib.metadata
import json
import re
import subprocess
import sys
from functools import cache
from typing import Any

import pytest
from jsonschema import Draft202012Validator  # type: ignore[import-untyped]

from tests.project.conftest import ROOT

# Transcribed from bom-1.6.schema.json: what it requires, of the parts that are written here. The whole schema
# was asked once, by cyclonedx-python-lib, and found nothing.
COMPONENT = {
    "type": "object",
    "required": ["type", "name"],
    "properties": {
        "type": {"enum": ["application", "library"]},
        "name": {"type": "string", "minLength": 1},
        "version": {"type": "string", "maxLength": 1024},
        "bom-ref": {"type": "string", "minLength": 1},
        "purl": {"type": "string"},
        "licenses": {
            "oneOf": [
                {
                    "type": "array",
                    "items": {
                        "type": "object",
                        "required": ["license"],
                        "additionalProperties": False,
                        "properties": {"license": {"type": "object", "required": ["name"]}},
                    },
                },
                {
                    "type": "array",
                    "minItems": 1,
                    "maxItems": 1,
                    "items": {"type": "object", "required": ["expression"]},
                },
            ]
        },
    },
}
SCHEMA = {
    "type": "object",
    "required": [
        "bomFormat",
        "specVersion",
        "serialNumber",
        "version",
        "metadata",
        "components",
        "dependencies",
    ],
    "properties": {
        "bomFormat": {"const": "CycloneDX"},
        "specVersion": {"const": "1.6"},
        "serialNumber": {
            "pattern": "^urn:uuid:[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$"
        },
        "version": {"type": "integer", "minimum": 1},
        "metadata": {
            "required": ["timestamp", "component"],
            "properties": {"timestamp": {"type": "string"}, "component": COMPONENT},
        },
        "components": {"type": "array", "items": COMPONENT, "uniqueItems": True},
        "dependencies": {
            "type": "array",
            "uniqueItems": True,
            "items": {
                "required": ["ref"],
                "properties": {
                    "dependsOn": {"type": "array", "uniqueItems": True, "items": {"type": "string"}}
                },
            },
        },
    },
}


def written(*extras: str) -> subprocess.CompletedProcess[str]:
    options = [part for extra in extras for part in ("--extra", extra)]
    command = [sys.executable, str(ROOT / "scripts" / "sbom.py"), *options]
    return subprocess.run(command, capture_output=True, text=True, check=False)


@cache
def bill(*extras: str) -> dict[str, Any]:
    done = written(*extras)
    assert done.returncode == 0, done.stderr
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def test_it_is_what_the_format_demands() -> None:
    Draft202012Validator.check_schema(SCHEMA)

    assert [error.message for error in Draft202012Validator(SCHEMA).iter_errors(bill("deploy"))] == []


def test_every_reference_leads_to_one_component() -> None:
    found = bill("deploy")
    names = [each["bom-ref"] for each in found["components"]] + [found["metadata"]["component"]["bom-ref"]]
    depending = found["dependencies"]

    assert len(names) == len(set(names))
    assert {each["ref"] for each in depending} <= set(names)
    assert {other for each in depending for other in each["dependsOn"]} <= set(names)


def test_it_names_what_is_installed_at_its_version() -> None:
    found = {each["name"]: each["version"] for each in bill()["components"]}

    assert found["Django"] == importlib.metadata.version("Django")
    assert found["sqlparse"] == importlib.metadata.version("sqlparse")  # which Django needs
    assert "pytest" not in found  # it is only for development
    locked = json.loads((ROOT / "scripts" / "vendor" / "package-lock.json").read_text())["packages"]
    assert found["d3-scale"] == locked["node_modules/d3-scale"]["version"]
    assert "esbuild" not in found


def test_every_direct_dependency_is_in_it() -> None:
    """By a reader of its own: the lines of pyproject.toml."""
    text = (ROOT / "pyproject.toml").read_text().partition("\ndependencies = [\n")[2].partition("\n]")[0]
    direct = {match[1].lower().replace("_", "-") for match in re.finditer(r'^ +"([\w-]+)', text, re.M)}
    named = {each["name"].lower().replace("_", "-") for each in bill()["components"]}

    assert len(direct) > 40
    assert direct <= named


def test_an_extra_adds_its_own() -> None:
    names = [{each["name"] for each in found["components"]} for found in (bill(), bill("deploy"))]

    assert names[1] - names[0] >= {"pyuwsgi"}


@pytest.mark.parametrize("extra", ["../x", "", "Deploy;"])
def test_what_is_no_extra_is_refused(extra: str) -> None:
    done = written(extra)

    assert done.returncode == 2
    assert "is no name of an extra" in done.stderr
