"""Places of a study: who holds one, for how long, and how many are taken.

Bots in whose place people answer: there is a place with one only while somebody is there and has room.
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

# A worker who is silent for this long gives their place back to the pool (they may still finish).
HOLD = timedelta(hours=1)
# Before they have sent anything, only while their page is open, so that nobody writes in vain: so long after
# Start, and after each sign that the page is there. Else a few clicks on Start would empty a study's places.
LOADING = timedelta(seconds=30)
SECONDS_BETWEEN_SIGNS_OF_A_PAGE = 10.0
# And no longer than this, though it stays open; what there is to read first takes minutes.
READING = timedelta(minutes=10)
# And of one network address no more than so many of these: else one person without cookies could open pages
# for all places. Behind one address sits a class, too: each of them may begin while there are places.
MOST_HELD_FROM_AN_ADDRESS = 3
_BEGUN = """
SELECT study_bot_id, count(*) FROM crowd_begun(%s, %s) WHERE study_bot_id = ANY(%s) GROUP BY study_bot_id
"""
UNTOUCHED = Q(outcome="", active_at=F("assigned_at"))
"""Assignments in which nothing was sent yet."""


def of_this_phase(studies: QuerySet[Study]) -> QuerySet[Assignment]:
    """Assignments that count towards a study's targets: once its pilot is over, those of it do not."""
    over = studies.filter(pilot_over_at__isnull=False)
    of_pilots = Participation.objects.filter(pilot=True, study__in=over)
    return Assignment.objects.filter(study__in=studies).exclude(participation__in=of_pilots)


def counted(bots: Collection[StudyBot]) -> QuerySet[Assignment]:
    """Assignments of these bots that count towards their targets."""
    studies = Study.objects.filter(pk__in={bot.study_id for bot in bots})
    return of_this_phase(studies).filter(study_bot__in=bots)


def places_taken(bots: Collection[StudyBot], now: datetime) -> Counter[int | None]:
    """Finished and live conversations of each of these bots of a study, by its key."""
    return begun(bots, now) + _places_held(counted(bots), now)


def begun(bots: Collection[StudyBot], now: datetime) -> Counter[int | None]:
    """The same without those who have not sent anything yet (sql/begun.sql)."""
    found = Counter[int | None]()
    with connection.cursor() as cursor:
        for study_id in {bot.study_id for bot in bots}:
            cursor.execute(_BEGUN, [study_id, now - HOLD, [bot.pk for bot in bots]])
            found += Counter(dict(cursor.fetchall()))
    return found


def _places_held(assignments: QuerySet[Assignment], now: datetime) -> Counter[int | None]:
    """How many of them are held by an open page in which nothing was sent yet, by bot of the study."""
    waiting = assignments.filter(_is_held(now)).order_by("pk")
    return _within_bounds(waiting.values_list("study_bot", "participation__address"))


def _is_held(now: datetime) -> Q:
    return Q(UNTOUCHED, held_until__gt=now)


def _within_bounds(waiting: Iterable[tuple[int | None, str]]) -> Counter[int | None]:
    """By bot of a study how many of those who wait with it, each with their address, hold a place."""
    held, from_address = Counter[int | None](), Counter[str]()
    for study_bot, address in waiting:
        from_address[address] += 1
        held[study_bot] += not address or from_address[address] <= MOST_HELD_FROM_AN_ADDRESS
    return held


def finished_and_under_way(assignments: QuerySet[Assignment], now: datetime) -> tuple[int, int]:
    """Of a few assignments, how many are finished, and how many more hold a place."""
    finished, at_work, held = "finished", "at work", "held"
    stands = Case(
        When(outcome=Outcome.COMPLETE, then=Value(finished)),
        When(_at_work(now), then=Value(at_work)),
        When(_is_held(now), then=Value(held)),
    )
    rows = assignments.annotate(stands=stands).filter(stands__isnull=False).order_by("pk")
    told = list(rows.values_list("stands", "study_bot", "participation__address"))
    counts = Counter(each for each, *_ in told)
    waiting = _within_bounds((bot, address) for each, bot, address in told if each == held)
    return counts[finished], counts[at_work] + waiting.total()


def holding(now: datetime, prefix: str = "") -> Q:
    """Assignments under way whose worker was seen lately; `prefix` is the path to them."""
    return _at_work(now, prefix) | Q(**{f"{prefix}outcome": "", f"{prefix}held_until__gt": now})


def _at_work(now: datetime, prefix: str = "") -> Q:
    """Those of them who have sent something (sql/is_at_work.sql)."""
    columns = [F(f"{prefix}{name}") for name in ("outcome", "assigned_at", "active_at")]
    return Q(Func(*columns, Value(now - HOLD), function="crowd_is_at_work", output_field=BooleanField()))


def has_begun(participation_id: int) -> bool:
    """Whether anything would be lost with this participation (sql/has_begun.sql)."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT crowd_has_begun(%s)", [participation_id])
        return bool(cursor.fetchone()[0])


def keep_place(assignment_id: int, *, now: datetime | None = None) -> None:
    """Note that the worker is at work, so that the place is not given to another."""
    Assignment.objects.filter(pk=assignment_id).update(active_at=now or timezone.now())


@transaction.atomic
def keep_places(assignments: Collection[int], *, now: datetime | None = None) -> None:
    """The same of many. One that somebody else writes just now is left out: it is not forgotten."""
    free = Assignment.objects.filter(pk__in=assignments).select_for_update(skip_locked=True, no_key=True)
    Assignment.objects.filter(pk__in=free.values("pk")).update(active_at=now or timezone.now())


@transaction.atomic
def hold_places(assignments: Collection[int], *, now: datetime | None = None) -> None:
    """Hold on to the places of those whose page is open though nothing was sent in it.

    One with a bot that was given up meanwhile may be another's, and is only asked for anew
    (`claiming.claim`). Whoever waits for another person, or judges, takes no place with a bot away.
    """
    now = now or timezone.now()
    still_held = Q(study_bot=None) | Q(held_until__gt=now, assigned_at__gt=now - READING)
    waiting = Assignment.objects.filter(UNTOUCHED, still_held, pk__in=assignments)
    free = waiting.select_for_update(of=("self",), skip_locked=True, no_key=True)
    Assignment.objects.filter(pk__in=free.values("pk")).update(held_until=now + LOADING)


# Of whom nothing has come for so long, they take up no operator's room. They may still come back.
QUIET = timedelta(minutes=5)


def admitting(bots: Collection[Bot], *, now: datetime) -> set[int]:
    """Of these bots, the ids of those that would answer somebody new."""
    return presence.available(bots) | _with_room([bot for bot in bots if bot.is_operated], now)


def _with_room(bots: Collection[Bot], now: datetime) -> set[int]:
    if not bots:
        return set()
    ids = [bot.pk for bot in bots]
    there = Counter(
        operators.present(now=now).filter(bot__in=ids, takes_new=True).values_list("bot", flat=True)
    )
    talking = Counter(
        Assignment.objects.filter(study_bot__bot__in=ids, outcome="", active_at__gt=now - QUIET).values_list(
            "study_bot__bot", flat=True
        )
    )
    return {bot.pk for bot in bots if talking[bot.pk] < there[bot.pk] * operators.settings_of(bot).at_once}
