"""REST API of a study's records, in pages by cursor: participants, conversations, turns and labels."""

from collections.abc import Sequence
from datetime import datetime
from typing import Any
from uuid import UUID

from django.db import connection
from django.db.models import Prefetch, Q, QuerySet
from django.shortcuts import get_object_or_404
from ninja import Field, Router, Schema

from evaluation.texts.personal_data import Redactor
from turnwise.accounts.access import AuthenticatedHttpRequest
from turnwise.accounts.credentials import PEOPLE
from turnwise.crowd.models import Participation
from turnwise.crowd.queries import participations_of
from turnwise.dialogues.models import Dialogue, Seat, Turn
from turnwise.exports.study_files import exported_studies_of
from turnwise.labels.models import Label
from turnwise.live.cursors import NEXT, Cursor, Limit, Since, page, page_of
from turnwise.live.http_responses import answers
from turnwise.privacy.personal_data import answered, redactor_for
from turnwise.questions.question_sets import question_set
from turnwise.reports.report_kinds import ReportedTask
from turnwise.studies.models import Study
from turnwise.studies.queries import readable_studies_of
from turnwise.studies.rest.lookup import study_at
from turnwise.studies.tasks import keys_with_conversations, task_of

router = Router(tags=["studies"])


class ParticipantOut(Schema):
    """A participation, from consent to its outcome."""

    worker: str = Field(description="Pseudonym in this study.")
    number: int = Field(description="Which time they take part, from 1.")
    panel: str
    panel_id: str = Field(description="Empty without a panel, or once it was erased.")
    submission: str
    consented_at: datetime
    began_at: datetime | None
    ended_at: datetime | None
    outcome: str = Field(description="Empty before the end.")
    completion_code: str = Field(description="Empty before they saw it.")
    pilot: bool
    condition: dict[str, str] = Field(
        description="By name of a factor of the study, the level that they were assigned to."
    )
    signs: str = Field(description="Signs of carelessness or fraud, as the newest report found them.")
    proposed_reason: str = Field(description="Why the study's rules propose to exclude them.")
    excluded_at: datetime | None
    excluded_reason: str


class ParticipantsOut(Schema):
    """A page of participants."""

    items: list[ParticipantOut]
    next: str | None = NEXT


class DialogueOut(Schema):
    """A conversation."""

    dialogue: UUID
    origin: str = Field(description="live, imported or relayed.")
    bots: list[str] = Field(description="Names of the bots in it.")
    workers: list[str] = Field(description="Pseudonyms of the workers in it.")
    language: str
    started_at: datetime
    ended_at: datetime | None
    ending: str = Field(description="complete, bot_failed or partner_left; empty while it is open.")
    turns: int


class DialoguesOut(Schema):
    """A page of conversations."""

    items: list[DialogueOut]
    next: str | None = NEXT


class TurnOut(Schema):
    """A turn of a conversation."""

    dialogue: UUID
    position: int
    by: str = Field(description="worker or bot.")
    text: str = Field(description="With redactions applied.")
    created_at: datetime
    bot: str | None
    bot_version: str | None = Field(description="Fingerprint.")
    latency_ms: int | None
    seed: int | None


class TurnsOut(Schema):
    """A page of turns."""

    items: list[TurnOut]
    next: str | None = NEXT


class LabelOut(Schema):
    """A label. Its texts are in the stream …/files/turns.jsonl."""

    id: int
    ask: int | None = Field(description="Number of the ask; null if it came with a file.")
    question_set: str
    answers: dict[str, Any] = Field(description="By key of the question, with redactions applied.")
    rater: str = Field(description="Pseudonym in this study.")
    rater_role: str
    subject: str = Field(description="turn, response, dialogue, pair, context or person.")
    dialogue: UUID | None
    turn: int | None = Field(description="Position in the conversation.")
    occasion: int
    labelled_at: datetime
    changes: int
    shown_ms: int | None
    answer_ms: int | None


class LabelsOut(Schema):
    """A page of labels."""

    items: list[LabelOut]
    next: str | None = NEXT


@router.get(
    "/studies/{slug:code}/participants",
    response=answers(ParticipantsOut, 400, 404, 422),
    openapi_extra=PEOPLE,
)
def participants(
    request: AuthenticatedHttpRequest, code: str, since: Since = None, cursor: Cursor = "", limit: Limit = 100
) -> dict[str, Any]:
    """List the participants of a study that you work on. `since`: of consent, end or exclusion."""
    study = study_at(request, code)
    rows = participations_of(study)
    if since:
        rows = rows.filter(
            Q(consented_at__gte=since) | Q(excluded_at__gte=since) | Q(assignment__ended_at__gte=since)
        )
    found, following = page_of(rows, f"participants {code}", cursor, limit)
    return page([_participant(each) for each in found], following)


def _participant(row: Participation) -> ParticipantOut:
    assignment = getattr(row, "assignment", None)
    return ParticipantOut(
        worker=row.pseudonym,
        number=row.number,
        panel=row.worker.panel,
        panel_id=row.worker.panel_id,
        submission=row.submission,
        consented_at=row.consented_at,
        began_at=assignment.assigned_at if assignment else None,
        ended_at=assignment.ended_at if assignment else None,
        outcome=assignment.outcome if assignment else "",
        completion_code=row.disclosed_code,
        pilot=row.pilot,
        condition=row.condition,
        signs=row.signs,
        proposed_reason=row.proposed_reason,
        excluded_at=row.excluded_at,
        excluded_reason=row.excluded_reason,
    )


