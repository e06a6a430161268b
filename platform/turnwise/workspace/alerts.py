"""Alerts of running studies and their bots for the researcher."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from django.contrib.auth.models import AnonymousUser
from django.db.models import OuterRef, QuerySet, Subquery
from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from chatbots.hosting.health import State
from turnwise.accounts.models import User
from turnwise.bots import drift_check
from turnwise.bots.budgets import OVER_BUDGET, reached_budgets
from turnwise.bots.hosting import presence
from turnwise.bots.models import Bot
from turnwise.crowd.places import pilot
from turnwise.judges.drift_checks import services as judge_checks
from turnwise.judges.models import JudgeRun
from turnwise.reports.models import Report
from turnwise.studies.models import Study, StudyBot
from turnwise.studies.queries import progress_sentence, real_studies_of

MOST_FAILED = 12


@dataclass(frozen=True, slots=True)
class Running:
    """An open or paused study with its progress, people at work, and problems.

    Attributes:
        study: the study.
        finished: finished units.
        target: wanted units.
        at_it: number of people at work.
        faults: replies that failed within a day.
        suspects: people with signs of carelessness or fraud, about whom nobody has decided yet.
        piloted: people of its pilot who have finished.
    """

    study: Study
    finished: int
    target: int
    at_it: int
    faults: int
    suspects: int
    piloted: int

    @property
    def progress(self) -> str:
        return progress_sentence(self.study, self.finished, self.target)

    @property
    def is_full(self) -> bool:
        return bool(self.target) and self.finished >= self.target

    @property
    def admits(self) -> bool:
        """True if people can still begin, provided that its bots answer."""
        return self.study.state == Study.State.OPEN and not self.is_full


@dataclass(frozen=True, slots=True)
class Alert:
    """An alert for the researcher.

    Attributes:
        about: title of the study or bot.
        says: the message.
        address: page to go to.
        does: label of the link.
        bad: whether it keeps workers from their work.
    """

    about: str
    says: str
    address: str
    does: str
    bad: bool = False


def alerts_for(user: User | AnonymousUser, shown: Sequence[Running]) -> list[Alert]:
    """All alerts, the worst first."""
    needed = _needed_bots(shown)
    states = presence.bot_states(each.bot.name for each in needed if each.bot.active)
    found = [
        *_silent(shown, needed, states),
        *_full(shown),
        *_piloted(shown),
        *_faults(shown),
        *_drifted(shown),
        *_drifted_judges(real_studies_of(user).filter(archived_at=None)),
        *_over_budget(needed, states),
        *_failed_reports(real_studies_of(user).filter(archived_at=None)),
        *_suspects(shown),
    ]
    return sorted(found, key=lambda need: not need.bad)


def _needed_bots(shown: Sequence[Running]) -> list[StudyBot]:
    """Bots of the studies that admit or have workers."""
    needing = [each.study.pk for each in shown if each.admits or each.at_it]
    return list(StudyBot.objects.filter(study__in=needing, target__gt=0).select_related("bot"))


def _silent(shown: Sequence[Running], needed: Sequence[StudyBot], states: Mapping[str, str]) -> list[Alert]:
    """Alerts for needed bots that do not answer or still load."""
    needing = {each.study.pk: each for each in shown}
    switched_on = {each.study_id for each in needed if each.bot.active}
    bots: dict[int, list[tuple[str, str]]] = {}
    for each in needed:
        if (
            each.bot.active or each.study_id not in switched_on
        ):  # a switched-off bot matters only if all are off
            bots.setdefault(each.study_id, []).append((each.bot.title, states.get(each.bot.name, "")))
    found = []
    for pk, bot_state in bots.items():
        title = needing[pk].study.title
        if says := _silent_sentence(bot_state, admits=needing[pk].admits):
            address = reverse("monitoring:monitor", args=[pk])
            found.append(Alert(title, says, address, _("See the monitor"), bad=True))
        elif loading := [name for name, state in bot_state if state == State.LOADING]:
            says = _("Being loaded, and ready in a moment: %(bots)s.") % {"bots": ", ".join(loading)}
            address = reverse("monitoring:monitor", args=[pk])
            found.append(Alert(title, says, address, _("See the monitor")))
    return found


def _silent_sentence(told: Sequence[tuple[str, str]], *, admits: bool) -> str:
    """Sentence that names the bots of a study that do not answer; empty if there are none."""
    silent = [title for title, state in told if state not in presence.ANSWERING]
    if not silent:
        return ""
    says = _("Bots do not answer: %(bots)s.")
    if admits and len(silent) == len(told):
        says = _("No bot answers, so nobody new is admitted: %(bots)s.")
    return says % {"bots": ", ".join(silent)}


def _full(shown: Sequence[Running]) -> list[Alert]:
    says = _("It has everything it wanted, and is still open.")
    return [
        Alert(each.study.title, says, each.study.get_absolute_url(), _("Close it"))
        for each in shown
        if each.is_full
    ]


def _piloted(shown: Sequence[Running]) -> list[Alert]:
    says, does = _("Its pilot is done, and nobody new is admitted until you go on."), _("Look and go on")
    return [
        Alert(each.study.title, says, reverse("monitoring:monitor", args=[each.study.pk]), does)
        for each in shown
        if pilot.is_on(each.study) and each.piloted >= each.study.pilot_size
    ]


def _faults(shown: Sequence[Running]) -> list[Alert]:
    return [
        Alert(
            each.study.title,
            ngettext("%(n)s reply failed within a day.", "%(n)s replies failed within a day.", each.faults)
            % {"n": each.faults},
            f"{reverse('labels:dialogues', args=[each.study.pk])}?faults=on",
            _("Read them"),
        )
        for each in shown
        if each.faults
    ]


def _drifted(shown: Sequence[Running]) -> list[Alert]:
    bots = Bot.objects.filter(study_bots__study__in=[each.study for each in shown])
    return [
        Alert(run.bot.title, run.said, reverse("bots:bot", args=[run.bot.name]), _("See the bot"))
        for run in drift_check.alarms(bots)
    ]


def _drifted_judges(studies: QuerySet[Study]) -> list[Alert]:
    return [
        Alert(
            found.run.judge.shown_title,
            _("It may no longer be the judge it was. %(reason)s") % {"reason": found.reason},
            f"{found.run.get_absolute_url()}#drift",
            _("See the judge"),
        )
        for found in judge_checks.alarms(JudgeRun.objects.filter(study__in=studies))[:MOST_FAILED]
    ]


def _over_budget(needed: Sequence[StudyBot], states: Mapping[str, str]) -> list[Alert]:
    """Alerts for needed bots whose budget is reached."""
    over = {each.bot_id for each in needed if states.get(each.bot.name) == OVER_BUDGET}
    return [
        Alert(budget.bot.title, budget.reached, budget.bot.get_absolute_url(), _("See the bot"), bad=True)
        for budget in (reached_budgets(Bot.objects.filter(pk__in=over)) if over else ())
    ]


def _failed_reports(studies: QuerySet[Study]) -> list[Alert]:
    newest = Report.objects.filter(study=OuterRef("pk")).order_by("-pk")
    failed = studies.alias(last=Subquery(newest.values("state")[:1])).filter(last=Report.State.FAILED)
    says, does = _("Its newest report failed."), _("See the report")
    return [
        Alert(study.title, says, reverse("reports:study", args=[study.pk]), does)
        for study in failed[:MOST_FAILED]
    ]


def _suspects(shown: Sequence[Running]) -> list[Alert]:
    return [
        Alert(
            each.study.title,
            ngettext(
                "%(n)s worker shows signs of carelessness or fraud.",
                "%(n)s workers show signs of carelessness or fraud.",
                each.suspects,
            )
            % {"n": each.suspects},
            f"{reverse('crowd:participants', args=[each.study.pk])}?state=signs",
            _("Judge them"),
        )
        for each in shown
        if each.suspects
    ]
