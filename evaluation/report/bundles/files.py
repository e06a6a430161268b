"""Reading and checking the files of a study's bundle: documents, tables, questions, design, analysis plan."""

import hashlib
import json
import zipfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from evaluation.files.reading import FileError
from evaluation.protocols.facts import AskFact, Design
from evaluation.questions import DeclarationError, QuestionSet
from evaluation.report.bundles.columns import GENERATION, Kind, Table
from evaluation.report.bundles.tables import LATER_COLUMNS, WORKERS
from evaluation.report.label_columns import Analysis, AnalysisPlan
from evaluation.statistics.labels import LabelsError

Row = dict[str, Any]

# JSON Lines of short texts shrink to a tenth, repeated texts to a fiftieth. The sizes in the archive's
# directory can be trusted: Python's reader returns no more bytes of a file than they say.
MOST_TIMES_LARGER = 100
MOST_UNPACKED_BYTES = 64 * 1024**2

_LATER = {
    *(column.name for column in GENERATION),
    "judged_in",
    "shown_ms",
    "answer_ms",
    "address",
    "said_by",
    "position",
    "occasion",
    "asks_reason",
    "ask",
    "reply_version",
    "reply_versions",
    "picture",
    "picture_description",
}
"""Columns that older bundles lack."""
_TYPES: dict[Kind, type] = {
    Kind.TEXT: str,
    Kind.TIME: str,
    Kind.INTEGER: int,
    Kind.NUMBER: float,
    Kind.BOOLEAN: bool,
}


class BundleFiles:
    """The files of an opened bundle."""

    def __init__(self, path: Path, archive: zipfile.ZipFile) -> None:
        self.path = path
        self._archive = archive
        unpacked = sum(each.file_size for each in archive.infolist())
        packed = sum(each.compress_size for each in archive.infolist())
        if unpacked > max(MOST_UNPACKED_BYTES, MOST_TIMES_LARGER * packed):
            raise FileError(
                f"{path}: it is {packed / 1e6:.1f}\u00a0MB, and unpacked {unpacked / 1e6:,.0f}\u00a0MB. A "
                f"bundle of ours is at most {MOST_TIMES_LARGER} times as large unpacked, so this is none. "
                "Download the bundle again from where it was made."
            )

    def document(self, name: str) -> dict[str, Any]:
        """Read a document that is a JSON object.

        Raises:
            FileError: the document is missing, or is not a JSON object.
        """
        try:
            content: dict[str, Any] = json.loads(self._archive.read(name))
        except KeyError:
            raise FileError(f"{self.path}: there is no {name}, so it is not a bundle of a study.") from None
        except ValueError as error:
            raise FileError(f"{self.path}, {name}: {error}.") from None
        if not isinstance(content, dict):
            raise FileError(f"{self.path}, {name}: not a JSON object. Download the bundle again.")
        return content

    def listed(self, name: str) -> list[Any]:
        """Read a document that is a JSON list."""
        try:
            manifest = json.loads(self._archive.read(name))
        except (KeyError, ValueError) as error:
            raise FileError(f"{self.path}, {name}: {error}. Download the bundle again.") from None
        if not isinstance(manifest, list):
            raise FileError(f"{self.path}, {name}: not a JSON list. Download the bundle again.")
        return manifest

    def has(self, table: Table) -> bool:
        """True if the bundle has this table; older bundles lack some."""
        return f"data/{table.name}.jsonl" in self._archive.namelist()

    def rows(self, table: Table) -> Iterator[Row]:
        """Yield the rows of a table, in order.

        Raises:
            FileError: the table is missing, or a row is invalid; names line and column.
        """
        name = f"data/{table.name}.jsonl"
        if name not in self._archive.namelist():
            raise FileError(f"{self.path}: there is no {name}. Download the bundle again.")
        with self._archive.open(name) as lines:
            for number, line in enumerate(lines, 1):
                try:
                    row = json.loads(line)
                except ValueError as error:
                    raise FileError(f"{self.path}, {name}, line {number}: {error}.") from None
                wrong = _wrong_column(row, table)
                if wrong:
                    raise FileError(f"{self.path}, {name}, line {number}, {wrong}")
                yield row

    def changed_files(self) -> list[str]:
        """List files that are missing or whose hash differs from the one in datapackage.json."""
        listed: dict[str, str] = {
            each["path"]: each["hash"] for each in self.document("datapackage.json")["resources"]
        }
        there = set(self._archive.namelist())
        return [
            name
            for name, stored_hash in listed.items()
            if name not in there or self._hash(name) != stored_hash
        ]

    def _hash(self, name: str) -> str:
        digest = hashlib.sha256()
        with self._archive.open(name) as file:
            while chunk := file.read(1 << 20):
                digest.update(chunk)
        return f"sha256:{digest.hexdigest()}"


def _wrong_column(row: object, table: Table) -> str:
    """Fault of a row, with its column; empty if the row is valid."""
    if not isinstance(row, dict):
        return f"{row!r} is not a JSON object."
    for column in table.columns:
        if column.name not in row:
            if column.name in _LATER or column.name in LATER_COLUMNS.get(table.name, ()):
                continue
            return f"column {column.name}: there is none."
        value = row[column.name]
        if value is not None and type(value) is not _TYPES[column.kind]:
            return f"column {column.name}: {value!r} is no {column.kind}."
    return ""


def questions_of(bundle: BundleFiles, key: str) -> QuestionSet:
    """Read the question set with this key, as the bundle declares it."""
    for declared in bundle.listed("questions.json"):
        if isinstance(declared, dict) and declared.get("key") == key:
            try:
                return QuestionSet.from_json(declared)
            except DeclarationError as error:
                raise FileError(f"{bundle.path}, questions.json: {error}") from None
    raise FileError(
        f"{bundle.path}: questions.json does not declare the set “{key}”. Download the bundle again."
    )


def design_of(bundle: BundleFiles, about: Row) -> Design:
    """Read the study's protocol and its asks."""
    asks = [
        AskFact(
            ask["question_set"],
            ask["about"],
            ask["moment"] or "",
            ask["required"],
            questions_of(bundle, ask["question_set"]).title,
        )
        for ask in about["asks"]
    ]
    return Design(about["protocol"]["protocol"], asks)


def plan_of(bundle: BundleFiles, about: Row) -> AnalysisPlan:
    """Read the declared analysis, and the workers excluded since."""
    excluded = {w["rater"]: w["excluded_reason"] for w in bundle.rows(WORKERS) if w["excluded_at"]}
    declared = about["protocol"]
    primary, rules = Analysis(declared["primary_analysis"]), declared["exclusion_rules"]
    # Older bundles have no margin.
    return AnalysisPlan(primary, rules, excluded, declared.get("margin"))


@contextmanager
def lines_named(file: str, lines: Sequence[int]) -> Iterator[None]:
    """Convert a `LabelsError` in the block to a `FileError` with the line of the file."""
    try:
        yield
    except LabelsError as error:
        where = "" if error.row is None else f", line {lines[error.row]}"
        before = "" if error.earlier is None else f" See line {lines[error.earlier]}."
        raise FileError(f"{file}{where}, column {error.column}: {error.problem}{before}") from None
