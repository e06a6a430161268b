"""What a researcher sees first: what needs them, what runs, what it costs, what came out last."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, NamedTuple

from django.contrib.auth.models import AnonymousUser
from django.db.models import Count, F, OuterRef, QuerySet, Subquery
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from accounts.models import User
from bots import drift, presence
from bots.models import Bot
from chatbots.health import State
from crowd import pilot
from crowd.models import Assignment, Participation, PayEntry
from crowd.spend import Spend, in_all, spend_of
from dialogues.models import Fault
from live.remembered import key_of, remembered
from monitoring.funnel import AT_IT
from reports.models import Report
from studies.models import Study, StudyBot
from studies.progress import counts_of, in_words
from studies.queries import readable_real_studies_of, real_studies_of
from studies.tasks import task_of

DAY = timedelta(days=1)
MOST_SHOWN = 12
MOST_RESULTS = 4
DRAFTS_SHOWN = 5
COSTS_KEPT_SECONDS = 15


@dataclass(frozen=True, slots=True)
class Need:
    """Something for the researcher to do or to know.

    Attributes:
        about: of which study or bot.
        says: what it is.
        address: where to go.
        does: what is to be done there.
        bad: whether workers are kept from their work by it.
    """

    about: str
    says: str
    address: str
    does: str
    bad: bool = False


@dataclass(frozen=True, slots=True)
class Running:
    """An open study: how far it is, and how many people are at it."""

    study: Study
    finished: int
    target: int
    at_it: int

    @property
    def so_far(self) -> str:
        return in_words(self.study, self.finished, self.target)

    @property
    def is_full(self) -> bool:
        return bool(self.target) and self.finished >= self.target

    @property
    def admits(self) -> bool:
        """Whether people can still begin, if its bots answer."""
        return self.study.state == Study.State.OPEN and not self.is_full


def own(user: User | AnonymousUser) -> QuerySet[Study]:
    """The studies that are not archived, the newest first."""
    return real_studies_of(user).filter(archived_at=None)


def taking(user: User | AnonymousUser) -> QuerySet[Study]:
    """Those of them that are open or paused."""
    return own(user).filter(state__in=(Study.State.OPEN, Study.State.PAUSED))


def running(user: User | AnonymousUser, *, now: datetime | None = None) -> list[Running]:
    """The open and paused studies, the newest first."""
    found, at = list(taking(user)[:MOST_SHOWN]), now or timezone.now()
    here = Assignment.objects.filter(outcome="", active_at__gt=at - AT_IT, study__in=found)
    people = dict(here.values_list("study").annotate(n=Count("pk")).order_by())
    counts = counts_of(found)
    return [Running(each, *counts.get(each.pk, (0, 0)), people.get(each.pk, 0)) for each in found]


class Cost(NamedTuple):
    """A study that costs something, and what."""

    study: int
    title: str
    spend: Spend


class Costs(NamedTuple):
    """What studies cost.

    Attributes:
        each: of those that run, or owe something to somebody; the first ones.
        in_all: of all that are not archived, by currency.
    """

    each: list[Cost]
    in_all: list[Spend]


def costs(user: User | AnonymousUser) -> Costs:
    """What this person's studies cost; a payment is seen at once, who came since some seconds later."""
    newest = PayEntry.objects.order_by("-pk").values_list("pk", flat=True).first()
    key = key_of("costs", user.pk, newest)
    found: Costs = remembered(key, lambda: _costs(user), seconds=COSTS_KEPT_SECONDS)
    return found


_READ = "pk", "title", "code", "task", "state", "pay_amount", "pay_currency", "pilot_over_at"


def _costs(user: User | AnonymousUser) -> Costs:
    begun = list(own(user).exclude(state=Study.State.DRAFT).only(*_READ))
    counts = counts_of([study for study in begun if study.state != Study.State.CLOSED])
    found = spend_of(begun, counts)
    telling = [
        Cost(study.pk, study.title, spend)
        for study in begun
        if (spend := found[study.pk]).owed or (study.pk in counts and spend.is_any)
    ]
    first = sorted(telling, key=lambda cost: (cost.study not in counts, -cost.spend.owed))
    return Costs(first[:MOST_SHOWN], in_all([each for each in found.values() if each.is_any]))


def results(user: User | AnonymousUser) -> Sequence[Report]:
    """The newest results, of as many studies, that say something; each with its `answer`."""
    newest = Report.objects.filter(study=OuterRef("pk"), state=Report.State.READY).order_by("-pk")
    studies = (
        readable_real_studies_of(user)
        .filter(archived_at=None)
        .annotate(newest=Subquery(newest.values("pk")[:1]))
    )
    keys = studies.filter(newest__isnull=False).order_by("-newest").values_list("newest", flat=True)
    found = Report.objects.filter(pk__in=keys[: 3 * MOST_RESULTS]).select_related("study")
    # A whole result can have megabytes.
    in_short = found.defer("result").annotate(answer=F("result__answer")).order_by("-pk")
    return [each for each in in_short if each.answer][:MOST_RESULTS]


