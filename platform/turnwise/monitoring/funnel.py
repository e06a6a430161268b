"""Funnel of a study: how far workers came, from its link to their pay, and why they stopped."""

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from enum import IntEnum
from functools import reduce
from operator import and_
from typing import Any

from django.db.models import Case, Count, Exists, F, OuterRef, Q, QuerySet, Value, When
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from turnwise.crowd.entry import practice, visits
from turnwise.crowd.models import PAID, Assignment, Outcome, Participation, PayEntry, Practice
from turnwise.crowd.places.reservation import HOLD
from turnwise.judging.queue.queued_task import QueuedTask
from turnwise.labels.models import Label
from turnwise.quality import qualification_tests
from turnwise.quality.models import Attempt
from turnwise.questionnaires.services import questionnaires_at
from turnwise.studies.asks import Moment
from turnwise.studies.models import Study
from turnwise.studies.tasks import task_of

READING = timedelta(minutes=10)
"""After the consent or the assignment, people count as reading for this long."""
AT_IT = timedelta(minutes=5)
"""Workers seen within this time are at work; then they are silent, and after `HOLD` they are lost."""

HERE, SILENT, GONE = "here", "silent", "gone"


# By name: an index finds what is equal, not what differs.
_UNFINISHED = ["", *(each for each in Outcome if each != Outcome.COMPLETE)]


Gates = Callable[[str], list[Q]]
"""Conditions for passed gates, by the path to a participation."""


class Step(IntEnum):
    """Furthest step of a participant."""

    AGREED = 0
    READY = 1
    PLACE = 2
    BEGAN = 3
    FINISHED = 4


@dataclass(frozen=True, slots=True)
class Stage:
    """A step on the way of workers through a study.

    Attributes:
        title: what they have done.
        reached: number of people who came this far.
        here: number of people who are at this step now.
        lost: number of people who left at this step.
        why: reasons of the lost in words, the most frequent first; empty if there are none.
        of_all: those who reached it, in percent of all who opened the link.
        loss: the lost, in percent of those who reached it.
    """

    title: str
    reached: int
    here: int = 0
    lost: int = 0
    why: str = ""
    of_all: int = 0
    loss: int = 0


class Progress:
    """Numbers of participants by furthest step and outcome."""

    def __init__(self, study: Study, now: datetime) -> None:
        gates = _gates(study)
        self.has_gates = bool(gates(""))
        self._n: Counter[tuple[int, str]] = Counter()
        self.finished_and_paid = 0
        for step, became, n, paid in _counted(study, gates, now):
            self._n[step, became] += n
            self.finished_and_paid += paid

    def reached(self, step: Step) -> int:
        return sum(n for (at, _became), n in self._n.items() if at >= step)

    def at(self, step: Step) -> Counter[str]:
        """Outcomes of people whose furthest step this is."""
        return Counter({became: n for (at, became), n in self._n.items() if at == step})

    @property
    def through(self) -> int:
        """Number of people whose work is paid in full."""
        return sum(n for (_at, became), n in self._n.items() if became in PAID)


def _counted(study: Study, gates: Gates, now: datetime) -> QuerySet[Any, tuple[int, str, int, int]]:
    """Rows of step, outcome, number of people, and number of people who finished and are paid.

    Indexes count the finished, who are most; only for the others the furthest step is looked up.
    """
    placed = Assignment.objects.filter(study=study)
    paid = PayEntry.objects.filter(study=study, reason=PayEntry.Reason.PAID).values("participation")
    finished = placed.filter(outcome=Outcome.COMPLETE).annotate(
        step=Value(Step.FINISHED), became=F("outcome")
    )
    is_paid = Count("participation", filter=Q(participation__in=paid))
    return (
        finished.values_list("step", "became")
        .annotate(n=Count("*"), paid=is_paid)
        .order_by()
        .union(
            _count_by_step(_unfinished(study, gates, now)),
            _count_by_step(_without_place(study, gates, now)),
            all=True,
        )
    )


