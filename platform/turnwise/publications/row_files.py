"""The public archive of a study's rows: allowed columns only, and numbers in place of people."""

import hashlib
import json
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from io import BytesIO
from random import SystemRandom
from typing import Any

from django.core.exceptions import ValidationError
from django.utils.translation import gettext as _

from evaluation.files.writing import csv_text, with_unit
from evaluation.questions import Kind as QuestionKind
from evaluation.report.bundles.columns import Column, Kind, Table, answered_in
from evaluation.report.label_columns import Analysis
from turnwise.crowd.models import Participation
from turnwise.exports.bundle import quoted_studies
from turnwise.exports.files import Archive, schema_of
from turnwise.exports.rows import Value, answered_sets, rows, rows_in, tables_of
from turnwise.studies.models import Study

MOST_ROWS = 50_000
MOST_BYTES = 20_000_000
_RANDOM = SystemRandom()


class RowsChoice(StrEnum):
    """How much of a study's rows is published."""

    NONE = "none"
    ANSWERS = "answers"
    BOT_TEXTS = "bot_texts"
    ALL_TEXTS = "all_texts"


# Columns that hold a name of a conversation, item or person. Each gets numbers of its own, the same in all
# tables of an archive, in random order, so that neither names nor the order of rows lead back to anybody.
_NUMBERED = {"dialogue": "conversation", "item": "item", "rater": "rater"}
_ALLOWED: Mapping[str, tuple[str, ...]] = {
    "conversations": ("dialogue", "bot", "turns"),
    "labels": ("dialogue", "turn", "rater", "ask", "question_set"),
    "items": ("item", "ask", "system", "context", "turn", "repetition", "language", "category"),
    "judgments": ("item", "position", "occasion", "rater", "ask", "question_set"),
    "pairs": ("item", "ask", "first_system", "second_system", "context", "language"),
    "pair_judgments": ("item", "sides_swapped", "rater", "ask", "question_set"),
}
# Columns with what was said, and the column that is empty unless a bot said it.
_TEXTS: Mapping[str, Mapping[str, str]] = {
    "turns": {"text": "bot"},
    "items": {"text": "bot", "said_before": ""},
    "pairs": {"first_said": "first_bot", "second_said": "second_bot", "said_before": ""},
}
_TURNS = ("dialogue", "turn", "speaker", "bot", "text")
_WITH_ANSWERS = ("labels", "judgments", "pair_judgments")


@dataclass(frozen=True, slots=True)
class RowFiles:
    """An archive of rows: its bytes with their hash, its tables, and the studies that it quotes."""

    content: bytes
    sha256: str
    files: Sequence[Mapping[str, Any]]
    quotes: Sequence[int]


def planned_files(study: Study, choice: RowsChoice) -> list[dict[str, Any]]:
    """The tables that the archive would have: name, number of rows and columns. For the preview.

    Raises:
        ValidationError: there are too many rows for a public page.
    """
    if choice is RowsChoice.NONE:
        return []
    planned: list[dict[str, Any]] = [
        {
            "name": table.name,
            "rows": rows_in(study, table),
            "columns": [_public_column(table.columns[index]).name for index in selected],
        }
        for table, selected in _selected_tables(study, choice)
    ]
    number = sum(each["rows"] for each in planned)
    if number > MOST_ROWS:
        raise ValidationError(
            _(
                "The rows would be %(n)s, and at most %(most)s can lie on a public page. Publish the results "
                "without rows, and the bundle in a repository for data."
            )
            % {"n": f"{number:,}", "most": f"{MOST_ROWS:,}"}
        )
    return planned


