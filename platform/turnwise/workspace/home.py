"""Home page of a researcher: alerts, running studies, costs and the newest results."""

from collections import Counter, defaultdict
from collections.abc import Collection, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any, NamedTuple

from django.contrib.auth.models import AnonymousUser
from django.db.models import Case, Count, F, OuterRef, QuerySet, Subquery, Value, When
from django.utils import timezone

from turnwise.accounts.models import User
from turnwise.crowd.models import Assignment, Participation, PayEntry
from turnwise.crowd.places import pilot
from turnwise.crowd.running.spending import Spend, spend_of, totals_by_currency
from turnwise.dialogues.models import Fault
from turnwise.groups.queries import joined_groups_of
from turnwise.live.caching import cache_key, cached
from turnwise.monitoring.funnel import AT_IT
from turnwise.reports.models import Report
from turnwise.studies.models import Study
from turnwise.studies.queries import counts_of, incomplete_progress, readable_real_studies_of, real_studies_of
from turnwise.studies.sharing.permissions import Permission
from turnwise.studies.sharing.services import offers_to
from turnwise.studies.tasks import task_of
from turnwise.workspace.alerts import Running, alerts_for

DAY = timedelta(days=1)
MOST_SHOWN = 12
MOST_RESULTS = 4
DRAFTS_SHOWN = 5
COSTS_KEPT_SECONDS = 15
MOST_SUMMED = 25  # Admins see all studies of an installation, whose payments take long to add up.
TAKING = (Study.State.OPEN, Study.State.PAUSED)


def home_context(
    user: User | AnonymousUser, *, sums_all: bool = False, now: datetime | None = None
) -> dict[str, Any]:
    """Context of the home page; the number of queries does not grow with the number of studies.

    Args:
        user: the researcher.
        sums_all: add up the costs of all studies, not only of the first `MOST_SUMMED`.
        now: time of the request.
    """
    taking, drafts = _current(user)
    found = results(user)
    counts = counts_of({*taking, *(each.study for each in found if each.study.state in TAKING)})
    for each in found:
        each.filling = incomplete_progress(each.study, *counts.get(each.study_id, (0, 0)))  # type: ignore[attr-defined]
    at_it = _running(taking, counts, now or timezone.now())
    mine = [*taking, *drafts]
    return {
        "is_new": not drafts and not at_it and not readable_real_studies_of(user).exists(),
        "drafts": drafts,
        "running": at_it,
        "needs": alerts_for(user, at_it),
        "costs": costs(user, counts, sums_all=sums_all),
        "results": found,
        "groups": joined_groups_of(user),
        "offers": offers_to(user),
        "to_rehearse": next((each for each in mine if task_of(each).has_rehearsals), None),
    }


def _active_studies(
    user: User | AnonymousUser, permission: Permission = Permission.CHANGE
) -> QuerySet[Study]:
    """The studies that are not archived, the newest first."""
    return real_studies_of(user, permission).filter(archived_at=None)


def _current(user: User | AnonymousUser) -> tuple[list[Study], list[Study]]:
    """The open and paused studies, and the drafts: of both the newest, first."""
    taking = _active_studies(user).filter(state__in=TAKING)[:MOST_SHOWN]
    drafts = _active_studies(user).filter(state=Study.State.DRAFT)[:DRAFTS_SHOWN]
    found = taking.union(drafts, all=True).order_by("-created_at")
    parts: tuple[list[Study], list[Study]] = [], []
    for study in found:
        parts[study.state == Study.State.DRAFT].append(study)
    return parts


def _running(
    studies: Collection[Study], counts: Mapping[int, tuple[int, int]], now: datetime
) -> list[Running]:
    of_each = _counted(
        studies,
        at_it=(Assignment.objects.filter(outcome="", active_at__gt=now - AT_IT), "study"),
        faults=(Fault.objects.filter(at__gt=now - DAY), "dialogue__study"),
        suspects=(Participation.objects.filter(excluded_at=None).exclude(signs=""), "study"),
        piloted=(pilot.finished_assignments(studies), "study"),
    )
    return [Running(each, *counts.get(each.pk, (0, 0)), **of_each[each.pk]) for each in studies]


