"""REST API of a study's panels: from where it takes people, with which codes, and whom it keeps out."""

from collections.abc import Sequence
from typing import Annotated

from django.core.exceptions import ValidationError
from django.http import HttpRequest
from ninja import Field, Router, Schema
from pydantic import StringConstraints

from turnwise.accounts.access import AuthenticatedHttpRequest
from turnwise.crowd.models import LONGEST_ID, Outcome, StudyPanel
from turnwise.crowd.panels import Panel, panel_of, panels, panels_of, study_panels
from turnwise.live.http_responses import answers
from turnwise.live.problems import InvalidFieldsError
from turnwise.studies.models import Study
from turnwise.studies.queries import real_studies_of
from turnwise.studies.rest.lookup import study_at

router = Router(tags=["studies"])
BY_KEY = {panel.key: panel for panel in panels()}
MOST_EXCLUDED = 1000
Code = Annotated[str, StringConstraints(strip_whitespace=True, max_length=40)]


def _text(length: int, description: str) -> str | None:
    """Text of a panel's settings; null or left out: it stays as it is."""
    found: str | None = Field(None, max_length=length, description=description)
    return found


class PanelIn(Schema, extra="forbid"):
    """Settings of a study with a panel; those that are left out stay, or are proposed for a new panel."""

    codes: dict[Outcome, Code] | None = Field(
        None,
        description="By outcome, the code with which people return to the panel. An outcome without a code "
        "has none. Left out: the codes stay, and a panel that needs codes gets new ones.",
    )
    parameter: str | None = _text(30, "Parameter of the link with the id of the person.")
    secret: str | None = _text(100, "Secret with which the panel signs its links. It is never returned.")
    return_url: str | None = _text(500, "Where people go at the end; empty: they copy a code.")
    token: str | None = _text(60, "Name of the environment variable with the token of the panel's API.")
    their_study: str | None = _text(LONGEST_ID, "The panel's own id of the study.")


class PanelsIn(Schema, extra="forbid"):
    """All panels of a study."""

    panels: dict[str, PanelIn] = Field(
        max_length=20, description="By key of the panel; those that are left out go. None: the open link."
    )
    closed_to: list[Annotated[str, StringConstraints(max_length=40)]] | None = Field(
        None,
        max_length=MOST_EXCLUDED,
        description="Codes of studies whose participants are kept out; left out: as it is.",
    )


class PanelOut(Schema):
    """Settings of a study with a panel."""

    title: str
    link: str = Field(description="The link for the panel; empty: each person has their own.")
    codes: dict[str, str] = Field(description="By outcome, the code with which people return to the panel.")
    parameter: str
    is_signed: bool = Field(description="Whether links are signed with a secret.")
    return_url: str
    token: str = Field(description="Name of the environment variable with the token of the panel's API.")
    their_study: str


class KnownPanelOut(Schema):
    """A panel that a study can have."""

    title: str
    about: str
    settings: list[str] = Field(description="Settings that it takes beside its codes.")
    outcomes: list[str] = Field(description="Outcomes that can have a code.")
    needed: list[str] = Field(description="Outcomes that must have a code.")


class PanelsOut(Schema):
    """The panels of a study, and all that there are."""

    panels: dict[str, PanelOut] = Field(description="By key of the panel.")
    closed_to: list[str] = Field(description="Codes of studies whose participants are kept out.")
    known: dict[str, KnownPanelOut] = Field(description="Every panel that a study can have, by its key.")


@router.get("/studies/{slug:code}/panels", response=answers(PanelsOut, 404))
def study_panels_now(request: AuthenticatedHttpRequest, code: str) -> PanelsOut:
    """Get the panels of a study with their links and codes."""
    return _panels(request, study_at(request, code))