def _count_by_step(people: QuerySet[Any]) -> QuerySet[Any, tuple[int, str, int, int]]:
    """Count people who have not finished by step and outcome."""
    rows: QuerySet[Any, tuple[int, str, int, int]]
    rows = people.values_list("step", "became").annotate(n=Count("*"), paid=Value(0)).order_by()
    return rows


def _without_place(study: Study, gates: Gates, now: datetime) -> QuerySet[Participation]:
    """Those who agreed and have no assignment, with how far they came and what became of them."""
    placed = Assignment.objects.filter(study=study).values("participation")
    agreed = Participation.objects.filter(study=study).exclude(pk__in=placed)
    reads = When(consented_at__gt=now - READING, then=Value(HERE))
    return agreed.annotate(step=_before_place(gates("")), became=Case(reads, default=Value(GONE)))


def _unfinished(study: Study, gates: Gates, now: datetime) -> QuerySet[Assignment]:
    """Assignments that are not complete, with how far their people came and what became of them."""
    is_open = Q(outcome="")
    # Workers who left or were screened out before they had a place got an assignment that ended at once.
    place = is_open | ~Q(ended_at=F("assigned_at"))
    seen = Q(active_at__gt=F("assigned_at"))
    step = Case(
        When(place & ((is_open & seen) | (~is_open & _did_something(study))), then=Value(Step.BEGAN)),
        When(place, then=Value(Step.PLACE)),
        default=_before_place(gates("participation__")),
    )
    became = Case(
        When(is_open & ~seen & Q(assigned_at__gt=now - READING), then=Value(HERE)),
        When(is_open & ~seen, then=Value(GONE)),
        When(is_open & Q(active_at__gt=now - AT_IT), then=Value(HERE)),
        When(is_open & Q(active_at__gt=now - HOLD), then=Value(SILENT)),
        When(is_open, then=Value(GONE)),
        default=F("outcome"),
    )
    unfinished = Assignment.objects.filter(study=study, outcome__in=_UNFINISHED)
    return unfinished.annotate(step=step, became=became)


def _before_place(passed: list[Q]) -> Case:
    """Furthest step of a person without an assignment, by passed gates."""
    ready = When(reduce(and_, passed) if passed else Q(pk=None), then=Value(Step.READY))
    return Case(ready, default=Value(Step.AGREED))


def _did_something(study: Study) -> Q:
    """Condition that an ended assignment had begun."""
    task = task_of(study)
    if task.has_conversations:
        return Q(seat__dialogue__turns__gt=F("seat__dialogue__opening_turns"))
    return Q(batch__done__gt=0) if isinstance(task, QueuedTask) else Q()


def _gates(study: Study) -> Gates:
    """Gates before the work: questionnaires, practice and qualification."""
    asked = questionnaires_at(study, Moment.BEFORE_WORK)
    keys = sorted({each.questions.key for each in practice.practice_asks(study)})
    qualification = qualification_tests.required_qualification(study)

    def passed(path: str) -> list[Q]:
        worker = OuterRef(f"{path}worker")
        labels = Label.objects.filter(participation__worker=worker, participation__study=study)
        found = [labels.filter(ask=ask) for ask in asked]
        practised = [Practice.objects.filter(worker=worker, question_set=key) for key in keys]
        tried = Attempt.objects.filter(worker=worker, qualification=qualification, passed=True)
        return [Q(Exists(each)) for each in (*found, *practised, *([tried] if qualification else ()))]

    return passed


_WHY = {
    Outcome.SCREENED_OUT: gettext_lazy("%(n)s screened out"),
    Outcome.STUDY_FULL: gettext_lazy("%(n)s found no place left"),
    Outcome.BOT_FAILED: gettext_lazy("%(n)s because the bot could not answer"),
    Outcome.TIMED_OUT: gettext_lazy("%(n)s ran out of time"),
    Outcome.WITHDRAWN: gettext_lazy("%(n)s left the study"),
    Outcome.PARTNER_LEFT: gettext_lazy("%(n)s whose partner left"),
    Outcome.NO_PARTNER: gettext_lazy("%(n)s found nobody to talk with"),
    SILENT: gettext_lazy("%(n)s silent, their place is held"),
}
_TURNED_AWAY = {
    "paused": gettext_lazy("%(n)s while the study was paused"),
    "study_not_open": gettext_lazy("%(n)s while the study was not open"),
    "study_full": gettext_lazy("%(n)s found all places taken"),
    "resting": gettext_lazy("%(n)s while no bot was running"),
    "took_part_elsewhere": gettext_lazy("%(n)s had taken part in a study that excludes them"),
    "not_qualified": gettext_lazy("%(n)s had failed the qualification before"),
    "blocked": gettext_lazy("%(n)s are blocked"),
    "needs_panel": gettext_lazy("%(n)s came without the link of their panel"),
}


