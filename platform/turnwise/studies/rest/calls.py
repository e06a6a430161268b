"""Calls to list, make, read and change studies."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Annotated, Any, Literal

from django.core.exceptions import ValidationError
from django.db import transaction
from ninja import Field, Query, Router, Schema, Status
from pydantic import StringConstraints

from turnwise.accounts.access import AuthenticatedHttpRequest
from turnwise.accounts.models import User
from turnwise.bots.models import Bot
from turnwise.bots.search import bots_named
from turnwise.live.cursors import NEXT, Cursor, Limit, Since, page, page_of
from turnwise.live.http_responses import answers
from turnwise.live.problems import InvalidFieldsError
from turnwise.studies import services
from turnwise.studies.asks import AskSpec
from turnwise.studies.models import LONGEST_TAG, MOST_WANTED, Study
from turnwise.studies.presets import PRESETS, preset_named
from turnwise.studies.queries import (
    choosable_bots,
    counts_of,
    readable_real_studies_of,
    search_studies,
)
from turnwise.studies.rest.lookup import study_at
from turnwise.studies.rest.study_fields import AskSchema, StudyFields, ask_specs, save, settings_of
from turnwise.studies.tasks import task_of, tasks

router = Router(tags=["studies"])
Targets = dict[str, Annotated[int, Field(ge=1, le=MOST_WANTED)]]
_PLAN = ("primary_analysis", "exclusion_rules", "margin")
_TALK = ("reply_display", "reply_pace", "may_stop_replies", "max_reply_versions", "takes_pictures")
_SETTING = ("scenario", "persona", "scenarios", "factors")


class StudyIn(StudyFields):
    """A new study made from a preset."""

    title: Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=120)]
    preset: str = Field("empty", description="Key of a preset; `empty` is a design of one's own.")
    task: str = Field("", description="Of an own design: what workers do. Empty: they talk with chatbots.")
    languages: list[Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9-]{1,10}$")]] = Field(
        ["en"], min_length=1, max_length=10
    )
    asks: list[AskSchema] | None = Field(
        None, min_length=1, description="What it asks; null: as in the preset, which GET /api/presets lists."
    )
    bots: Targets = Field({}, description="By name of a bot, how many conversations with it are wanted.")


class BotOfStudyOut(Schema):
    """A bot of a study."""

    name: str
    title: str
    target: int = Field(description="Conversations wanted; 0: it gets no further workers.")


class StudySummaryOut(Schema):
    """A study in a list."""

    code: str
    title: str
    task: str
    protocol: str = Field(
        description="Key of the protocol or design by which it was made; empty for your own design."
    )
    state: str = Field(description="draft, open, paused or closed.")
    owner: str
    created_at: datetime
    archived: bool
    tags: list[str]
    finished: int = Field(description="Completed conversations, judgments or texts.")
    wanted: int = Field(description="How many of them are planned.")


class StudiesOut(Schema):
    """A page of studies, the newest first."""

    items: list[StudySummaryOut]
    next: str | None = NEXT


class StudyOut(Schema):
    """A study with its bots, its fields and the size of its queue."""

    code: str
    title: str
    task: str
    protocol: str = Field(
        description="Key of the protocol or design by which it was made; empty for your own design."
    )
    state: str = Field(description="draft, open, paused or closed.")
    archived: bool
    bots: list[BotOfStudyOut]
    items: int | None = Field(description="In its queue; null of a study without one.")
    contexts: int | None = Field(description="To which people respond; null where they do not.")
    entry: str = Field(description="Address of its link for workers, on this server.")
    settings: dict[str, Any] = Field(description="The fields of its page, as PATCH takes them.")


@router.get("/studies", response=answers(StudiesOut, 400, 422))
def studies(
    request: AuthenticatedHttpRequest,
    find: Annotated[
        str, Query("", max_length=120, description="Part of a title, a code, or a name of an owner.")
    ] = "",
    tag: Annotated[str, Query("", max_length=LONGEST_TAG)] = "",
    state: Literal["", "draft", "open", "paused", "closed"] = "",
    archived: Annotated[bool, Query(False, description="True lists the archived ones instead.")] = False,
    since: Since = None,
    cursor: Cursor = "",
    limit: Limit = 100,
) -> dict[str, Any]:
    """List the studies that you may read, without rehearsals, the newest first."""
    found = readable_real_studies_of(request.user).filter(archived_at__isnull=not archived)
    found = search_studies(found, find.strip()).select_related("owner")
    if tag:
        found = found.filter(tags__contains=[tag])
    if state:
        found = found.filter(state=state)
    if since:
        found = found.filter(created_at__gte=since)
    rows, following = page_of(found.distinct(), "studies", cursor, limit, newest_first=True)
    return page(_summaries(rows), following)


def _summaries(rows: Sequence[Study]) -> list[StudySummaryOut]:
    numbers = counts_of(rows)
    return [
        StudySummaryOut(
            code=study.code,
            title=study.title,
            task=study.task,
            protocol=study.protocol,
            state=study.state,
            owner=study.owner.get_username(),
            created_at=study.created_at,
            archived=study.archived_at is not None,
            tags=study.tags,
            finished=finished,
            wanted=wanted,
        )
        for study in rows
        for finished, wanted in [numbers.get(study.pk, (0, 0))]
    ]


@router.post("/studies", response=answers(StudyOut, status=201, has_body=True))
def make(request: AuthenticatedHttpRequest, sent: StudyIn) -> Status[StudyOut]:
    """Create a draft from a preset, with any fields of its page; its items are added afterwards."""
    owner = request.user
    study, asks = _new(sent)
    asks = ask_specs(owner, sent.asks, "asks.") if sent.asks else asks
    fields = sent.model_dump(exclude_unset=True, exclude={"preset", "task", "bots", "asks"})
    fields |= {"title": sent.title, "languages": sent.languages}
    with transaction.atomic():
        study = save(study, fields, by=owner, targets={}, asks=asks)
        try:
            services.set_bots(study.pk, targets_of(owner, None, sent.bots))
        except ValidationError as error:
            raise InvalidFieldsError({"bots": error.messages}) from None
    return Status(201, study_out(study))


def _new(sent: StudyIn) -> tuple[Study, tuple[AskSpec, ...] | None]:
    """Build an unsaved study of the preset, with the preset's asks; None: those of its task."""
    preset = preset_named(sent.preset)
    if preset is None:
        known = ", ".join(each.key for each in PRESETS)
        raise InvalidFieldsError({"preset": [f"There is no preset “{sent.preset}”. There are: {known}."]})
    named, able = sent.task, [task.key for task in tasks() if preset.is_for(task)]
    if named and named not in able:
        known = ", ".join(able)
        says = f"A study of “{preset.key}” cannot have the task “{named}”, only: {known}."
        raise InvalidFieldsError({"task": [says]})
    study = preset.study(named)
    if (plan := _fields_sent(sent, _PLAN)) and not task_of(study).asks:
        raise _surplus(plan, f"A study of the task “{study.task}” asks nothing")
    if (talk := _fields_sent(sent, _TALK)) and not task_of(study).takes_bots(study):
        raise _surplus(talk, "Nobody talks with chatbots in it")
    if (setting := _fields_sent(sent, _SETTING)) and not task_of(study).has_conversations:
        raise _surplus(setting, "Nobody talks in it")
    return study, preset.asks or None


