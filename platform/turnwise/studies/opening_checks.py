"""What is looked at before workers are let in."""

from collections.abc import Sequence
from dataclasses import dataclass

from django.core.exceptions import ValidationError
from django.urls import reverse
from django.utils.translation import gettext as _

from evaluation.texts.cleaning import ENOUGH_LETTERS, contradiction
from turnwise.accounts.limits import limit_concurrency
from turnwise.accounts.models import User
from turnwise.bots.trial import Greeting, greet_bots
from turnwise.studies.consent import why_debriefing_unfinished, why_unfinished
from turnwise.studies.models import ConsentVersion, Study
from turnwise.studies.services import set_state
from turnwise.studies.tasks import task_of


@dataclass(frozen=True, slots=True)
class Check:
    """Something that an opening looks at.

    Attributes:
        title: what it is.
        says: how it stands.
        holds: whether that will do.
        cure: what to do if it does not; without one the study opens all the same.
        address: where that is done.
    """

    title: str
    says: str
    holds: bool
    cure: str = ""
    address: str = ""


def checks(study: Study) -> list[Check]:
    """What can be told without asking a bot."""
    task, consent = task_of(study), study.consent_versions.last()
    found = _needed(study, consent)
    if task.has_workers:
        found += _script_checks(study, consent)
        if study.questionnaires:
            asked = "; ".join(map(str, study.questionnaires))
            found += [Check(_("Questions about the people"), _("Asked: %(asks)s.") % {"asks": asked}, True)]
        unpaid = _("Workers are not paid.")
        pay = _("Each worker is promised %(pay)s.") % {"pay": study.pay} if study.pay else unpaid
        found += [Check(_("Pay"), pay, True)]
    if any(bot.is_operated for bot in task.bots_to_try(study)):
        told = _("Workers are told at the end what the debriefing says.")
        untold = _("Workers are never told that a person answers as the chatbot. Write a debriefing.")
        found += [Check(_("Debriefing"), told if study.debriefing else untold, bool(study.debriefing))]
    return found


def first_obstacle(study: Study) -> Check | None:
    """The first thing that keeps a study from being opened."""
    return obstacle_among(_needed(study, study.consent_versions.last()))


def obstacle_among(found: Sequence[Check]) -> Check | None:
    """The same of what was looked at already."""
    return next((each for each in found if each.cure and not each.holds), None)


def _needed(study: Study, consent: ConsentVersion | None) -> list[Check]:
    """What must hold before anybody is let in."""
    task = task_of(study)
    missing, address = task.why_not_open(study), task.designed_at(study)
    done = Check(_("Design"), missing or _("Complete."), not missing, _("Complete the study"), address)
    if not task.has_workers:
        return [done]
    cannot = task.why_none_can_come(study)
    fine = _("People come in by their links and find their way back.")
    panels = reverse("crowd:panels", args=[study.pk])
    return [
        done,
        _consent_check(study, consent),
        *_debriefing_check(study),
        Check(_("Panels"), cannot or fine, not cannot, _("Fix the panels"), panels),
    ]


def _consent_check(study: Study, consent: ConsentVersion | None) -> Check:
    """Whether there is a text that workers can agree to."""
    says = why_unfinished(consent.text) if consent else _("There is no text that workers agree to.")
    agreed = _("Workers agree to version %(number)s.") % {"number": consent.number if consent else 0}
    address = f"{reverse('studies:edit', args=[study.pk])}#id_consent_text"
    cure = _("Fill in the [brackets] of the consent text") if consent else _("Write the consent text")
    return Check(_("Consent"), says or agreed, not says, cure, address)


def _script_checks(study: Study, consent: ConsentVersion | None) -> list[Check]:
    """Which texts cannot be in a language of those who are to read them."""
    told = [
        (_("The consent text is %(script)s, and people take part in %(languages)s. Translate it."),
         consent.text if consent else "", ENOUGH_LETTERS),
        (_("The instructions are %(script)s, and people take part in %(languages)s. Translate them."),
         study.instructions, ENOUGH_LETTERS),
        (_("The debriefing is %(script)s, and people take part in %(languages)s. Translate it."),
         study.debriefing, ENOUGH_LETTERS),
        (_("“%(text)s”, with which conversations open, is %(script)s, and people take part in %(languages)s. "
           "Translate it."),
         study.opening_text if task_of(study).has_conversations else "", 1),
    ]  # fmt: skip
    found = []
    for says, text, enough in told:
        why = [contradiction([text], language, enough=enough) for language in study.languages]
        if why and all(why):
            fields = {"script": why[0], "languages": study.language_names, "text": text}
            found.append(Check(_("Language"), says % fields, False))
    return found


def _debriefing_check(study: Study) -> list[Check]:
    """What is told at the end, where a template of it is not filled in yet."""
    if not (says := why_debriefing_unfinished(study.debriefing)):
        return []
    address = f"{reverse('studies:edit', args=[study.pk])}#id_debriefing"
    return [Check(_("Debriefing"), says, False, _("Write the debriefing"), address)]


def try_bots(study: Study, *, to: User) -> list[Greeting]:
    """The bots that workers would get, each greeted once, for one person who waits for the answers.

    Raises:
        TooManyAtOnceError: this person waits for such a check already, in this process.
    """
    with limit_concurrency(1, "opening", to.pk):
        return greet_bots(task_of(study).bots_to_try(study))


def open_study(study: Study, *, to: User) -> list[Greeting]:
    """Open a study whose bots answer; those which do not are among what is returned.

    Raises:
        ValidationError: nothing can be done in it, or none of its bots answers.
        TooManyAtOnceError: as `try_bots`; nothing changed.
    """
    if missing := first_obstacle(study):
        raise ValidationError(missing.says)
    told = try_bots(study, to=to)
    if told and not any(each.answered for each in told):
        why = " ".join(f"{each.bot}: {each.says}" for each in told)
        raise ValidationError(
            _("None of its bots answers, so nobody could be admitted and nothing changes. %(why)s")
            % {"why": why}
        )
    set_state(study.pk, Study.State.OPEN)
    return told
