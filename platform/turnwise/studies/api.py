"""The REST API of studies: presets, drafts, asks, bots with facets, tags and sharing."""

from collections.abc import Mapping
from typing import Annotated, Any, Literal

from django.core.exceptions import ValidationError
from django.db import transaction
from django.shortcuts import get_object_or_404
from ninja import Body, Field, Path, Router, Schema, Status
from ninja.errors import HttpError
from pydantic import StringConstraints

from evaluation.texts.lengths import MAX_MESSAGE_CHARS, MAX_REPLY_CHARS
from turnwise.accounts.access import AuthenticatedHttpRequest
from turnwise.accounts.limits import too_often
from turnwise.accounts.models import User
from turnwise.bots.models import Bot
from turnwise.bots.search import bots_named
from turnwise.live.http_responses import answers
from turnwise.questions.queries import readable
from turnwise.studies import consent, services
from turnwise.studies.asks import About, AskSpec, Moment
from turnwise.studies.facets import facets_of, set_facets
from turnwise.studies.models import (
    MOST_REPLY_VERSIONS,
    MOST_WANTED,
    PrimaryAnalysis,
    ReplyDisplay,
    Share,
    Study,
)
from turnwise.studies.presets import PRESETS, Preset, preset_named
from turnwise.studies.queries import choosable_bots, owned_studies_of, studies_of
from turnwise.studies.tasks import task_of, tasks

router = Router(tags=["studies"])

Facets = dict[str, dict[str, str]]


class PresetOut(Schema):
    """A preset from which a new study can start."""

    key: str
    title: str
    source: str = Field(description="The publication; empty of an own design.")
    task: str = Field(description="What workers do; empty where it can be chosen.")
    asks: list[dict[str, str | bool]]


Targets = dict[str, Annotated[int, Field(ge=1, le=MOST_WANTED)]]


class StudyIn(Schema, extra="forbid"):
    """A new study made from a preset."""

    title: Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=120)]
    preset: str = Field("empty", description="Key of a preset; `empty` is a design of one's own.")
    task: str = Field("", description="Of an own design: what workers do. Empty: they talk with chatbots.")
    languages: list[Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9-]{1,10}$")]] = Field(
        ["en"], min_length=1, max_length=10
    )
    conducted_by: Annotated[str, StringConstraints(max_length=200)] = Field(
        "", description="People or institution, for the consent page; empty: the installation's."
    )
    contact: Annotated[str, StringConstraints(max_length=254)] = Field(
        "", description="E-mail address for questions of workers; empty: the installation's."
    )
    primary_analysis: PrimaryAnalysis | None = Field(
        None, description="The primary analysis: whose labels count in the report; empty: as in the preset."
    )
    exclusion_rules: Annotated[str, StringConstraints(max_length=2000)] | None = Field(
        None, description="Rules by which workers are excluded; empty: as in the preset."
    )
    margin: float | None = Field(
        None, description="The largest difference that does not matter, in points; empty: none is declared."
    )
    reply_display: ReplyDisplay | None = Field(
        None, description="How replies of chatbots appear; empty: as in the preset, when they are complete."
    )
    reply_pace: int | None = Field(
        None, ge=10, le=2000, description="Characters per second of replies at a fixed pace; empty: 60."
    )
    may_stop_replies: bool | None = Field(
        None, description="Whether workers can stop a reply that grows; empty: they cannot."
    )
    max_reply_versions: int | None = Field(
        None, ge=1, le=MOST_REPLY_VERSIONS, description="Replies to a message to choose from; empty: 1."
    )
    takes_pictures: bool | None = Field(
        None, description="Whether people may send a picture with a message; empty: they may not."
    )
    max_reply_chars: int | None = Field(
        None, ge=20, le=MAX_REPLY_CHARS, description="Longest reply; empty: the installation's limit."
    )
    max_message_chars: int | None = Field(
        None, ge=20, le=MAX_MESSAGE_CHARS, description="Longest message; empty: the installation's limit."
    )
    stores_reasoning: bool = Field(
        False, description="Whether the reasoning of chatbots is stored. Workers never see it."
    )
    scenario: Annotated[str, StringConstraints(max_length=2000)] | None = Field(
        None, description="The situation in which people talk, for them and for {scenario} in system prompts."
    )
    persona: Annotated[str, StringConstraints(max_length=4000)] | None = Field(
        None, description="The persona of the chatbots, for {persona} in system prompts."
    )
    bots: Targets = Field({}, description="By name of a bot, how many conversations with it are wanted.")

    @property
    def plan(self) -> dict[str, Any]:
        """Fields of the analysis plan that were sent."""
        names = ("primary_analysis", "exclusion_rules", "margin")
        return self._sent_fields(names)

    @property
    def talk(self) -> dict[str, Any]:
        """Fields about talking with chatbots that were sent."""
        names = ("reply_display", "reply_pace", "may_stop_replies", "max_reply_versions", "takes_pictures")
        return self._sent_fields(names)

    @property
    def setting(self) -> dict[str, Any]:
        """Scenario and persona, if they were sent."""
        return self._sent_fields(("scenario", "persona"))

    def _sent_fields(self, names: tuple[str, ...]) -> dict[str, Any]:
        return {name: value for name in names if (value := getattr(self, name)) is not None}


