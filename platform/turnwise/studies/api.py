"""The REST API of studies: presets, asks, bots with facets, and tags. Whole studies: `rest`."""

from django.core.exceptions import ValidationError
from django.shortcuts import get_object_or_404
from ninja import Body, Field, Router, Schema
from ninja.errors import HttpError

from turnwise.accounts.access import AuthenticatedHttpRequest
from turnwise.live.http_responses import answers
from turnwise.studies import services
from turnwise.studies.ask_rules import in_order
from turnwise.studies.facets import facets_of, set_facets
from turnwise.studies.models import Study
from turnwise.studies.presets import PRESETS, Preset
from turnwise.studies.queries import studies_of
from turnwise.studies.rest.calls import StudyOut, Targets, study_out, targets_of
from turnwise.studies.rest.lookup import study_at
from turnwise.studies.rest.study_fields import AskSchema, ask_schemas, ask_specs
from turnwise.studies.tasks import StudyTask, tasks

router = Router(tags=["studies"])

Facets = dict[str, dict[str, str]]


class PresetAskOut(Schema):
    """An ask of a draft made from a preset."""

    question_set: str
    about: str
    moment: str = Field(description="When it is asked; empty for readers.")
    required: bool


class PresetOut(Schema):
    """A preset from which a new study can start."""

    key: str
    title: str
    source: str = Field(
        description="The publication, or what a design of Turnwise does; empty of an own design."
    )
    task: str = Field(description="What workers do; empty where it can be chosen.")
    asks: list[PresetAskOut] = Field(description="What a draft asks; where the task is chosen, of the first.")
    tasks: dict[str, list[PresetAskOut]] = Field(
        description="By each task that such a draft can have, what it then asks."
    )


@router.get("/presets", response=answers(list[PresetOut]))
def presets(request: AuthenticatedHttpRequest) -> list[PresetOut]:
    """List the presets: published protocols, designs of Turnwise, and `empty`, which follows none."""
    return [_preset(each) for each in PRESETS]


def _preset(preset: Preset) -> PresetOut:
    by_task = {task.key: _preset_asks(preset, task) for task in tasks() if preset.is_for(task)}
    return PresetOut(
        key=preset.key,
        title=preset.title,
        source=preset.source,
        task=preset.task,
        asks=by_task[preset.study().task],
        tasks=by_task,
    )


def _preset_asks(preset: Preset, task: StudyTask) -> list[PresetAskOut]:
    return [
        PresetAskOut(
            question_set=ask.question_set,
            about=ask.about.value,
            moment=ask.moment.value if ask.moment else "",
            required=ask.required,
        )
        for ask in in_order(preset.asks or task.asks)
    ]


@router.put("/studies/{slug:code}/bots", response=answers(StudyOut, 404, has_body=True))
def change_bots(request: AuthenticatedHttpRequest, code: str, sent: Body[Targets]) -> StudyOut:
    """Set the bots of a study and their targets; conversations with bots that are left out stay."""
    study = study_at(request, code)
    try:
        services.set_bots(study.pk, targets_of(request.user, study, sent))
    except ValidationError as error:
        raise HttpError(422, " ".join(error.messages)) from None
    return study_out(study)


@router.get("/studies/{slug:code}/asks", response=answers(list[AskSchema], 404))
def asks(request: AuthenticatedHttpRequest, code: str) -> list[AskSchema]:
    """List the asks of the study in order; its report begins with the first."""
    return ask_schemas(study_at(request, code))


@router.put("/studies/{slug:code}/asks", response=answers(list[AskSchema], 404, has_body=True))
def change_asks(request: AuthenticatedHttpRequest, code: str, sent: Body[list[AskSchema]]) -> list[AskSchema]:
    """Replace the asks of a draft; removing an ask also removes its items from the queue."""
    study = study_at(request, code)
    try:
        return ask_schemas(services.ask(study.pk, ask_specs(request.user, sent)))
    except ValidationError as error:
        raise HttpError(422, " ".join(error.messages)) from None


@router.get("/studies/{slug:code}/facets", response=answers(Facets, 404))
def facets(request: AuthenticatedHttpRequest, code: str) -> Facets:
    """Facets with their levels, by name of the bot."""
    return facets_of(study_at(request, code))


@router.put("/studies/{slug:code}/facets", response=answers(Facets, 404, has_body=True))
def change_facets(request: AuthenticatedHttpRequest, code: str, sent: Body[Facets]) -> Facets:
    """Set the facets of these bots; other bots keep theirs. An empty level removes the facet."""
    study = study_at(request, code)
    try:
        set_facets(study, sent)
    except ValidationError as error:
        raise HttpError(422, " ".join(error.messages)) from None
    return facets_of(study)


Tags = list[str]


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
