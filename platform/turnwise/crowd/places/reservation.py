"""Places with a study's bots: which assignments hold one, for how long, and how many are occupied.

A bot with human operators has places only while an operator is present and has capacity.
"""

from collections import Counter
from collections.abc import Collection, Iterable
from datetime import datetime, timedelta

from django.db import connection, transaction
from django.db.models import BooleanField, Case, F, Func, Q, QuerySet, Value, When
from django.utils import timezone

from turnwise.bots import operators
from turnwise.bots.hosting import presence
from turnwise.bots.models import Bot
from turnwise.crowd.models import Assignment, Outcome, Participation
from turnwise.studies.models import Study, StudyBot

# A worker who is silent for this long loses the place (they may still finish).
HOLD = timedelta(hours=1)
# Before the first message, a place is held for this long after Start and after each sign of the open page.
# Otherwise a few clicks on Start would use up a study's places.
LOADING = timedelta(seconds=30)
SECONDS_BETWEEN_SIGNS_OF_A_PAGE = 10.0
# Limit of that hold even if the page stays open; reading the instructions takes minutes.
READING = timedelta(minutes=10)
# Places that one network address can hold before the first message: otherwise one person without cookies
# could hold all places. A class behind one address may still begin while there are places.
MOST_HELD_FROM_AN_ADDRESS = 3
_BEGUN = """
SELECT study_bot_id, count(*) FROM crowd_begun(%s, %s) WHERE study_bot_id = ANY(%s) GROUP BY study_bot_id
"""
UNTOUCHED = Q(outcome="", active_at=F("assigned_at"))
"""Open assignments without any message yet."""


def current_phase_assignments(studies: QuerySet[Study]) -> QuerySet[Assignment]:
    """Assignments that count towards the studies' targets: without the pilot's once it is over."""
    over = studies.filter(pilot_over_at__isnull=False)
    of_pilots = Participation.objects.filter(pilot=True, study__in=over)
    return Assignment.objects.filter(study__in=studies).exclude(participation__in=of_pilots)


def counted_assignments(bots: Collection[StudyBot]) -> QuerySet[Assignment]:
    """Assignments of these bots that count towards their targets."""
    studies = Study.objects.filter(pk__in={bot.study_id for bot in bots})
    return current_phase_assignments(studies).filter(study_bot__in=bots)


def occupied_places(bots: Collection[StudyBot], now: datetime) -> Counter[int | None]:
    """Number of finished and live conversations per study bot, by its key."""
    return count_begun(bots, now) + _count_held_places(counted_assignments(bots), now)


def count_begun(bots: Collection[StudyBot], now: datetime) -> Counter[int | None]:
    """Occupied places per study bot, only of assignments with a message (sql/begun.sql)."""
    counts = Counter[int | None]()
    with connection.cursor() as cursor:
        for study_id in {bot.study_id for bot in bots}:
            cursor.execute(_BEGUN, [study_id, now - HOLD, [bot.pk for bot in bots]])
            counts += Counter(dict(cursor.fetchall()))
    return counts


def _count_held_places(assignments: QuerySet[Assignment], now: datetime) -> Counter[int | None]:
    """Count the assignments held only by an open page, per study bot."""
    waiting = assignments.filter(_is_held(now)).order_by("pk")
    return _count_within_address_limit(waiting.values_list("study_bot", "participation__address"))


def _is_held(now: datetime) -> Q:
    return Q(UNTOUCHED, held_until__gt=now)


def _count_within_address_limit(waiting: Iterable[tuple[int | None, str]]) -> Counter[int | None]:
    """Count held places per study bot, given (study bot, address), with at most the limit per address."""
    held, from_address = Counter[int | None](), Counter[str]()
    for study_bot, address in waiting:
        from_address[address] += 1
        held[study_bot] += not address or from_address[address] <= MOST_HELD_FROM_AN_ADDRESS
    return held