def make_archive(study: Study, choice: RowsChoice) -> RowFiles | None:
    """Make the archive, in the caller's transaction; None if no rows are wanted.

    Raises:
        ValidationError: it is too large for a public page.
    """
    if choice is RowsChoice.NONE:
        return None
    planned_files(study, choice)
    numbers = _Numbers()
    excluded = _excluded(study)
    read = [
        (
            table,
            selected,
            [row for batch in rows(study, table) for row in batch if _counts(table, row, excluded)],
        )
        for table, selected in _selected_tables(study, choice)
    ]
    for table, _selected, found in read:
        numbers.collect(table, found)
    stream, files = BytesIO(), []
    archive = Archive(stream)
    for table, selected, found in read:
        public = Table(table.name, table.about, tuple(_public_column(table.columns[i]) for i in selected))
        kept = sorted(
            ([numbers.value(table, row, i, choice) for i in selected] for row in found),
            key=lambda row: [(value is not None, str(value).zfill(9)) for value in row],
        )
        content = csv_text([[column.name for column in public.columns], *kept]).encode()
        archive.add(f"{table.name}.csv", content)
        files.append(
            {
                "name": table.name,
                "about": table.about.partition(", in the order")[0].rstrip(".") + ".",
                "rows": len(kept),
                "schema": schema_of(public)["fields"],
                "sha256": hashlib.sha256(content).hexdigest(),
                "bytes": len(content),
            }
        )
    archive.add("columns.json", json.dumps(files, ensure_ascii=False, indent=1) + "\n")
    archive.close()
    packed = stream.getvalue()
    if len(packed) > MOST_BYTES:
        raise ValidationError(
            _(
                "The rows take %(size)s, and at most %(most)s can lie on a public page. Publish the "
                "results without texts, or without rows."
            )
            % {"size": _megabytes(len(packed)), "most": _megabytes(MOST_BYTES)}
        )
    return RowFiles(packed, hashlib.sha256(packed).hexdigest(), files, quoted_studies(study))


def _megabytes(size: int) -> str:
    return with_unit(str(size // 1_000_000), "MB")


def _selected_tables(study: Study, choice: RowsChoice) -> list[tuple[Table, list[int]]]:
    """Tables of the archive, each with the indices of its allowed columns."""
    answers = _public_answers(study)
    found = []
    for table in tables_of(study):
        allowed = {*_ALLOWED.get(table.name, ()), *(answers if table.name in _WITH_ANSWERS else ())}
        if choice in (RowsChoice.BOT_TEXTS, RowsChoice.ALL_TEXTS):
            allowed |= {*(_TURNS if table.name == "turns" else ())}
            allowed |= {
                name
                for name, by_bot in _TEXTS.get(table.name, {}).items()
                if by_bot or choice is RowsChoice.ALL_TEXTS
            }
        selected = [index for index, column in enumerate(table.columns) if column.name in allowed]
        if selected:
            found.append((table, selected))
    return found


def _excluded(study: Study) -> set[Value]:
    """Pseudonyms of workers whose labels the primary analysis leaves out."""
    if study.primary_analysis == Analysis.ALL:
        return set()
    excluded = Participation.objects.filter(study=study, excluded_at__isnull=False)
    return set(excluded.values_list("pseudonym", flat=True))


def _counts(table: Table, row: Sequence[Value], excluded: Collection[Value]) -> bool:
    """Whether the row is among those that the report counts; labels of readers are another study's."""
    if table.name not in _WITH_ANSWERS:
        return True
    is_elsewhere = table.name == "labels" and _cell(table, row, "judged_in") is not None
    return not is_elsewhere and _cell(table, row, "rater") not in excluded


def _public_answers(study: Study) -> set[str]:
    """Columns of answers that are chosen, not written."""
    return {
        name
        for questions in answered_in(answered_sets(study)).values()
        for name, question in questions.items()
        if question.kind is not QuestionKind.TEXT
    }


def _public_column(column: Column) -> Column:
    if column.name in _NUMBERED:
        thing = _NUMBERED[column.name]
        return Column(thing, Kind.INTEGER, f"number of the {thing}, in this archive alone")
    return column


class _Numbers:
    """Numbers in random order for the names of conversations, items and raters."""

    def __init__(self) -> None:
        self._by_kind: dict[str, dict[Value, int]] = {}

    def collect(self, table: Table, found: Collection[Sequence[Value]]) -> None:
        """Give numbers to all names in these rows that have none."""
        for index, column in enumerate(table.columns):
            if column.name in _NUMBERED:
                known = self._by_kind.setdefault(column.name, {})
                fresh = list({row[index] for row in found} - known.keys() - {None})
                _RANDOM.shuffle(fresh)
                known.update((name, number) for number, name in enumerate(fresh, len(known) + 1))

    def value(self, table: Table, row: Sequence[Value], index: int, choice: RowsChoice) -> Value:
        """Public value of a cell: a number for a name, None for a text that stays private."""
        name = table.columns[index].name
        if name in _NUMBERED:
            return self._by_kind[name].get(row[index])
        by_bot = _TEXTS.get(table.name, {}).get(name)
        if by_bot and choice is RowsChoice.BOT_TEXTS and not _cell(table, row, by_bot):
            return None
        return row[index]


def _cell(table: Table, row: Sequence[Value], name: str) -> Value:
    return row[[column.name for column in table.columns].index(name)]
