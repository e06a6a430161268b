"""Checks before a study is opened to workers."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from django.core.exceptions import ValidationError
from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from chatbots.prompt_variables import scenario_columns_in
from evaluation.texts.cleaning import ENOUGH_LETTERS, contradiction
from turnwise.accounts.limits import limit_concurrency
from turnwise.accounts.models import User
from turnwise.bots.queries import sees_pictures
from turnwise.bots.trial import Greeting, greet_bots
from turnwise.languages.queries import used_by
from turnwise.studies.consent import why_contact_missing, why_debriefing_unfinished, why_unfinished
from turnwise.studies.models import ConsentVersion, Study, is_read_by_a_native_speaker, language_name
from turnwise.studies.plans.stopping import stopping_rule_of, why_rule_unfit
from turnwise.studies.scenarios.tables import COLUMNS, variables_of
from turnwise.studies.services import set_state
from turnwise.studies.tasks import task_of


@dataclass(frozen=True, slots=True)
class Check:
    """One check before the opening.

    Attributes:
        title: what is checked.
        says: the result in a sentence.
        holds: whether the check passes.
        cure: what to do if it fails; a check without a cure does not prevent the opening.
        address: page on which that is done.
    """

    title: str
    says: str
    holds: bool
    cure: str = ""
    address: str = ""


def checks(study: Study) -> list[Check]:
    """Run all checks that need no reply of a bot."""
    task, consent = task_of(study), study.consent_versions.last()
    found = _needed(study, consent)
    if task.has_workers:
        found += [*_script_checks(study, consent), *_translation_checks(study), *_language_check(study)]
        if study.questionnaires:
            asked = "; ".join(map(str, study.questionnaires))
            found += [Check(_("Questions about the people"), _("Asked: %(asks)s.") % {"asks": asked}, True)]
        unpaid = _("Workers are not paid.")
        pay = _("Each worker is promised %(pay)s.") % {"pay": study.pay} if study.pay else unpaid
        found += [Check(_("Pay"), pay, True)]
    if any(bot.is_operated for bot in task.bots_to_try(study)):
        debriefing_remark = _("Workers are told at the end what the debriefing says.")
        untold = _("Workers are never told that a person answers as the chatbot. Write a debriefing.")
        found += [
            Check(_("Debriefing"), debriefing_remark if study.debriefing else untold, bool(study.debriefing))
        ]
    return [*found, *_picture_check(study), *_scenario_check(study)]


def first_obstacle(study: Study) -> Check | None:
    """Return the first failed check that prevents the opening; None if there is none."""
    return obstacle_among(_needed(study, study.consent_versions.last()))


def obstacle_among(found: Sequence[Check]) -> Check | None:
    """Return the first of these checks that prevents the opening; None if there is none."""
    return next((each for each in found if each.cure and not each.holds), None)


def _needed(study: Study, consent: ConsentVersion | None) -> list[Check]:
    """Run the checks that must pass before the opening."""
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
        _contact_check(study),
        *_debriefing_check(study),
        *_stopping_check(study),
        Check(_("Panels"), cannot or fine, not cannot, _("Fix the panels"), panels),
    ]


def _picture_check(study: Study) -> list[Check]:
    """Check that the bots of a study that takes pictures see them; the others get the texts alone."""
    if not study.takes_pictures:
        return []
    bots = [bot for bot in task_of(study).bots_to_try(study) if not bot.is_operated]
    blind = ", ".join(bot.title for bot in bots if not sees_pictures(bot))
    seen = _("People may send pictures, and all bots see them.")
    unseen = _(
        "People may send pictures, but these bots get the text alone: %(bots)s. If their model takes "
        "pictures, turn on “Send pictures” in their settings."
    )
    return [Check(_("Pictures"), unseen % {"bots": blind} if blind else seen, not blind)]


def _scenario_check(study: Study) -> list[Check]:
    """Check that the study's table of scenarios has the columns that system prompts name."""
    columns, lacking = {*COLUMNS, *variables_of(study.scenarios)}, []
    for bot in task_of(study).bots_to_try(study):
        named = dict.fromkeys(
            name for text in _texts_in(bot.configuration) for name in scenario_columns_in(text)
        )
        lacking += [
            f"{bot.title} ({{scenario.{name}}})"
            for name in named
            if name not in columns or not study.scenarios
        ]
    if not (study.scenarios or lacking):
        return []
    fine = _("%(n)d scenarios, one per conversation.") % {"n": len(study.scenarios)}
    says = _(
        "These system prompts name columns that the study's table of scenarios lacks, and get nothing there: "
        "%(bots)s. Add the columns to the table, or change the prompts."
    )
    return [Check(_("Scenarios"), says % {"bots": ", ".join(lacking)} if lacking else fine, not lacking)]