def _surplus(names: list[str], why: str) -> InvalidFieldsError:
    """Error of fields that this kind of study does not have."""
    return InvalidFieldsError({name: [f"{why}, so leave out {name}."] for name in names})


def _fields_sent(sent: StudyIn, named: tuple[str, ...]) -> list[str]:
    return [name for name in named if getattr(sent, name) is not None]


@router.get("/studies/{slug:code}", response=answers(StudyOut, 404))
def study(request: AuthenticatedHttpRequest, code: str) -> StudyOut:
    """Get a study that you work on: its bots, its fields, and how many items or contexts it has."""
    return study_out(study_at(request, code))


@router.patch("/studies/{slug:code}", response=answers(StudyOut, 404, has_body=True))
def edit(request: AuthenticatedHttpRequest, code: str, sent: StudyFields) -> StudyOut:
    """Change fields of a study that you work on, as its page does; what an opened study fixes is refused."""
    found = study_at(request, code)
    targets = {
        each.bot: each.target for each in found.study_bots.select_related("bot") if not each.bot.is_outside
    }
    return study_out(save(found, sent.model_dump(exclude_unset=True), by=request.user, targets=targets))


def targets_of(user: User, study: Study | None, wanted: Mapping[str, int]) -> dict[Bot, int]:
    """Targets by bot; a bot that the user cannot choose is an error that names it."""
    by_name = {name.strip(): target for name, target in wanted.items()}
    return {bot: by_name[bot.name] for bot in bots_named(choosable_bots(user, study), by_name)}


def study_out(study: Study) -> StudyOut:
    """Build the answer about a study."""
    held = task_of(study).holds(study)
    return StudyOut(
        code=study.code,
        title=study.title,
        task=study.task,
        protocol=study.protocol,
        state=study.state,
        archived=study.archived_at is not None,
        bots=[
            BotOfStudyOut(name=each.bot.name, title=each.bot.title, target=each.target)
            for each in study.study_bots.select_related("bot")
        ],
        items=held.get("items"),
        contexts=held.get("contexts"),
        entry=study.get_entry_url(),
        settings=settings_of(study),
    )
