"""Panels (recruiting services and link types), one module each, and their use in a study.

`arrival_from_link` reads a panel's link; `return_path` leads back to the panel. No other code knows how
panels name people.
"""

from django.core import signing
from django.core.exceptions import ValidationError
from django.http import QueryDict
from django.utils.translation import gettext as _

from turnwise.crowd import refusals
from turnwise.crowd.models import Outcome, Participation, StudyPanel
from turnwise.crowd.panels.address import AnyAddress
from turnwise.crowd.panels.base import Arrival, Panel, ReturnPath
from turnwise.crowd.panels.links import Invited, OpenLink
from turnwise.crowd.panels.mturk import MTurk
from turnwise.crowd.panels.prolific import Prolific
from turnwise.studies.models import Study

__all__ = [
    "Arrival",
    "Panel",
    "ReturnPath",
    "arrival_from_link",
    "arrival_of_participation",
    "check_settings",
    "is_preview",
    "load_signed_arrival",
    "panel_of",
    "panels",
    "panels_of",
    "plain_link_arrival",
    "return_path",
    "sign_arrival",
]

_PANELS: dict[str, Panel] = {
    each.key: each for each in (OpenLink(), Prolific(), MTurk(), AnyAddress(), Invited())
}
_SALT = "crowd.arrival"
# Time that a worker has on the first page before consent.
CARRIED_FOR = 24 * 3600


def panels() -> list[Panel]:
    """All panels, in the order of the page."""
    return sorted(_PANELS.values(), key=lambda panel: panel.order)


def panel_of(setup: StudyPanel) -> Panel:
    return _PANELS[setup.panel]


def check_settings(setup: StudyPanel) -> None:
    """Check a study's settings with a panel.

    Raises:
        ValidationError: names the problems by field.
    """
    problems = panel_of(setup).problems(setup)
    if any(setup.parameter in panel.parameters for panel in _PANELS.values()):
        problems["parameter"] = _("“%(name)s” is a parameter of another panel. Use another name.") % {
            "name": setup.parameter
        }
    if problems:
        raise ValidationError({name: [says] for name, says in problems.items()})


def panels_of(study: Study) -> list[StudyPanel]:
    """Panels of a study; an unsaved open link if it has none."""
    return list(study.panels.select_related("study")) or [StudyPanel(study=study, panel=OpenLink.key)]


def arrival_from_link(query: QueryDict, study: Study) -> Arrival | None:
    """Read the arrival from a link's query; None if it names no worker.

    Raises:
        EntryRefusedError: the study does not use that panel, or the link is malformed.
    """
    for setup in panels_of(study):
        panel = panel_of(setup)
        if panel.parameter(setup) in query or any(name in query for name in panel.parameters):
            return panel.arrival(query, setup)
    for panel in panels():
        if any(name in query for name in panel.parameters):
            raise panel.refusal_of_arrivals()
    return None


def is_preview(query: QueryDict, study: Study) -> bool:
    """True if a panel shows the page as a preview, before the worker has accepted the work."""
    return any(panel_of(setup).is_preview(query) for setup in panels_of(study))


def plain_link_arrival(study: Study) -> Arrival:
    """Arrival by the plain link, which names no worker.

    Raises:
        EntryRefusedError: the study does not admit workers by the plain link.
    """
    for setup in panels_of(study):
        if setup.panel == OpenLink.key:
            return Arrival("", "", entered_by=setup.pk)
    raise refusals.needs_panel([panel_of(setup).for_workers(setup) for setup in panels_of(study)])


def sign_arrival(arrival: Arrival, study: Study) -> str:
    """Sign an arrival for a hidden form field."""
    values = [
        arrival.panel,
        arrival.worker,
        arrival.submission,
        dict(arrival.panel_values),
        arrival.entered_by,
    ]
    return signing.dumps(values, salt=f"{_SALT}.{study.code}", compress=True)


def load_signed_arrival(text: str, study: Study) -> Arrival:
    """Load a signed arrival from a form.

    Raises:
        EntryRefusedError: it was altered, belongs to another study, or has expired.
    """
    try:
        panel, worker, submission, back, entered_by = signing.loads(
            text, salt=f"{_SALT}.{study.code}", max_age=CARRIED_FOR
        )
    except (signing.BadSignature, ValueError, TypeError):
        raise refusals.stale_page() from None
    if entered_by and not study.panels.filter(pk=entered_by).exists():
        raise refusals.stale_page()
    return Arrival(panel, worker, submission, back, entered_by)


def return_path(arrival: Arrival, study: Study, outcome: Outcome, own_code: str = "") -> ReturnPath:
    """Return path of a worker to the panel of their arrival."""
    setup = study.panels.filter(pk=arrival.entered_by).first() if arrival.entered_by else None
    setup = setup or StudyPanel(study=study, panel=OpenLink.key)
    return panel_of(setup).return_path(arrival, setup, outcome, own_code)


def arrival_of_participation(participation: Participation) -> Arrival:
    """Arrival stored with a participation."""
    worker = participation.worker
    return Arrival(
        worker.panel,
        worker.panel_id,
        participation.submission,
        participation.panel_values,
        participation.entered_by_id,
    )
