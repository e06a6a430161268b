"""Save and copy the panels of a study, and manage its invitations."""

import csv
import io
import re
import secrets
from collections.abc import Collection, Sequence

from django.core.exceptions import ValidationError
from django.core.validators import validate_email
from django.db import transaction
from django.utils.translation import gettext as _

from turnwise.crowd.models import Invitation, Participation, StudyPanel, Worker, completion_code
from turnwise.crowd.panels import Panel, check_settings, panels
from turnwise.crowd.panels.base import shortened
from turnwise.crowd.panels.links import OpenLink, invitation_key
from turnwise.studies.models import Study

DEFAULT_PARAMETER = "pid"
MOST_INVITED_AT_ONCE = 5000
ERASED = "[erased]"
"""Beginning of the name of an invitation whose name was erased."""
LONGEST_NAME = 254
# Settings that identify workers: changing them would turn known workers into new ones.
LOCKED = ("parameter", "secret")
# Match only from the beginning of a word: otherwise a long word without @ is scanned from each letter.
_ADDRESS = re.compile(r"(?<![^\s<>,;:\"()\[\]])[^\s<>,;:\"()\[\]]+@[^\s<>,;:\"()\[\]]+")


def proposed_setup(panel: Panel) -> StudyPanel:
    """Propose settings of a study with a panel: new codes, if it requires any."""
    codes = {str(outcome): completion_code() for outcome in panel.outcomes} if panel.needed else {}
    parameter = DEFAULT_PARAMETER if "parameter" in panel.asks_for else ""
    return StudyPanel(panel=panel.key, parameter=parameter, codes=codes)


def recruit_by(study: Study, key: str) -> None:
    """Let a new study take people from one panel, with proposed settings, in the caller's transaction.

    An unknown key and the open link, which every study without panels has, leave the study as it is.
    """
    panel = next((each for each in panels() if each.key == key), None)
    if panel and panel.key != OpenLink.key:
        setup = proposed_setup(panel)
        setup.study = study
        check_settings(setup)
        setup.save()


@transaction.atomic
def save_panels(study: Study, wanted: Sequence[StudyPanel], *, closed_to: Collection[Study]) -> None:
    """Store the panels of a study, and delete its panels that are left out.

    Args:
        study: the study.
        wanted: its panels with their settings, unsaved.
        closed_to: studies whose participants are excluded.

    Raises:
        ValidationError: by panel and field (`prolific-code_complete`), invalid settings, or changes of
            settings that earlier participants depend on.
    """
    Study.objects.select_for_update().get(pk=study.pk)
    stored = {setup.panel: setup for setup in study.panels.all()}
    problems: dict[str, list[str]] = {}
    for setup in wanted:
        setup.study = study
        before = stored.pop(setup.panel, None)
        setup.pk = before.pk if before else None
        for name, says in _problems(setup, before).items():
            problems.setdefault(f"{setup.panel}-{name}", []).extend(says)
    for left_out in stored.values():
        if _is_used(left_out):
            problems[f"{left_out.panel}-taken"] = [
                _(
                    "People have come through this panel, so the study keeps it. Close the study "
                    "to let nobody in."
                )
            ]
    if problems:
        raise ValidationError(problems)
    StudyPanel.objects.filter(pk__in=[each.pk for each in stored.values()]).delete()
    for setup in wanted:
        setup.save()
    study.closed_to_workers_of.set(closed_to)


def _problems(setup: StudyPanel, before: StudyPanel | None) -> dict[str, list[str]]:
    try:
        check_settings(setup)
    except ValidationError as error:
        return error.message_dict
    if before and _is_used(before):
        changed = [name for name in LOCKED if getattr(before, name) != getattr(setup, name)]
        says = _("People have come through this panel, so this is fixed: “%(before)s”.")
        return {
            name: [says % {"before": getattr(before, name) if name != "secret" else "…"}] for name in changed
        }
    return {}


def _is_used(setup: StudyPanel) -> bool:
    return Participation.objects.filter(entered_by=setup).exists()