class BotOfStudyOut(Schema):
    """A bot of a study."""

    name: str
    title: str
    target: int = Field(description="Conversations wanted; 0: it gets no further workers.")


class StudyOut(Schema):
    """A study with its bots and the size of its queue."""

    code: str
    title: str
    task: str
    protocol: str = Field(description="The published protocol by which it was made; empty of an own design.")
    state: str = Field(description="draft, open, paused or closed.")
    bots: list[BotOfStudyOut]
    items: int | None = Field(description="In its queue; null of a study without one.")
    contexts: int | None = Field(description="To which people respond; null where they do not.")


@router.get("/presets", response=answers(list[PresetOut]))
def presets(request: AuthenticatedHttpRequest) -> list[PresetOut]:
    """List the presets: the published protocols, and `empty`, which follows none."""
    return [_preset(each) for each in PRESETS]


@router.post("/studies", response=answers(StudyOut, status=201, has_body=True))
def make(request: AuthenticatedHttpRequest, sent: StudyIn) -> Status[StudyOut]:
    """Create a draft from a preset; add its items and its consent text on its page."""
    preset = preset_named(sent.preset)
    if preset is None:
        known = ", ".join(each.key for each in PRESETS)
        raise HttpError(422, f"There is no preset “{sent.preset}”. There are: {known}.")
    named, able = sent.task, [task.key for task in tasks() if preset.is_for(task)]
    if named and named not in able:
        known = ", ".join(able)
        raise HttpError(422, f"A study of “{preset.key}” cannot have the task “{named}”, only: {known}.")
    study = preset.study(named)
    study.title, study.languages = sent.title, sent.languages
    study.max_reply_chars, study.max_message_chars = sent.max_reply_chars, sent.max_message_chars
    study.conducted_by, study.contact = sent.conducted_by, sent.contact
    study.stores_reasoning = sent.stores_reasoning
    if sent.plan and not task_of(study).asks:
        raise HttpError(
            422, f"A study of the task “{study.task}” asks nothing, so leave out {', '.join(sent.plan)}."
        )
    if sent.talk and not task_of(study).takes_bots(study):
        raise HttpError(422, f"Nobody talks with chatbots in it, so leave out {', '.join(sent.talk)}.")
    if sent.setting and not task_of(study).has_conversations:
        raise HttpError(422, f"Nobody talks in it, so leave out {', '.join(sent.setting)}.")
    for name, given in (sent.plan | sent.talk | sent.setting).items():
        setattr(study, name, given)
    owner, asks = request.user, preset.asks or None
    try:
        with transaction.atomic():
            services.save_study(study, owner=owner, consent_text=consent.TEMPLATE, targets={}, asks=asks)
            services.set_bots(study.pk, _targets(owner, None, sent.bots))
    except ValidationError as error:
        raise HttpError(422, " ".join(error.messages)) from None
    return Status(201, _with_bots(study))


