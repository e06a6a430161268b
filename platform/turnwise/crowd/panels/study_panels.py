"""What may happen to the panels of a study, and to its list of invited people."""

import csv
import io
import re
import secrets
from collections.abc import Collection, Sequence

from django.core.exceptions import ValidationError
from django.core.validators import validate_email
from django.db import transaction
from django.utils.translation import gettext as _

from turnwise.crowd.models import Invitation, Participation, StudyPanel, Worker
from turnwise.crowd.panels import check_settings, panels
from turnwise.crowd.panels.base import shortened
from turnwise.studies.models import Study

MOST_INVITED_AT_ONCE = 5000
LONGEST_NAME = 254
# What identifies people, and who vouches for that: another id would make others of them.
LOCKED = ("parameter", "secret")
# From where a word begins, and nowhere inside: else a long word without @ is read from each of its letters.
_ADDRESS = re.compile(r"(?<![^\s<>,;:\"()\[\]])[^\s<>,;:\"()\[\]]+@[^\s<>,;:\"()\[\]]+")


@transaction.atomic
def save_panels(study: Study, wanted: Sequence[StudyPanel], *, closed_to: Collection[Study]) -> None:
    """Store the panels of a study; those that are left out it takes no more.

    Args:
        study: whose.
        wanted: its panels with their settings, not saved.
        closed_to: the studies whose workers cannot take part in it.

    Raises:
        ValidationError: by panel and field (`prolific-code_complete`), what a panel cannot have, or what
            people who came by it rely on.
    """
    Study.objects.select_for_update().get(pk=study.pk)
    stored = {taken.panel: taken for taken in study.panels.all()}
    problems: dict[str, list[str]] = {}
    for taken in wanted:
        taken.study = study
        before = stored.pop(taken.panel, None)
        taken.pk = before.pk if before else None
        for name, says in _problems(taken, before).items():
            problems.setdefault(f"{taken.panel}-{name}", []).extend(says)
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
    for taken in wanted:
        taken.save()
    study.closed_to_workers_of.set(closed_to)


def _problems(taken: StudyPanel, before: StudyPanel | None) -> dict[str, list[str]]:
    try:
        check_settings(taken)
    except ValidationError as error:
        return error.message_dict
    if before and _is_used(before):
        changed = [name for name in LOCKED if getattr(before, name) != getattr(taken, name)]
        says = _("People have come through this panel, so this is fixed: “%(before)s”.")
        return {
            name: [says % {"before": getattr(before, name) if name != "secret" else "…"}] for name in changed
        }
    return {}


def _is_used(taken: StudyPanel) -> bool:
    return Participation.objects.filter(entered_by=taken).exists()


def copy_panels(study: Study, copy: Study) -> None:
    """Give a copy of a study its panels, in the caller's transaction, without what was agreed for one study.

    Codes are left out, which the panel has to be told anew. Where links are signed, those of the copy are,
    too, with a secret of their own: else anybody could make links into it.
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
    """What the panels of a study lack before anybody can come by them; empty if nothing."""
    by_key = {panel.key: panel for panel in panels()}
    taken = [each for each in study.panels.all() if each.panel in by_key]
    says = [problem for each in taken for problem in by_key[each.panel].problems(each).values()]
    if not says:
        return ""
    return _("%(problems)s Set it under “Panels and invitations”.") % {"problems": " ".join(says)}


def parse_invited_people(text: str) -> list[str]:
    """Whom a list names: e-mail addresses anywhere in a text, or the first column of a CSV file.

    Raises:
        ValidationError: it names nobody, too many, or somebody at too great length.
    """
    addresses = [each.rstrip(".") for each in _ADDRESS.findall(text)]
    if addresses:
        for address in addresses:
            _refuse_no_address(address)
        names = addresses
    else:
        names = _first_column(text)
    found = list(dict.fromkeys(names))
    if not found:
        raise ValidationError(_("The list is empty. Enter e-mail addresses or names, one on each line."))
    if len(found) > MOST_INVITED_AT_ONCE:
        raise ValidationError(
            _("The list has %(n)d people; at most %(most)d are invited at once. Split it.")
            % {"n": len(found), "most": MOST_INVITED_AT_ONCE}
        )
    return found


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


@transaction.atomic
def invite(study: Study, names: Sequence[str]) -> tuple[int, int]:
    """Make a link for each of these people who has none yet.

    Returns:
        How many were invited, and how many had been before.
    """
    if not study.panels.exists():  # whoever has the link, who still may
        StudyPanel.objects.create(study=study, panel="open")
    StudyPanel.objects.get_or_create(study=study, panel="invited")
    before = set(Invitation.objects.filter(study=study, name__in=names).values_list("name", flat=True))
    new = [Invitation(study=study, name=name) for name in names if name not in before]
    Invitation.objects.bulk_create(new, ignore_conflicts=True)
    return len(new), len(before)


def invitations(study: Study) -> list[tuple[Invitation, bool]]:
    """Everybody who is invited to a study, and whether they have come."""
    come = set(
        Worker.objects.filter(panel="invited", participations__study=study).values_list("panel_id", flat=True)
    )
    return [(row, row.panel_id in come) for row in Invitation.objects.filter(study=study)]
