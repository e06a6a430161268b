#!/usr/bin/env python3
"""Build the manual as a site that needs no network and no installation: `make docs`.

    scripts/manual_site.py [--out var/site]

The pages and their order are those of Help (`manual/pages.py`); the reference of the API is written from its
OpenAPI description. mkdocs refuses links that lead nowhere.
"""

import argparse
import json
import os
import shutil
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT), str(ROOT / "platform")]
# Nothing is connected to; the settings want addresses.
os.environ.setdefault("SECRET_KEY", "only for the site")
os.environ.setdefault("DATABASE_URL", "postgresql://nowhere/nothing")
os.environ.setdefault("REDIS_URL", "redis://nowhere")
os.environ.setdefault("DJANGO_SETTINGS_MODULE", "turnwise.project.settings")

import django  # noqa: E402

django.setup()

import yaml  # noqa: E402
from mkdocs.commands.build import build  # noqa: E402
from mkdocs.config import load_config  # noqa: E402

from turnwise.manual.pages import FILES, SECTIONS, name_of  # noqa: E402
from turnwise.project.api import api  # noqa: E402

REFERENCE = "docs/api-reference.md"
SETTINGS: dict[str, Any] = {
    "site_name": "Turnwise",
    "use_directory_urls": False,  # opened from the disk, a page is a file
    "theme": {
        "name": "material",
        "font": False,
        "features": ["navigation.sections", "navigation.top"],
        "palette": [
            {"media": "(prefers-color-scheme: light)", "scheme": "default"},
            {"media": "(prefers-color-scheme: dark)", "scheme": "slate"},
        ],
    },
    "plugins": ["search"],
    "markdown_extensions": [
        "tables",
        "sane_lists",
        "pymdownx.superfences",
        "pymdownx.highlight",
        {"toc": {"permalink": True}},
    ],
    "validation": dict.fromkeys(("anchors", "not_found", "absolute_links", "unrecognized_links"), "warn"),
    "strict": True,
}


def main() -> None:
    """Build the site into the folder that the command line names."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--out", type=Path, default=ROOT / "var" / "site", help="folder (default: var/site)")
    out = parser.parse_args().out.absolute()
    with tempfile.TemporaryDirectory() as folder:
        sources = Path(folder) / "pages"
        copy_pages(sources)
        (sources / REFERENCE).write_text(reference(api.get_openapi_schema()))
        settings = SETTINGS | {"docs_dir": "pages", "site_dir": str(out), "nav": list(navigation())}
        written = Path(folder) / "mkdocs.yml"
        written.write_text(yaml.safe_dump(settings))
        config = load_config(str(written))
        config.plugins.on_startup(command="build", dirty=False)
        build(config)
    print(f"The manual is in {out / 'index.html'}.")


def copy_pages(target: Path) -> None:
    """Copy the pages laid out as in the repository, so that their links fit."""
    for path in [ROOT / "README.md", ROOT / "LICENSE", *FILES.values(), *(ROOT / "docs").rglob("*.*")]:
        if path.suffix in (".md", ".png", ".ipynb", ""):
            copy = target / path.relative_to(ROOT)
            copy.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(path, copy)


def navigation() -> Iterator[dict[str, Any]]:
    """Sections and pages in the order of Help."""
    yield {"Turnwise": "README.md"}
    for title, files in SECTIONS.values():
        pages: list[Any] = [FILES[name_of(file)].relative_to(ROOT).as_posix() for file in files]
        if "docs/api.md" in pages:
            pages.insert(pages.index("docs/api.md") + 1, {"API reference": REFERENCE})
        yield {str(title): pages}


def reference(described: dict[str, Any]) -> str:
    """Every call of the API with its fields, as Markdown."""
    lines = [
        "# API reference\n",
        "Every call with its fields, written from the OpenAPI description, which an installation serves at "
        "`/api/openapi.json`. [REST API](api.md) says how to call it.\n",
    ]
    for path, calls in described["paths"].items():
        for method, call in calls.items():
            lines += [f"## `{method.upper()} {path}`\n", f"{call.get('description') or call['summary']}\n"]
            lines += _parameters(call)
            lines += _body(call, described)
    return "\n".join(lines)


def _parameters(call: dict[str, Any]) -> Iterator[str]:
    for each in call.get("parameters", ()):
        if each["in"] == "query":
            yield f"- `{each['name']}` ({_type(each['schema'])}): {each.get('description', 'in the address')}"
    yield ""


def _body(call: dict[str, Any], described: dict[str, Any]) -> Iterator[str]:
    schemas = described["components"]["schemas"]
    for content in call.get("requestBody", {}).get("content", {}).values():
        named = _named(content["schema"])
        if named is None or named not in schemas:
            continue
        yield "| field | type | default | |\n|---|---|---|---|"
        needed = schemas[named].get("required", ())
        for name, field in schemas[named].get("properties", {}).items():
            default = "needed" if name in needed else f"`{json.dumps(field.get('default'))}`"
            words = field.get("description", "").replace("|", "\\|").replace("\n", " ")
            yield f"| `{name}` | {_type(field)} | {default} | {words} |"
        yield ""


def _named(schema: dict[str, Any]) -> str | None:
    """Name of the schema that a body has."""
    for each in (schema, *schema.get("anyOf", ())):
        if "$ref" in each:
            return str(each["$ref"]).rpartition("/")[2]
    return None


def _type(schema: dict[str, Any]) -> str:
    if "anyOf" in schema:
        return " or ".join(_type(each) for each in schema["anyOf"])
    if "$ref" in schema:
        return str(schema["$ref"]).rpartition("/")[2]
    if schema.get("type") == "array":
        return f"list of {_type(schema.get('items', {}))}"
    return str(schema.get("type", "any"))


if __name__ == "__main__":
    main()