@router.get(
    "/studies/{slug:code}/dialogues", response=answers(DialoguesOut, 400, 404, 422), openapi_extra=PEOPLE
)
def dialogues(
    request: AuthenticatedHttpRequest, code: str, since: Since = None, cursor: Cursor = "", limit: Limit = 100
) -> dict[str, Any]:
    """List the conversations of a study that you may read. `since`: begun or ended."""
    study = _with_conversations(request, code)
    seats = Prefetch("seats", Seat.objects.select_related("bot").order_by("number"))
    rows = Dialogue.objects.filter(study=study).prefetch_related(seats)
    if since:
        rows = rows.filter(Q(started_at__gte=since) | Q(ended_at__gte=since))
    found, following = page_of(rows, f"dialogues {code}", cursor, limit)
    workers = [seat.worker_id for each in found for seat in each.seats.all() if seat.worker_id]
    names = _pseudonyms(study, workers)
    return page([_dialogue(each, names) for each in found], following)


def _dialogue(row: Dialogue, names: dict[int, str]) -> DialogueOut:
    seats = list(row.seats.all())
    return DialogueOut(
        dialogue=row.public_id,
        origin=row.origin,
        bots=[seat.bot.name for seat in seats if seat.bot],
        workers=[names[seat.worker_id] for seat in seats if seat.worker_id],
        language=row.language,
        started_at=row.started_at,
        ended_at=row.ended_at,
        ending=row.ending,
        turns=row.turns,
    )


@router.get("/studies/{slug:code}/turns", response=answers(TurnsOut, 400, 404, 422), openapi_extra=PEOPLE)
def turns(
    request: AuthenticatedHttpRequest, code: str, since: Since = None, cursor: Cursor = "", limit: Limit = 100
) -> dict[str, Any]:
    """List the turns of all conversations of a study that you may read, in the order in which they came."""
    study = _with_conversations(request, code)
    rows = Turn.objects.filter(dialogue__study=study).select_related("dialogue", "bot_version")
    rows = rows.prefetch_related(Prefetch("dialogue__seats", Seat.objects.select_related("bot")))
    if since:
        rows = rows.filter(created_at__gte=since)
    found, following = page_of(rows, f"turns {code}", cursor, limit)
    redactor = redactor_for(study)
    return page([_turn(each, redactor) for each in found], following)


def _turn(row: Turn, redactor: Redactor) -> TurnOut:
    version = row.bot_version
    seat = next((each for each in row.dialogue.seats.all() if each.number == row.position % 2), None)
    bot = seat.bot if seat else None
    return TurnOut(
        dialogue=row.dialogue.public_id,
        position=row.position,
        by="bot" if bot else "worker",
        text=redactor(row.text),
        created_at=row.created_at,
        bot=bot.name if bot else None,
        bot_version=version.fingerprint if version else None,
        latency_ms=row.latency_ms,
        seed=row.seed,
    )


@router.get("/studies/{slug:code}/labels", response=answers(LabelsOut, 400, 404, 422), openapi_extra=PEOPLE)
def labels(
    request: AuthenticatedHttpRequest, code: str, since: Since = None, cursor: Cursor = "", limit: Limit = 100
) -> dict[str, Any]:
    """List the labels of a study that you may read, without gold and anchors. `since`: given or changed."""
    study = get_object_or_404(exported_studies_of(request.user), code=code)
    rows = _labels(study).select_related("ask", "turn__dialogue", "dialogue")
    if since:
        rows = rows.filter(changed_at__gte=since)
    found, following = page_of(rows, f"labels {code}", cursor, limit)
    names, redactor = _pseudonyms(study, [each.rater_id for each in found]), redactor_for(study)
    return page([_label(each, names, redactor) for each in found], following)


def _labels(study: Study) -> QuerySet[Label]:
    """Labels as in the study's files: about its work by its task, and about its participants themselves."""
    task = task_of(study)
    about_people = Q(study=study, participation__isnull=False)
    if not isinstance(task, ReportedTask):
        return Label.objects.filter(about_people)
    counted = task.labels(study).filter(study=study).exclude(slot__is_gold=True)
    work = counted.exclude(slot__item__anchor__isnull=False).order_by().values("pk")
    return Label.objects.filter(Q(pk__in=work) | about_people)


def _label(row: Label, names: dict[int, str], redactor: Redactor) -> LabelOut:
    dialogue = row.turn.dialogue if row.turn else row.dialogue
    return LabelOut(
        id=row.pk,
        ask=row.ask.number if row.ask else None,
        question_set=row.question_set,
        answers=_redacted(row, redactor),
        rater=names[row.rater_id],
        rater_role=row.party,
        subject=_subject(row),
        dialogue=dialogue.public_id if dialogue else None,
        turn=row.turn.position if row.turn else None,
        occasion=row.occasion,
        labelled_at=row.changed_at,
        changes=row.changes,
        shown_ms=row.shown_ms,
        answer_ms=row.answer_ms,
    )


def _subject(row: Label) -> str:
    kinds = ("turn", "response", "dialogue", "pair", "context")
    return next((kind for kind in kinds if getattr(row, f"{kind}_id") is not None), "person")


def _redacted(row: Label, redactor: Redactor) -> dict[str, Any]:
    if not redactor:
        return dict(row.answers)
    asked = {each.key: each for each in question_set(row.question_set).questions}
    return {
        key: answered(asked[key], row.answers, redactor) if key in asked else value
        for key, value in row.answers.items()
    }


def _with_conversations(request: AuthenticatedHttpRequest, code: str) -> Study:
    studies = readable_studies_of(request.user).filter(task__in=keys_with_conversations())
    return get_object_or_404(studies, code=code)


def _pseudonyms(study: Study, workers: Sequence[int]) -> dict[int, str]:
    """Pseudonyms of these workers in this study, as its files name them."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT worker, crowd_pseudonym(worker, %s) FROM unnest(%s::bigint[]) AS worker",
            [study.pk, sorted({*workers})],
        )
        return dict(cursor.fetchall())
