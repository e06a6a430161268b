"""Rows of a bundle's tables, read in batches through server-side cursors to keep memory flat."""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import datetime
from itertools import groupby
from typing import Any, TypeAlias

from django.db import connection, transaction

from evaluation.questions import Answer, Question, QuestionSet
from evaluation.report.bundles.anchor_rows import ANCHORS, AnchorRows, anchor_judgments_table
from evaluation.report.bundles.columns import Table, answered_in
from evaluation.report.bundles.tables import (
    DRAWN_ITEMS,
    WORKERS,
    adjudications_table,
    machine_labels_table,
    questionnaires_table,
    workers_table,
)
from evaluation.texts.personal_data import Redactor
from turnwise.experts.disputes import adjudication_steps
from turnwise.exports.row_statements import STATEMENTS
from turnwise.judges.queries import reported_runs
from turnwise.judging.models import ItemDraw
from turnwise.privacy.personal_data import answered, redactor_for
from turnwise.questions.question_sets import question_set
from turnwise.reports import descriptions
from turnwise.reports.report_kinds import ReportedTask, task_with_report
from turnwise.studies.models import Study

Value: TypeAlias = str | int | bool | datetime | None
Batch: TypeAlias = list[Sequence[Value]]
BatchWriter: TypeAlias = Callable[[Batch], object]
"""Function that writes a batch of rows."""
BATCH = 20_000
# The last value of their rows is the answers, which get a column each.
_TABLES_WITH_ANSWERS = (
    "labels",
    "judgments",
    "pair_judgments",
    "questionnaires",
    "machine_labels",
    "adjudications",
    "anchor_judgments",
)

# Columns with texts to redact.
_TEXT_COLUMNS = frozenset(
    ("text", "candidates", "remarks", "reasoning", "said_before", "first_said", "second_said",
     "first_remarks", "second_remarks", "first_reasoning", "second_reasoning",
     "picture_description", "decision_reason")
)  # fmt: skip


def tables_of(study: Study) -> tuple[Table, ...]:
    """Tables of the study's bundle, without that of audits."""
    about_people = descriptions.questionnaire_sets(study)
    workers = workers_table([factor["name"] for factor in study.factors])
    return (
        *(
            workers if each.name == WORKERS.name else each
            for each in task_with_report(study).tables(answered_sets(study))
        ),
        *([questionnaires_table(about_people)] if about_people else []),
        *([machine_labels_table(answered_sets(study))] if reported_runs(study) else []),
        *([adjudications_table(answered_sets(study))] if adjudication_steps(study) else []),
        *([DRAWN_ITEMS] if ItemDraw.objects.filter(study=study).exists() else []),
        *(_anchor_tables(study) if study.items.filter(anchor__isnull=False).exists() else ()),
    )


def _anchor_tables(study: Study) -> tuple[Table, Table]:
    return ANCHORS, anchor_judgments_table(answered_sets(study))


def anchor_rows(study: Study) -> AnchorRows:
    """Rows of the study's anchors and of their judgments, as its bundle has them."""
    if not study.items.filter(anchor__isnull=False).exists():
        return AnchorRows()
    return AnchorRows(*(list(_named_rows(study, table)) for table in _anchor_tables(study)))


def _named_rows(study: Study, table: Table) -> Iterator[dict[str, Value]]:
    names = [column.name for column in table.columns]
    for batch in rows(study, table):
        yield from (dict(zip(names, row, strict=True)) for row in batch)


def rows_in(study: Study, table: Table) -> int:
    """Number of rows of a table, counted by PostgreSQL."""
    with connection.cursor() as cursor:
        cursor.execute(f"SELECT count(*) FROM ({_statement_of(study, table)}) AS every", [study.pk])
        (number,) = cursor.fetchone()
    return int(number)


def rows(study: Study, table: Table) -> Iterator[list[Sequence[Value]]]:
    """Rows of a table in batches; values have their column's kind, and redactions are marked."""
    redactor = redactor_for(study)
    text_columns = [index for index, column in enumerate(table.columns) if column.name in _TEXT_COLUMNS]
    with transaction.atomic(), connection.connection.cursor(name=f"bundle_{table.name}") as cursor:
        cursor.itersize = BATCH
        cursor.execute(_statement_of(study, table), [study.pk])
        asked = answered_in(_sets_in(study, table)) if table.name in _TABLES_WITH_ANSWERS else {}
        while batch := cursor.fetchmany(BATCH):
            if table.name == WORKERS.name:
                batch = [_with_condition_columns(row, study) for row in batch]
            if asked:
                batch = [_with_answer_columns(row, table, asked, redactor) for row in batch]
            yield (
                [_redacted(row, text_columns, redactor) for row in batch]
                if redactor and text_columns
                else batch
            )


def _statement_of(study: Study, table: Table) -> str:
    return {**STATEMENTS, **task_with_report(study).statements}[table.name]


def _redacted(row: Sequence[Value], text_columns: Sequence[int], redactor: Redactor) -> Sequence[Value]:
    values = list(row)
    for index in text_columns:
        value = values[index]
        values[index] = redactor(value) if isinstance(value, str) else value
    return values


def _with_condition_columns(row: Sequence[Value], study: Study) -> Sequence[Value]:
    """Row of a worker with a column for each factor of the study, in place of the condition as JSON."""
    *known, condition = row
    levels = json.loads(str(condition))
    return [*known, *(levels.get(factor["name"]) for factor in study.factors)]


def _with_answer_columns(
    row: Sequence[Value],
    table: Table,
    asked: Mapping[str, Mapping[str, Question]],
    redactor: Redactor,
) -> Sequence[Value]:
    """Row of a label with its answers in the columns of their questions."""
    *known, answer_values = row
    answers = json.loads(str(answer_values))
    names = [column.name for column in table.columns]
    of_set = asked[str(known[names.index("question_set")])]
    return [
        *known,
        *(
            _plain(answered(of_set[n], answers, redactor) if n in of_set else None)
            for n in names[len(known) :]
        ),
    ]


def _plain(answer: Answer | None) -> Value:
    """Answer as one value; several choices become a JSON list."""
    return json.dumps(answer, ensure_ascii=False) if isinstance(answer, list) else answer


def _sets_in(study: Study, table: Table) -> list[QuestionSet]:
    """Question sets whose answers are in a table."""
    return descriptions.questionnaire_sets(study) if table.name == "questionnaires" else answered_sets(study)


def answered_sets(study: Study) -> list[QuestionSet]:
    """Question sets about conversations or items that the study asks or has answers to.

    Empty for self-play.
    """
    task = task_with_report(study)
    if not isinstance(task, ReportedTask):
        return []
    used = task.labels(study).values_list("question_set", flat=True)
    asked = list(dict.fromkeys(ask.question_set for ask in study.work_asks))
    others = sorted(set(used.distinct().order_by()) - set(asked))
    return [question_set(key) for key in (*asked, *others)]


_BATCH = 2000


def grouped_rows(name: str, statement: str, values: Mapping[str, Any]) -> Iterator[list[tuple[Any, ...]]]:
    """Yield the rows that have the same first column and follow each other, in one transaction.

    Args:
        name: of the cursor.
        statement: SQL, ordered by its first column.
        values: its parameters, by name.
    """
    with transaction.atomic():
        connection.ensure_connection()
        with connection.connection.cursor(name=name) as cursor:
            cursor.itersize = _BATCH
            cursor.execute(statement, values)
            for _, rows in groupby(cursor, key=lambda row: row[0]):
                yield list(rows)