@router.put("/studies/{slug:code}/panels", response=answers(PanelsOut, 404, has_body=True))
def change_panels(request: AuthenticatedHttpRequest, code: str, sent: PanelsIn) -> PanelsOut:
    """Replace the panels of a study. Panels through which people have come stay, and are fixed."""
    study = study_at(request, code)
    stored = {setup.panel: setup for setup in study.panels.all()}
    wanted = [_row(key, each, stored.get(key)) for key, each in sent.panels.items()]
    closed_to = (
        list(study.closed_to_workers_of.all())
        if sent.closed_to is None
        else _studies(request, study, sent.closed_to)
    )
    try:
        study_panels.save_panels(study, wanted, closed_to=closed_to)
    except ValidationError as error:
        raise InvalidFieldsError(
            {_field(where): messages for where, messages in error.message_dict.items()}
        ) from None
    return _panels(request, study)


def _row(key: str, sent: PanelIn, stored: StudyPanel | None) -> StudyPanel:
    """Unsaved settings with a panel: the sent ones, else the stored or proposed ones."""
    panel = BY_KEY.get(key)
    if panel is None:
        raise InvalidFieldsError({f"panels.{key[:40]}": [f"There are these panels: {', '.join(BY_KEY)}."]})
    given = sent.model_dump(exclude_none=True)
    codes = given.pop("codes", None)
    _refuse_unknown(panel, given)
    base = stored or study_panels.proposed_setup(panel)
    values = {name: given.get(name, getattr(base, name)).strip() for name in panel.asks_for}
    if codes is None:
        codes = base.codes
    return StudyPanel(
        panel=key, codes={str(outcome): each for outcome, each in codes.items() if each}, **values
    )


def _refuse_unknown(panel: Panel, given: dict[str, str]) -> None:
    takes = ", ".join(("codes", *panel.asks_for)) if panel.outcomes else ", ".join(panel.asks_for)
    cure = f"It takes these: {takes}." if takes else "It has none."
    wrong = [name for name in given if name not in panel.asks_for]
    if wrong:
        raise InvalidFieldsError(
            {f"panels.{panel.key}.{name}": [f"“{panel.key}” has no such setting. {cure}"] for name in wrong}
        )


def _field(where: str) -> str:
    """Path in the request of a field of the page, such as panels.prolific.codes.complete."""
    key, _dash, name = where.partition("-")
    if name == "taken":
        return f"panels.{key}"
    outcome = name.removeprefix("code_")
    return f"panels.{key}.{f'codes.{outcome}' if outcome != name else name}"


def _studies(request: AuthenticatedHttpRequest, study: Study, codes: Sequence[str]) -> list[Study]:
    """Studies with these codes whose participants a study can keep out."""
    others = real_studies_of(request.user).exclude(pk=study.pk).exclude(state=Study.State.DRAFT)
    known = {each.code: each for each in (others | study.closed_to_workers_of.all()).distinct()}
    for number, code in enumerate(codes):
        if code not in known:
            says = f"You work on no study “{code}” that has opened. Its code is in its link."
            raise InvalidFieldsError({f"closed_to.{number}": [says]})
    return [known[code] for code in dict.fromkeys(codes)]


def _panels(request: HttpRequest, study: Study) -> PanelsOut:
    entry = request.build_absolute_uri(study.get_entry_url())
    return PanelsOut(
        panels={setup.panel: _panel(setup, entry) for setup in panels_of(study)},
        closed_to=list(study.closed_to_workers_of.order_by("pk").values_list("code", flat=True)),
        known={key: _known(panel) for key, panel in BY_KEY.items()},
    )


def _panel(setup: StudyPanel, entry: str) -> PanelOut:
    panel = panel_of(setup)
    return PanelOut(
        title=str(panel.title),
        link=panel.link(entry, setup),
        codes=setup.codes,
        parameter=setup.parameter,
        is_signed=bool(setup.secret),
        return_url=setup.return_url,
        token=setup.token,
        their_study=setup.their_study,
    )


def _known(panel: Panel) -> KnownPanelOut:
    return KnownPanelOut(
        title=str(panel.title),
        about=str(panel.about),
        settings=list(panel.asks_for),
        outcomes=[str(each) for each in panel.outcomes],
        needed=[str(each) for each in panel.needed],
    )