@router.get("/studies/{slug:code}", response=answers(StudyOut, 404))
def one(request: AuthenticatedHttpRequest, code: str) -> StudyOut:
    """Get a study that you work on: its bots, and how many items or contexts it has."""
    return _with_bots(_study(request, code))


@router.put("/studies/{slug:code}/bots", response=answers(StudyOut, 404, has_body=True))
def change_bots(request: AuthenticatedHttpRequest, code: str, sent: Body[Targets]) -> StudyOut:
    """Set the bots of a study and their targets; conversations with bots that are left out stay."""
    study = _study(request, code)
    try:
        services.set_bots(study.pk, _targets(request.user, study, sent))
    except ValidationError as error:
        raise HttpError(422, " ".join(error.messages)) from None
    return _with_bots(study)


def _targets(user: User, study: Study | None, wanted: Mapping[str, int]) -> dict[Bot, int]:
    by_name = {name.strip(): target for name, target in wanted.items()}
    return {bot: by_name[bot.name] for bot in bots_named(choosable_bots(user, study), by_name)}


def _with_bots(study: Study) -> StudyOut:
    held = task_of(study).holds(study)
    return StudyOut(
        code=study.code,
        title=study.title,
        task=study.task,
        protocol=study.protocol,
        state=study.state,
        bots=[
            BotOfStudyOut(name=each.bot.name, title=each.bot.title, target=each.target)
            for each in study.study_bots.select_related("bot")
        ],
        items=held.get("items"),
        contexts=held.get("contexts"),
    )


def _preset(preset: Preset) -> PresetOut:
    return PresetOut(
        key=preset.key,
        title=preset.title,
        source=preset.source,
        task=preset.task,
        asks=[
            {
                "question_set": ask.question_set,
                "about": ask.about.value,
                "moment": ask.moment.value if ask.moment else "",
                "required": ask.required,
            }
            for ask in preset.asks
        ],
    )


class AskSchema(Schema, extra="forbid"):
    """An ask of a study."""

    question_set: str = Field(description="Key of the questions.", max_length=60)
    about: About = Field(description="Subject of the questions.")
    moment: Moment | Literal[""] = Field("", description="When it is asked; empty for readers.")
    required: bool = True


@router.get("/studies/{slug:code}/asks", response=answers(list[AskSchema], 404))
def asks(request: AuthenticatedHttpRequest, code: str) -> list[AskSchema]:
    """List the asks of the study in order; its report begins with the first."""
    return _ask_schemas(_study(request, code))


@router.put("/studies/{slug:code}/asks", response=answers(list[AskSchema], 404, has_body=True))
def change_asks(request: AuthenticatedHttpRequest, code: str, sent: Body[list[AskSchema]]) -> list[AskSchema]:
    """Replace the asks of a draft; removing an ask also removes its items from the queue."""
    study = _study(request, code)
    for each in sent:
        if not readable(request.user, each.question_set):
            raise HttpError(422, f"There is no question set “{each.question_set}” that you can use.")
    wanted = [AskSpec(ask.question_set, ask.about, ask.moment or None, ask.required) for ask in sent]
    try:
        return _ask_schemas(services.ask(study.pk, wanted))
    except ValidationError as error:
        raise HttpError(422, " ".join(error.messages)) from None


def _ask_schemas(study: Study) -> list[AskSchema]:
    return [
        AskSchema(
            question_set=ask.question_set,
            about=About(ask.about),
            moment=Moment(ask.moment) if ask.moment else "",
            required=ask.required,
        )
        for ask in study.asks.all()
    ]