def copy_panels(study: Study, copy: Study) -> None:
    """Copy a study's panels to its copy, in the caller's transaction, without study-specific settings.

    Codes are not copied: new ones must be set up at the panel. If links are signed, the copy gets a new
    secret; otherwise anyone could make links into it.
    """
    StudyPanel.objects.bulk_create(
        StudyPanel(
            study=copy,
            panel=each.panel,
            parameter=each.parameter,
            return_url=each.return_url,
            secret=secrets.token_urlsafe(24) if each.secret else "",
        )
        for each in study.panels.all()
    )
    copy.closed_to_workers_of.set(study.closed_to_workers_of.all())


def setup_problems(study: Study) -> str:
    """Problems of a study's panel settings that prevent arrivals, as text; empty if there are none."""
    by_key = {panel.key: panel for panel in panels()}
    setup = [each for each in study.panels.all() if each.panel in by_key]
    says = [problem for each in setup for problem in by_key[each.panel].problems(each).values()]
    if not says:
        return ""
    return _("%(problems)s Set it under “Panels and invitations”.") % {"problems": " ".join(says)}


def parse_invited_people(text: str) -> list[str]:
    """Parse a list of people: e-mail addresses anywhere in a text, or the first column of a CSV file.

    Raises:
        ValidationError: the list is empty or too long, or a name is too long.
    """
    addresses = [each.rstrip(".") for each in _ADDRESS.findall(text)]
    if addresses:
        for address in addresses:
            _refuse_no_address(address)
        names = addresses
    else:
        names = _first_column(text)
    people = list(dict.fromkeys(names))
    if not people:
        raise ValidationError(_("The list is empty. Enter e-mail addresses or names, one on each line."))
    if len(people) > MOST_INVITED_AT_ONCE:
        raise ValidationError(
            _("The list has %(n)d people; at most %(most)d are invited at once. Split it.")
            % {"n": len(people), "most": MOST_INVITED_AT_ONCE}
        )
    return people


def _refuse_no_address(text: str) -> None:
    try:
        validate_email(text)
    except ValidationError:
        says = _("“%(text)s” is not an e-mail address. Correct or remove it.")
        raise ValidationError(says % {"text": shortened(text)}) from None


def _first_column(text: str) -> list[str]:
    try:
        rows = [row[0].strip() for row in csv.reader(io.StringIO(text)) if row and row[0].strip()]
    except csv.Error as error:
        raise ValidationError(_("This is not a CSV file: %(why)s.") % {"why": error}) from None
    if rows and rows[0].lower() in ("name", "email", "e-mail", "participant", "id"):
        rows = rows[1:]
    for name in rows:
        if len(name) > LONGEST_NAME:
            raise ValidationError(
                _("“%(name)s” has %(n)d characters; a name has at most %(most)d.")
                % {"name": shortened(name), "n": len(name), "most": LONGEST_NAME}
            )
    return rows


def admit_invited_people(study: Study) -> None:
    """Add the panel of invited people to a study, in the caller's transaction."""
    if not study.panels.exists():  # the study was open to anyone with the link, and stays so
        StudyPanel.objects.create(study=study, panel="open")
    StudyPanel.objects.get_or_create(study=study, panel="invited")


def invitation_of(participation: Participation) -> Invitation | None:
    """The invitation by which a participant came; None if they came in another way."""
    key = invitation_key(participation.worker.panel, participation.worker.panel_id)
    return Invitation.objects.filter(study=participation.study_id, pk=key).first() if key else None


def erase_invitation(invited: Invitation) -> None:
    """Erase whom an invitation named, in the caller's transaction."""
    Invitation.objects.filter(pk=invited.pk).update(name=f"{ERASED} {invited.pk}", email="")


@transaction.atomic
def invite(study: Study, names: Sequence[str]) -> tuple[int, int]:
    """Create a personal link for each of these people who has none yet.

    Returns:
        Number of new invitations, and of people invited before.
    """
    admit_invited_people(study)
    before = set(Invitation.objects.filter(study=study, name__in=names).values_list("name", flat=True))
    new = [Invitation(study=study, name=name) for name in names if name not in before]
    Invitation.objects.bulk_create(new, ignore_conflicts=True)
    return len(new), len(before)


def invitations(study: Study) -> list[tuple[Invitation, bool]]:
    """All invitations to a study but those of experts, each with whether it was used."""
    come = set(
        Worker.objects.filter(panel="invited", participations__study=study).values_list("panel_id", flat=True)
    )
    return [(row, row.panel_id in come) for row in Invitation.objects.filter(study=study, digest=None)]
