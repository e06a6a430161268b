"""Where people come from: the panels, a file each, and which of them a study takes.

`arrival_from_link` reads a link, `return_path` leads out again; nothing else knows how panels name people.
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
    "WayBack",
    "arrival_of",
    "panel_of",
    "panels",
    "taken_by",
    "way_back",
]

_PANELS: dict[str, Panel] = {
    each.key: each for each in (OpenLink(), Prolific(), MTurk(), AnyAddress(), Invited())
}
_SALT = "crowd.arrival"
# How long somebody may read the first page before they agree.
CARRIED_FOR = 24 * 3600


def panels() -> list[Panel]:
    """All panels in their order."""
    return sorted(_PANELS.values(), key=lambda panel: panel.order)


def panel_of(taken: StudyPanel) -> Panel:
    return _PANELS[taken.panel]


def check_settings(taken: StudyPanel) -> None:
    """Refuse settings that the panel cannot have.

    Raises:
        ValidationError: says by field what is wrong.
    """
    problems = panel_of(taken).problems(taken)
    if any(taken.parameter in panel.parameters for panel in _PANELS.values()):
        problems["parameter"] = _("“%(name)s” is a parameter of another panel. Use another name.") % {
            "name": taken.parameter
        }
    if problems:
        raise ValidationError({name: [says] for name, says in problems.items()})


def panels_of(study: Study) -> list[StudyPanel]:
    """The panels that a study takes; whoever has the link, if it names none."""
    return list(study.panels.select_related("study")) or [StudyPanel(study=study, panel=OpenLink.key)]


def arrival_from_link(query: QueryDict, study: Study) -> Arrival | None:
    """Who comes by a link; None: its query names nobody.

    Raises:
        EntryRefusedError: the study takes nobody from that panel, or the link is not as it makes them.
    """
    for taken in panels_of(study):
        panel = panel_of(taken)
        if panel.parameter(taken) in query or any(name in query for name in panel.parameters):
            return panel.arrival(query, taken)
    for panel in panels():
        if any(name in query for name in panel.parameters):
            raise panel.refusal_of_arrivals()
    return None


def is_preview(query: QueryDict, study: Study) -> bool:
    """Whether a panel only shows the page to somebody who has not taken the work yet."""
    return any(panel_of(taken).is_preview(query) for taken in panels_of(study))


def plain_link_arrival(study: Study) -> Arrival:
    """Who comes by a link that names nobody.

    Raises:
        EntryRefusedError: the study takes nobody so.
    """
    for taken in panels_of(study):
        if taken.panel == OpenLink.key:
            return Arrival("", "", entered_by=taken.pk)
    raise refusals.needs_panel([panel_of(taken).for_workers(taken) for taken in panels_of(study)])


def sign_arrival(arrival: Arrival, study: Study) -> str:
    """An arrival as a form carries it along, which nobody can alter."""
    named = [arrival.panel, arrival.worker, arrival.submission, dict(arrival.way_back), arrival.entered_by]
    return signing.dumps(named, salt=f"{_SALT}.{study.code}", compress=True)


def load_signed_arrival(text: str, study: Study) -> Arrival:
    """The arrival that a form carried.

    Raises:
        EntryRefusedError: it was altered, is of another study, or waited for too long.
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
    """How somebody goes back to where they came from."""
    taken = study.panels.filter(pk=arrival.entered_by).first() if arrival.entered_by else None
    taken = taken or StudyPanel(study=study, panel=OpenLink.key)
    return panel_of(taken).return_path(arrival, taken, outcome, own_code)


def arrival_of_participation(participation: Participation) -> Arrival:
    """How somebody who takes part came."""
    worker = participation.worker
    return Arrival(
        worker.panel,
        worker.panel_id,
        participation.submission,
        participation.way_back,
        participation.entered_by_id,
    )