def _study(request: AuthenticatedHttpRequest, code: str) -> Study:
    return get_object_or_404(studies_of(request.user), code=code)


@router.get("/studies/{slug:code}/facets", response=answers(Facets, 404))
def facets(request: AuthenticatedHttpRequest, code: str) -> Facets:
    """Facets with their levels, by name of the bot."""
    return facets_of(_study(request, code))


@router.put("/studies/{slug:code}/facets", response=answers(Facets, 404, has_body=True))
def change_facets(request: AuthenticatedHttpRequest, code: str, sent: Body[Facets]) -> Facets:
    """Set the facets of these bots; other bots keep theirs. An empty level removes the facet."""
    study = _study(request, code)
    try:
        set_facets(study, sent)
    except ValidationError as error:
        raise HttpError(422, " ".join(error.messages)) from None
    return facets_of(study)


Tags = list[str]
# Django's pattern of user names.
Name = Annotated[str, StringConstraints(pattern=r"^[\w.@+-]{1,150}$")]


@router.get("/studies/{slug:code}/tags", response=answers(Tags, 404))
def tags(request: AuthenticatedHttpRequest, code: str) -> Tags:
    """List the tags of the study."""
    return _tagged(request, code).tags


@router.put("/studies/{slug:code}/tags", response=answers(Tags, 404, has_body=True))
def change_tags(request: AuthenticatedHttpRequest, code: str, sent: Body[Tags]) -> Tags:
    """Replace the tags of the study; they are lowercased and deduplicated."""
    study = _tagged(request, code)
    try:
        services.set_tags(study, sent)
    except ValidationError as error:
        raise HttpError(422, " ".join(error.messages)) from None
    return study.tags


def _tagged(request: AuthenticatedHttpRequest, code: str) -> Study:
    return get_object_or_404(studies_of(request.user).filter(rehearsal_of=None), code=code)


class ShareOut(Schema):
    """A person with whom a study is shared."""

    name: str = Field(description="The name by which they sign in.")
    role: Literal["read", "change"]


class ShareIn(Schema, extra="forbid"):
    """The role of a person in a study."""

    role: Literal["read", "change"] = Field(description="Read its results, or work on it.")


@router.get("/studies/{slug:code}/shares", response=answers(list[ShareOut], 404))
def shares(request: AuthenticatedHttpRequest, code: str) -> list[ShareOut]:
    """List the people with whom the study is shared; only its owner may call this."""
    return [_share_out(each) for each in _owned(request, code).shares.select_related("person")]


@router.put("/studies/{slug:code}/shares/{person}", response=answers(ShareOut, 404, 429, has_body=True))
def share(request: AuthenticatedHttpRequest, code: str, person: Path[Name], sent: ShareIn) -> ShareOut:
    """Share the study with a person, or change their role."""
    study = _owned(request, code)
    # Otherwise callers could guess the names of accounts.
    if too_often(request, "share", rate="60/h", key="user"):
        raise HttpError(429, "A study can be shared 60 times an hour. Wait a little.")
    try:
        return _share_out(services.share(study, person, may_change=sent.role == "change"))
    except ValidationError as error:
        raise HttpError(422, " ".join(error.messages)) from None


@router.delete("/studies/{slug:code}/shares/{person}", response=answers(list[ShareOut], 404, 422))
def stop_sharing(request: AuthenticatedHttpRequest, code: str, person: Path[Name]) -> list[ShareOut]:
    """Stop sharing the study with a person. Returns the people who still see it."""
    study = _owned(request, code)
    for each in study.shares.filter(person__username=person):
        services.stop_sharing(study, each.person_id)
    return [_share_out(each) for each in study.shares.select_related("person")]


def _owned(request: AuthenticatedHttpRequest, code: str) -> Study:
    return get_object_or_404(owned_studies_of(request.user), code=code)


def _share_out(share: Share) -> ShareOut:
    return ShareOut(name=share.person.get_username(), role="change" if share.may_change else "read")