def _counted(studies: Collection[Study], **rows: tuple[QuerySet[Any], str]) -> Mapping[int, Counter[str]]:
    """Count rows by study and name in one statement; each queryset comes with its path to the study."""
    each = [
        found.filter(**{f"{path}__in": studies}).order_by().annotate(what=Value(name))
        .values_list(path, "what").annotate(n=Count("pk"))
        for name, (found, path) in rows.items()
    ]  # fmt: skip
    of_study: defaultdict[int, Counter[str]] = defaultdict(lambda: Counter(dict.fromkeys(rows, 0)))
    for study, what, n in each[0].union(*each[1:], all=True):
        of_study[study][what] = n
    return of_study


class Cost(NamedTuple):
    """A study that costs something, and what."""

    study: int
    title: str
    spend: Spend


class Costs(NamedTuple):
    """Costs of studies.

    Attributes:
        each: costs of studies that run or owe pay; the first ones.
        totals: totals of the studies that were added up; none of them is archived.
        summed: number of these studies.
        has_more: True if there are further studies, which were not added up.
    """

    each: list[Cost]
    totals: list[Spend]
    summed: int
    has_more: bool


def costs(
    user: User | AnonymousUser,
    counts: Mapping[int, tuple[int, int]] | None = None,
    *,
    sums_all: bool = False,
) -> Costs:
    """Costs of this person's studies; cached for some seconds, and renewed by every payment.

    Args:
        user: the researcher.
        counts: known progress of some studies, from `counts_of`.
        sums_all: add up all studies, not only the first `MOST_SUMMED`: those that run, then the newest.
    """
    newest = PayEntry.objects.order_by("-pk").values_list("pk", flat=True).first()
    key = cache_key("costs", user.pk, newest, sums_all)
    most = None if sums_all else MOST_SUMMED
    found: Costs = cached(key, lambda: _costs(user, counts or {}, most), seconds=COSTS_KEPT_SECONDS)
    return found


_READ = "pk", "title", "code", "task", "state", "pay_amount", "pay_currency", "pilot_over_at"
_RUNNING_FIRST = Case(When(state__in=TAKING, then=0), default=1)


def _costs(user: User | AnonymousUser, known: Mapping[int, tuple[int, int]], most: int | None) -> Costs:
    ordered = _active_studies(user, Permission.PAY).order_by(_RUNNING_FIRST, "-created_at")
    every = list(ordered.exclude(state=Study.State.DRAFT).only(*_READ)[: most and most + 1])
    begun = every[:most]
    counts = {**known, **counts_of([each for each in begun if each.state in TAKING and each.pk not in known])}
    found = spend_of(begun, counts)
    telling = [
        Cost(study.pk, study.title, spend)
        for study in begun
        if (spend := found[study.pk]).owed or (study.pk in counts and spend.is_any)
    ]
    first = sorted(telling, key=lambda cost: (cost.study not in counts, -cost.spend.owed))
    totals = totals_by_currency([each for each in found.values() if each.is_any])
    return Costs(first[:MOST_SHOWN], totals, len(begun), len(every) > len(begun))


def results(user: User | AnonymousUser) -> Sequence[Report]:
    """The newest results, of as many studies, that say something, with their `answer` and `always_valid`."""
    newest = Report.objects.filter(study=OuterRef("pk"), state=Report.State.READY).order_by("-pk")
    studies = (
        readable_real_studies_of(user)
        .filter(archived_at=None)
        .annotate(newest=Subquery(newest.values("pk")[:1]))
    )
    keys = studies.filter(newest__isnull=False).order_by("-newest").values_list("newest", flat=True)
    found = Report.objects.filter(pk__in=keys[: 3 * MOST_RESULTS]).select_related("study")
    # A whole result can have megabytes.
    in_short = found.defer("result").annotate(
        answer=F("result__answer"), always_valid=F("result__always_valid")
    )
    return [each for each in in_short.order_by("-pk") if each.answer][:MOST_RESULTS]