def needs(user: User | AnonymousUser, shown: Sequence[Running], *, now: datetime | None = None) -> list[Need]:
    """What the studies that run, and their bots, want of the researcher; the worst first."""
    studies = {each.study.pk: each.study for each in shown}
    found = [
        *_silent(shown),
        *_full(shown),
        *_piloted(shown),
        *_faults(studies, now or timezone.now()),
        *_drifted(studies),
        *_failed_reports(real_studies_of(user).filter(archived_at=None)),
        *_signs(studies),
    ]
    return sorted(found, key=lambda need: not need.bad)


def _silent(shown: Sequence[Running]) -> list[Need]:
    """Of bots that somebody needs: who can begin, or who is in the middle of it."""
    needing = {each.study.pk: each for each in shown if each.admits or each.at_it}
    wanted = StudyBot.objects.filter(study__in=needing, target__gt=0, bot__active=True).select_related("bot")
    states = presence.states(each.bot.name for each in wanted)
    bots: dict[int, list[tuple[str, str]]] = {}
    for each in wanted:
        bots.setdefault(each.study_id, []).append((each.bot.title, states.get(each.bot.name, "")))
    found = []
    for pk, told in bots.items():
        title = needing[pk].study.title
        if says := _unheard(told, admits=needing[pk].admits):
            address = reverse("monitoring:monitor", args=[pk])
            found.append(Need(title, says, address, _("See the monitor"), bad=True))
        elif loading := [name for name, state in told if state == State.LOADING]:
            says = _("Being loaded, and ready in a moment: %(bots)s.") % {"bots": ", ".join(loading)}
            address = reverse("monitoring:monitor", args=[pk])
            found.append(Need(title, says, address, _("See the monitor")))
    return found


def _unheard(told: Sequence[tuple[str, str]], *, admits: bool) -> str:
    """Which of a study's bots, by title and state, will not answer when they are loaded; empty: none."""
    silent = [title for title, state in told if state not in presence.ANSWERING]
    if not silent:
        return ""
    says = _("Bots do not answer: %(bots)s.")
    if admits and len(silent) == len(told):
        says = _("No bot answers, so nobody new is admitted: %(bots)s.")
    return says % {"bots": ", ".join(silent)}


def _full(shown: Sequence[Running]) -> list[Need]:
    says = _("It has everything it wanted, and is still open.")
    return [
        Need(each.study.title, says, each.study.get_absolute_url(), _("Close it"))
        for each in shown
        if each.is_full
    ]


def _piloted(shown: Sequence[Running]) -> list[Need]:
    now = timezone.now()
    says, does = _("Its pilot is done, and nobody new is admitted until you go on."), _("Look and go on")
    return [
        Need(each.study.title, says, reverse("monitoring:monitor", args=[each.study.pk]), does)
        for each in shown
        if pilot.is_on(each.study) and pilot.standing(each.study, now).is_done
    ]


def _faults(studies: dict[int, Study], now: datetime) -> list[Need]:
    lately = Fault.objects.filter(dialogue__study__in=studies, at__gt=now - DAY).order_by()
    return [
        Need(
            studies[pk].title,
            ngettext("%(n)s reply failed within a day.", "%(n)s replies failed within a day.", n) % {"n": n},
            f"{reverse('labels:dialogues', args=[pk])}?faults=on",
            _("Read them"),
        )
        for pk, n in lately.values_list("dialogue__study").annotate(n=Count("pk"))
    ]


def _drifted(studies: dict[int, Study]) -> list[Need]:
    bots = Bot.objects.filter(study_bots__study__in=studies)
    return [
        Need(run.bot.title, run.said, reverse("bots:bot", args=[run.bot.name]), _("See the bot"))
        for run in drift.alarms(bots)
    ]


def _failed_reports(studies: QuerySet[Study]) -> list[Need]:
    newest = Report.objects.filter(study=OuterRef("pk")).order_by("-pk")
    failed = studies.alias(last=Subquery(newest.values("state")[:1])).filter(last=Report.State.FAILED)
    says, does = _("Its newest report failed."), _("See the report")
    return [
        Need(study.title, says, reverse("reports:study", args=[study.pk]), does)
        for study in failed[:MOST_SHOWN]
    ]


def _signs(studies: dict[int, Study]) -> list[Need]:
    suspects = Participation.objects.filter(study__in=studies, excluded_at=None).exclude(signs="").order_by()
    return [
        Need(
            studies[pk].title,
            ngettext(
                "%(n)s worker shows signs of carelessness or fraud.",
                "%(n)s workers show signs of carelessness or fraud.",
                n,
            )
            % {"n": n},
            f"{reverse('crowd:participants', args=[pk])}?signs=yes",
            _("Judge them"),
        )
        for pk, n in suspects.values_list("study").annotate(n=Count("pk"))
    ]


def shown(user: User | AnonymousUser) -> dict[str, Any]:
    """All of the page."""
    at_it = running(user)
    drafts = list(own(user).filter(state=Study.State.DRAFT)[:DRAFTS_SHOWN])
    mine = [*(each.study for each in at_it), *drafts]
    return {
        "is_new": not drafts and not at_it and not real_studies_of(user).exists(),
        "drafts": drafts,
        "running": at_it,
        "needs": needs(user, at_it),
        "costs": costs(user),
        "results": results(user),
        "to_rehearse": next((each for each in mine if task_of(each).has_rehearsals), None),
    }
