"""A published version for programs: citation, schema.org Dataset, and Croissant metadata."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

from django.utils.translation import gettext as _

import evaluation
from evaluation.files.writing import escaped
from turnwise.publications.models import PublishedRows, PublishedVersion
from turnwise.publications.snapshots import LICENCES

# As in the open benchmark, whose metadata has the context of Croissant 1.0.
_CONTEXT_FILE = Path(evaluation.__file__).parent / "data" / "open_mtb.croissant.json"
_TYPES = {
    "string": "sc:Text",
    "integer": "sc:Integer",
    "number": "sc:Float",
    "boolean": "sc:Boolean",
    "datetime": "sc:DateTime",
}


@dataclass(frozen=True, slots=True)
class Citation:
    """How to cite a version: as a sentence, and as an entry of BibTeX."""

    text: str
    bibtex: str


@dataclass(frozen=True)
class Described:
    """A version with what its metadata need.

    Attributes:
        version: the version.
        snapshot: its parsed snapshot.
        address: full address of its page, ending in a slash.
        rows: its archive of rows, without the content; None without one.
    """

    version: PublishedVersion
    snapshot: Mapping[str, Any]
    address: str
    rows: PublishedRows | None

    @property
    def description(self) -> str:
        """Sentences about the results."""
        asks, sizes = self.snapshot["results"]["asks"], self.snapshot["results"]["asks"][0]["sizes"]
        names = ", ".join(bot["bot"] for bot in asks[0]["bots"][:20])
        protocol = self.snapshot["results"]["protocol"]["title"]
        says = (
            f"Results of a human evaluation: {sizes.get('labels', 0):,} labels by "
            f"{sizes.get('workers', 0):,} people of {names}, with intervals and differences."
        )
        return f"{says} Protocol: {protocol}." if protocol else says


def citation(described: Described) -> Citation:
    snapshot, version = described.snapshot, described.version
    authors, year = snapshot["authors"], snapshot["published_on"][:4]
    by = _and(authors) or snapshot["conducted_by"] or _("Anonymous")
    text = (
        f"{by} ({year}). {snapshot['title']} (version {version.number}). Turnwise. {described.address} "
        f"SHA-256 {version.sha256}"
    )
    named = " and ".join(f"{{{escaped(each)}}}" for each in authors) or f"{{{escaped(by)}}}"
    bibtex = (
        f"@misc{{{version.publication.slug}-v{version.number},\n"
        f"  author = {{{named}}},\n"
        f"  title = {{{{{escaped(snapshot['title'])}}}}},\n"
        f"  year = {{{year}}},\n"
        f"  note = {{Results of a human evaluation, version {version.number}. SHA-256 {version.sha256}}},\n"
        f"  howpublished = {{\\url{{{described.address}}}}},\n"
        f"}}\n"
    )
    return Citation(text, bibtex)


def _and(names: list[str]) -> str:
    return ", ".join(names[:-1]) + (" and " if len(names) > 1 else "") + names[-1] if names else ""


def dataset(described: Described) -> dict[str, Any]:
    """Describe a version as a schema.org Dataset, for JSON-LD in its page."""
    snapshot = described.snapshot
    titles = [column["title"] for ask in snapshot["results"]["asks"] for column in ask["columns"]]
    return {
        "@context": "https://schema.org/",
        "@type": "Dataset",
        **_common(described),
        "identifier": f"sha256:{described.version.sha256}",
        "isAccessibleForFree": True,
        "measurementTechnique": snapshot["method"],
        "variableMeasured": list(dict.fromkeys(titles)),
        "distribution": [
            {
                "@type": "DataDownload",
                "name": file["name"],
                "encodingFormat": file["encodingFormat"],
                "contentUrl": described.address + file["contentUrl"],
                "sha256": file["sha256"],
            }
            for file in _files(described)
        ],
    }


def _common(described: Described) -> dict[str, Any]:
    snapshot = described.snapshot
    people = [{"@type": "Person", "name": name} for name in snapshot["authors"]]
    organization = snapshot["conducted_by"] or "Turnwise"
    return {
        "name": snapshot["title"],
        "description": described.description,
        "url": described.address,
        "version": f"{described.version.number}.0.0",
        "datePublished": snapshot["published_on"],
        "license": LICENCES[snapshot["licence"]].url,
        "creator": people or [{"@type": "Organization", "name": organization}],
        "keywords": ["chatbots", "human evaluation", "dialogue"],
        **({"inLanguage": snapshot["languages"]} if snapshot["languages"] else {}),
    }


def _files(described: Described) -> list[dict[str, Any]]:
    files = [
        {
            "name": "results.json",
            "contentUrl": "results.json",
            "encodingFormat": "application/json",
            "sha256": described.version.sha256,
            "contentSize": f"{len(described.version.snapshot.encode())} B",
            "description": "All published figures as JSON.",
        }
    ]
    if described.rows:
        files.append(
            {
                "name": "rows.zip",
                "contentUrl": "rows.zip",
                "encodingFormat": "application/zip",
                "sha256": described.rows.sha256,
                "contentSize": f"{described.rows.size} B",
                "description": "Rows behind the figures, with numbers in place of people.",
            }
        )
    return files


@lru_cache(maxsize=1)
def _context() -> dict[str, Any]:
    context: dict[str, Any] = json.loads(_CONTEXT_FILE.read_text())["@context"]
    return context


def croissant(described: Described) -> dict[str, Any]:
    """Describe a version in Croissant 1.0 (MLCommons), with its files and the fields of their records."""
    objects = [
        {
            "@type": "cr:FileObject",
            "@id": file["name"],
            **file,
            "contentUrl": described.address + file["contentUrl"],
        }
        for file in _files(described)
    ]
    tables = described.rows.files if described.rows else []
    return {
        "@context": _context(),
        "@type": "sc:Dataset",
        **_common(described),
        "conformsTo": "http://mlcommons.org/croissant/1.0",
        "isLiveDataset": False,
        "citeAs": citation(described).bibtex,
        "distribution": [*objects, *(_table_file(table) for table in tables)],
        "recordSet": [_systems(), *(_table_records(table) for table in tables)],
    }


def _table_file(table: Mapping[str, Any]) -> dict[str, Any]:
    name = f"{table['name']}.csv"
    return {
        "@type": "cr:FileObject",
        "@id": name,
        "name": name,
        "description": table["about"],
        "containedIn": {"@id": "rows.zip"},
        "contentUrl": name,
        "encodingFormat": "text/csv",
        "sha256": table["sha256"],
    }


def _systems() -> dict[str, Any]:
    """Records of the systems in the main figures of results.json."""
    fields = {
        "bot": ("sc:Text", "Name of the system."),
        "labels": ("sc:Integer", "Number of labels about it."),
        "workers": ("sc:Integer", "Number of people who gave them."),
    }
    return {
        "@type": "cr:RecordSet",
        "@id": "systems",
        "name": "systems",
        "description": "The systems of the study, in the order of their names.",
        "field": [
            _field(
                "systems",
                name,
                kind,
                about,
                "results.json",
                {"jsonPath": f"$.results.asks[0].bots[*].{name}"},
            )
            for name, (kind, about) in fields.items()
        ],
    }


def _table_records(table: Mapping[str, Any]) -> dict[str, Any]:
    name = table["name"]
    return {
        "@type": "cr:RecordSet",
        "@id": name,
        "name": name,
        "description": table["about"],
        "field": [
            _field(
                name,
                column["name"],
                _TYPES[column["type"]],
                column["description"],
                f"{name}.csv",
                {"column": column["name"]},
            )
            for column in table["schema"]
        ],
    }


def _field(
    records: str, name: str, kind: str, about: str, file: str, extract: Mapping[str, str]
) -> dict[str, Any]:
    return {
        "@type": "cr:Field",
        "@id": f"{records}/{name}",
        "name": name,
        "description": about,
        "dataType": kind,
        "source": {"fileObject": {"@id": file}, "extract": dict(extract)},
    }