def _texts_in(value: object) -> Iterator[str]:
    """Yield all texts in a bot's settings."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        for each in value.values():
            yield from _texts_in(each)
    elif isinstance(value, list):
        for each in value:
            yield from _texts_in(each)


def _consent_check(study: Study, consent: ConsentVersion | None) -> Check:
    """Check that there is a complete consent text."""
    says = why_unfinished(consent.text) if consent else _("There is no text that workers agree to.")
    agreed = _("Workers agree to version %(number)s.") % {"number": consent.number if consent else 0}
    address = f"{reverse('studies:edit', args=[study.pk])}#id_consent_text"
    cure = _("Fill in the [brackets] of the consent text") if consent else _("Write the consent text")
    return Check(_("Consent"), says or agreed, not says, cure, address)


def _contact_check(study: Study) -> Check:
    """Check that people who are paid know to whom they can write."""
    address = f"{reverse('studies:edit', args=[study.pk])}#id_contact"
    if contact := study.contact_address:
        return Check(_("Contact"), _("Workers can write to %(address)s.") % {"address": contact}, True)
    if study.pay_amount and not study.rehearsal_of_id:
        return Check(_("Contact"), why_contact_missing(), False, _("Add an address for questions"), address)
    says = _("Workers find no address to which they can write. A study that pays needs one.")
    return Check(_("Contact"), says, False)


def _script_checks(study: Study, consent: ConsentVersion | None) -> list[Check]:
    """Check that the texts' script fits a language of the study."""
    problems = [
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
    for says, text, enough in problems:
        why = [contradiction([text], language, enough=enough) for language in study.languages]
        if why and all(why):
            fields = {"script": why[0], "languages": study.language_names, "text": text}
            found.append(Check(_("Language"), says % fields, False))
    return found


def _translation_checks(study: Study) -> list[Check]:
    """Check how much of the worker pages is translated, in languages that are translated in the product."""
    found = []
    for progress in used_by(study.languages):
        says, fields = _("All texts are translated to %(language)s."), {"language": progress.language.name}
        if progress.missing:
            says = ngettext(
                "%(n)d of %(total)d texts of worker pages is not translated to %(language)s. Workers read it "
                "in English. Complete it on the page Languages.",
                "%(n)d of %(total)d texts of worker pages are not translated to %(language)s. Workers read "
                "them in English. Complete them on the page Languages.",
                progress.missing,
            )
        numbers = {"n": progress.missing, "total": progress.total}
        found.append(Check(_("Language"), says % {**fields, **numbers}, not progress.missing))
    return found


def _language_check(study: Study) -> list[Check]:
    """Warn of languages in which nobody has proofread the pages for workers."""
    unread = [language_name(code) for code in study.languages if not is_read_by_a_native_speaker(code)]
    says = _("No native speaker has read our pages for workers in %(languages)s. Read them in the preview.")
    return [Check(_("Language"), says % {"languages": ", ".join(unread)}, False)] if unread else []


def _debriefing_check(study: Study) -> list[Check]:
    """Check that no placeholder is left in the debriefing."""
    if not (says := why_debriefing_unfinished(study.debriefing)):
        return []
    address = f"{reverse('studies:edit', args=[study.pk])}#id_debriefing"
    return [Check(_("Debriefing"), says, False, _("Write the debriefing"), address)]


def _stopping_check(study: Study) -> list[Check]:
    """Check that the study can open with its stopping rule, if it has one."""
    rule = stopping_rule_of(study)
    if rule is None:
        return []
    address = reverse("studies:stopping", args=[study.pk])
    fine = _("The study closes itself once it is decided, or at %(n)d conversations with each bot.")
    says = "" if rule.is_frozen else why_rule_unfit(study)
    cure = _("Fix the stopping rule or the numbers of conversations")
    return [Check(_("Stopping rule"), says or fine % {"n": rule.largest}, not says, cure, address)]


def try_bots(study: Study, *, to: User) -> list[Greeting]:
    """Greet each bot of the study once, and return how it answered.

    Raises:
        TooManyAtOnceError: a check for this person is already running in this process.
    """
    with limit_concurrency(1, "opening", to.pk):
        return greet_bots(task_of(study).bots_to_try(study))


def open_study(study: Study, *, to: User) -> list[Greeting]:
    """Open a study if at least one of its bots answers; returns how each bot answered.

    Raises:
        ValidationError: a check failed, or no bot answers.
        TooManyAtOnceError: as `try_bots`; nothing changed.
    """
    if missing := first_obstacle(study):
        raise ValidationError(missing.says)
    greetings = try_bots(study, to=to)
    if greetings and not any(each.answered for each in greetings):
        why = " ".join(f"{each.bot}: {each.says}" for each in greetings)
        raise ValidationError(
            _("None of its bots answers, so nobody could be admitted and nothing changes. %(why)s")
            % {"why": why}
        )
    set_state(study.pk, Study.State.OPEN)
    return greetings
