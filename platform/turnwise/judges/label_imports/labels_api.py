"""REST API of judges' labels from files: import them as a run of a judge of its own."""

from hashlib import sha256
from typing import Annotated

from django.utils import timezone
from ninja import Field, Router, Schema, Status
from pydantic import StringConstraints

from evaluation.machine_judges.imported import Columns, Imported, missing_columns, suggested_columns
from turnwise.accounts.access import AuthenticatedHttpRequest
from turnwise.accounts.uploads_api import MOST_NAMED, UploadIn, reading_a_file
from turnwise.contexts.tables import FileRefusedError
from turnwise.judges import queries
from turnwise.judges.api import JudgeOut, judge_out
from turnwise.judges.label_imports import files, services
from turnwise.judging.plan_api import study_with_queue
from turnwise.live.http_responses import answers, refusals_as_conflicts, takes_a_file
from turnwise.live.problems import InvalidFieldsError
from turnwise.questions.question_sets import question_set
from turnwise.studies.models import Ask

router = Router(tags=["studies"])
Column = Annotated[str, Field(max_length=500)]


class ColumnsIn(Schema, extra="forbid"):
    """What the columns of a file mean; those that are left out are found by their names."""

    item: Column | None = Field(None, description="Key of the item: `key` in GET …/items.")
    answers: dict[str, Column] | None = Field(None, description="By key of a question, its answers.")
    question: Column | None = Field(None, description="Key of the answered question, if a row is one answer.")
    answer: Column | None = Field(None, description="The answer to that question.")
    probability: Column | None = Field(None, description="Probability of the answer, from 0 to 1.")
    reason: Column | None = None
    draw: Column | None = Field(None, description="Number of the answer about the item, from 1.")


class JudgeLabelsIn(UploadIn):
    """A file with the labels of a judge."""

    title: Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=120)] = Field(
        description="What reports call the judge."
    )
    ask: int | None = Field(None, ge=0, le=1000, description="Number of the ask; null: the first.")
    columns: ColumnsIn | None = Field(None, description="Where the names do not tell.")


@router.post(
    "/studies/{slug:code}/judges/labels",
    response=answers(JudgeOut, 404, 409, 429, status=201, has_body=True),
    openapi_extra=takes_a_file(files.MAX_LOG_BYTES),
)
def import_judge_labels(
    request: AuthenticatedHttpRequest, code: str, sent: JudgeLabelsIn
) -> Status[JudgeOut]:
    """Import a judge's labels from CSV, JSON Lines, a workbook or a log of inspect_ai: all, or none."""
    ask = _ask(queries.judgeable_asks(study_with_queue(request, code)), sent.ask)
    data = sent.data()
    with reading_a_file(request):
        try:
            table = files.table_from_json(files.read_upload(data, files.ending_of(sent.name)))
        except FileRefusedError as error:
            raise InvalidFieldsError({"name": [str(error)]}) from None
    _refuse([(each.line, each.say) for each in table.problems])
    found = services.read_table(ask, table, _columns(ask, table.header, sent.columns))
    _refuse(found.problems)
    return Status(201, _stored(request, ask, found, sent, data))


def _stored(
    request: AuthenticatedHttpRequest, ask: Ask, found: Imported, sent: JudgeLabelsIn, data: bytes
) -> JudgeOut:
    with refusals_as_conflicts():
        run = services.store(
            ask,
            found,
            title=sent.title,
            file_name=sent.name,
            sha256=sha256(data).hexdigest(),
            by=request.user,
            now=timezone.now(),
        )
    return judge_out(queries.runs_of(run.study).get(pk=run.pk))


def _ask(asks: list[Ask], number: int | None) -> Ask:
    chosen = next((ask for ask in asks if number in (None, ask.number)), None)
    if chosen is None:
        known = ", ".join(str(ask.number) for ask in asks) or "none"
        raise InvalidFieldsError({"ask": [f"A machine can judge the items of these asks: {known}."]})
    return chosen


def _columns(ask: Ask, header: list[str], sent: ColumnsIn | None) -> Columns:
    """The named columns, else those that the names suggest.

    Raises:
        InvalidFieldsError: the file has no such column, or one is missing.
    """
    questions = question_set(ask.question_set)
    suggested = suggested_columns(questions, header)
    named = sent.model_dump(exclude_none=True) if sent else {}
    by_question = named.pop("answers", {})
    given = {**named, **{f"answers.{key}": column for key, column in by_question.items()}}
    for field, column in given.items():
        if column and column not in header:
            says = f"The file has no column “{column[:60]}”; it has: {', '.join(header)[:500]}."
            raise InvalidFieldsError({f"columns.{field}": [says]})
    simple = {
        name: named.get(name, getattr(suggested, name))
        for name in ("item", "question", "answer", "probability", "reason", "draw")
    }
    columns = Columns(answers={**suggested.answers, **by_question}, **simple)
    if missing := missing_columns(questions, columns):
        raise InvalidFieldsError({"columns": [str(each) for each in missing]})
    return columns


def _refuse(problems: list[tuple[int, str]]) -> None:
    if problems:
        named = [f"Line {line}: {says}" for line, says in problems[:MOST_NAMED]]
        raise InvalidFieldsError({"text": named})