def stages(study: Study, stood: Progress) -> list[Stage]:
    """The way of workers, from the link on."""
    never = _("%(n)s never pressed Start")
    ready, unready = _("Practised or qualified"), _("%(n)s did not finish practice or qualification")
    if questionnaires_at(study, Moment.BEFORE_WORK):
        ready = _("Answered, practised or qualified, as the study wants")
        unready = _("%(n)s did not finish the questions, practice or qualification before the work")
    steps = [
        (Step.AGREED, _("Agreed to take part"), unready),
        (Step.READY, ready, never),
        (Step.PLACE, _("Got a place"), _("%(n)s did nothing")),
        (Step.BEGAN, _("Began the work"), _("%(n)s silent for over an hour")),
    ]
    if task_of(study).has_conversations:
        steps[2:] = [
            (Step.PLACE, _("Got a place"), _("%(n)s sent nothing")),
            (Step.BEGAN, _("Sent their first message"), _("%(n)s silent for over an hour")),
        ]
    if not stood.has_gates:
        steps[:2] = [(Step.AGREED, _("Agreed to take part"), never)]
    found = [_opened(visits.visit_counts(study), stood.reached(Step.AGREED))]
    found += [_stage(step, title, gone, stood) for step, title, gone in steps]
    found.append(Stage(_("Finished"), stood.reached(Step.FINISHED)))
    if study.pay_amount:
        found.append(_paid(stood))
    return [_in_percent(each, of=found[0].reached) for each in found]


def _opened(counted: Mapping[str, int], agreed: int) -> Stage:
    # Workers who agreed have opened the link, even if their browser did not report the visit.
    admitted = max(counted.get(visits.ADMITTED, 0), agreed)
    away = {saw: n for saw, n in counted.items() if saw != visits.ADMITTED}
    undecided = _("%(n)s saw the consent page and did not agree")
    lost = {"": admitted - agreed, **away}
    words = {"": undecided, **_TURNED_AWAY}
    why = _reasons(lost, words, otherwise=_("%(n)s with a link that did not let them in"))
    return Stage(_("Opened the link"), admitted + sum(away.values()), lost=sum(lost.values()), why=why)


def _stage(step: Step, title: str, gone: str, stood: Progress) -> Stage:
    became = stood.at(step)
    here = became[HERE] + became[SILENT]
    lost = became.total() - here
    why = {what: n for what, n in became.items() if what != HERE}
    return Stage(title, stood.reached(step), here, lost, _reasons(why, {GONE: gone, **_WHY}))


def _paid(stood: Progress) -> Stage:
    unpaid = stood.reached(Step.FINISHED) - stood.finished_and_paid
    why = _reasons({"": unpaid}, {"": _("%(n)s of the finished are not paid yet")})
    return Stage(_("Paid"), stood.finished_and_paid, why=why)


def _reasons(counted: Mapping[str, int], words: Mapping[str, Any], otherwise: str = "%(n)s") -> str:
    """Reasons with their numbers in words, the most frequent first; unnamed reasons are summed up."""
    reasons, others = [], 0
    for what, n in sorted(counted.items(), key=lambda each: (-each[1], each[0])):
        if what not in words:
            others += n
        elif n > 0:
            reasons.append(words[what] % {"n": n})
    return "; ".join([*reasons, otherwise % {"n": others}] if others else reasons)


def _in_percent(stage: Stage, *, of: int) -> Stage:
    return replace(stage, of_all=_share(stage.reached, of), loss=_share(stage.lost, stage.reached))


def _share(part: int, whole: int) -> int:
    return round(100 * part / whole) if whole else 0