def count_finished_and_active(assignments: QuerySet[Assignment], now: datetime) -> tuple[int, int]:
    """Count the finished assignments, and the others that hold a place."""
    finished, at_work, held = "finished", "at work", "held"
    state = Case(
        When(outcome=Outcome.COMPLETE, then=Value(finished)),
        When(_at_work(now), then=Value(at_work)),
        When(_is_held(now), then=Value(held)),
    )
    annotated = assignments.annotate(state=state).filter(state__isnull=False).order_by("pk")
    rows = list(annotated.values_list("state", "study_bot", "participation__address"))
    counts = Counter(each for each, *_ in rows)
    waiting = _count_within_address_limit((bot, address) for each, bot, address in rows if each == held)
    return counts[finished], counts[at_work] + waiting.total()


def holding(now: datetime, prefix: str = "") -> Q:
    """Condition for open assignments that hold a place; `prefix` is the lookup path to them."""
    return _at_work(now, prefix) | Q(**{f"{prefix}outcome": "", f"{prefix}held_until__gt": now})


def _at_work(now: datetime, prefix: str = "") -> Q:
    """Condition for open assignments with a message whose worker was active lately (sql/is_at_work.sql)."""
    columns = [F(f"{prefix}{name}") for name in ("outcome", "assigned_at", "active_at")]
    return Q(Func(*columns, Value(now - HOLD), function="crowd_is_at_work", output_field=BooleanField()))


def has_begun(participation_id: int) -> bool:
    """True if the participation has any work that deleting it would lose (sql/has_begun.sql)."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT crowd_has_begun(%s)", [participation_id])
        return bool(cursor.fetchone()[0])


def keep_place(assignment_id: int, *, now: datetime | None = None) -> None:
    """Record that the worker is active, so that the assignment keeps its place."""
    Assignment.objects.filter(pk=assignment_id).update(active_at=now or timezone.now())


@transaction.atomic
def keep_places(assignments: Collection[int], *, now: datetime | None = None) -> None:
    """Bulk version of `keep_place`; skips rows that another transaction is updating."""
    free = Assignment.objects.filter(pk__in=assignments).select_for_update(skip_locked=True, no_key=True)
    Assignment.objects.filter(pk__in=free.values("pk")).update(active_at=now or timezone.now())


@transaction.atomic
def hold_places(assignments: Collection[int], *, now: datetime | None = None) -> None:
    """Extend the hold of assignments whose page is open and that have no message yet.

    An expired hold with a bot is not extended, as the place may be taken: `assignment.claim_place` renews it.
    Assignments without a bot are always extended.
    """
    now = now or timezone.now()
    still_held = Q(study_bot=None) | Q(held_until__gt=now, assigned_at__gt=now - READING)
    waiting = Assignment.objects.filter(UNTOUCHED, still_held, pk__in=assignments)
    free = waiting.select_for_update(of=("self",), skip_locked=True, no_key=True)
    Assignment.objects.filter(pk__in=free.values("pk")).update(held_until=now + LOADING)


# Workers who are silent for this long use none of an operator's capacity. They may still return.
QUIET = timedelta(minutes=5)


def bots_admitting(bots: Collection[Bot], *, now: datetime) -> set[int]:
    """IDs of those of these bots that can take a new conversation."""
    return presence.available(bots) | _operated_with_capacity([bot for bot in bots if bot.is_operated], now)


def _operated_with_capacity(bots: Collection[Bot], now: datetime) -> set[int]:
    if not bots:
        return set()
    ids = [bot.pk for bot in bots]
    operators_present = Counter(
        operators.present_operators(now=now).filter(bot__in=ids, takes_new=True).values_list("bot", flat=True)
    )
    talking = Counter(
        Assignment.objects.filter(study_bot__bot__in=ids, outcome="", active_at__gt=now - QUIET).values_list(
            "study_bot__bot", flat=True
        )
    )
    capacity = {bot.pk: operators_present[bot.pk] * operators.settings_of(bot).at_once for bot in bots}
    return {bot.pk for bot in bots if talking[bot.pk] < capacity[bot.pk]}
