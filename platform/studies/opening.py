"""What is looked at before workers are let in."""

from dataclasses import dataclass

from django.core.exceptions import ValidationError
from django.utils.translation import gettext as _

from bots.trying import Tried, tried
from studies.consent import why_unfinished
from studies.models import Study
from studies.services import set_state
from studies.tasks import task_of


@dataclass(frozen=True, slots=True)
class Check:
    """Something that an opening needs: what it is, how it stands, and whether that will do."""

    title: str
    says: str
    holds: bool


def checks(study: Study) -> list[Check]:
    """What can be told without asking a bot."""
    task = task_of(study)
    missing = task.why_not_open(study)
    found = [Check(_("What is done in it"), missing or _("Complete."), not missing)]
    bots = task.bots_to_try(study)
    if task.has_workers:
        found += [_consent_check(study)]
        cannot = task.why_none_can_come(study)
        fine = _("People come in by their links and find their way back.")
        found += [Check(_("Panels"), cannot or fine, not cannot)]
        if study.questionnaires:
            asked = "; ".join(map(str, study.questionnaires))
            found += [Check(_("Questions about the people"), _("Asked: %(asks)s.") % {"asks": asked}, True)]
        pay = study.pay or _("nothing")
        found += [Check(_("Pay"), _("Each worker is promised %(pay)s.") % {"pay": pay}, True)]
    if any(bot.is_operated for bot in bots):
        told = _("Workers are told at the end what the debriefing says.")
        untold = _("Workers are never told that a person answers as the chatbot. Write a debriefing.")
        found += [Check(_("Debriefing"), told if study.debriefing else untold, bool(study.debriefing))]
    return found


def _consent_check(study: Study) -> Check:
    """Whether there is a text that workers can agree to."""
    consent = study.consent_versions.last()
    if consent is None:
        return Check(_("Consent"), _("There is no text that workers agree to."), False)
    unfinished = why_unfinished(consent.text)
    agreed = _("Workers agree to version %(number)s.") % {"number": consent.number}
    return Check(_("Consent"), unfinished or agreed, not unfinished)


def try_bots(study: Study) -> list[Tried]:
    """The bots that workers would get, each greeted once."""
    return tried(task_of(study).bots_to_try(study))


def open_study(study: Study) -> list[Tried]:
    """Open a study whose bots answer; those which do not are among what is returned.

    Raises:
        ValidationError: nothing can be done in it, or none of its bots answers.
    """
    task = task_of(study)
    missing = task.why_not_open(study) or task.why_none_can_come(study)
    if not missing and task.has_workers and not (consent := _consent_check(study)).holds:
        missing = consent.says
    if missing:
        raise ValidationError(missing)
    told = try_bots(study)
    if told and not any(each.answered for each in told):
        why = " ".join(f"{each.bot}: {each.says}" for each in told)
        raise ValidationError(
            _("None of its bots answers, so nobody could be admitted and it stays as it is. %(why)s")
            % {"why": why}
        )
    set_state(study.pk, Study.State.OPEN)
    return told
