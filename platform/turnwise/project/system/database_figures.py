"""Figures that PostgreSQL knows: connections, jobs, leases, reports, bots, tokens and costs."""

from collections.abc import Callable, Iterable, Iterator
from datetime import datetime
from typing import NamedTuple

from django.db import connection
from django.db.models import Count, F, Min, Model, Q, QuerySet, Sum
from django.db.models.functions import Now
from django.utils import timezone
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric

from turnwise.audits.models import Audit
from turnwise.bots import budgets
from turnwise.bots.hosting.presence import SILENT_AFTER
from turnwise.bots.models import BotCopy, BotUsage
from turnwise.judges.models import JudgeRun
from turnwise.judging.models import Agreement, Slot
from turnwise.rehearsals.models import Attempt
from turnwise.reports.models import Report
from turnwise.reports.services import stale_studies
from turnwise.responses.models import ResponseRun


class Kind(NamedTuple):
    """One kind of job that is a row: its model, and the column with the time at which it was asked for."""

    model: type[Model]
    asked_at: str


JOBS = {
    "report": Kind(Report, "requested_at"),
    "audit": Kind(Audit, "created_at"),
    "judge run": Kind(JudgeRun, "created_at"),
    "response run": Kind(ResponseRun, "created_at"),
    "comparison of readers": Kind(Agreement, "wanted_at"),
    "rehearsal": Kind(Attempt, "started_at"),
}
JOB_STATES = ("queued", "running")


def database_figures(bot_label: Callable[[int], str]) -> Iterator[Metric]:
    """All figures, in a few statements; `bot_label` gives the label of a bot by its key.

    Raises:
        django.db.Error: PostgreSQL does not answer.
    """
    now = timezone.now()
    yield from _connections()
    yield from _jobs(now)
    yield from _leases()
    yield _reports_behind(now)
    yield from _copies(bot_label)
    yield from _tokens(bot_label)
    yield from _costs(bot_label)


def _connections() -> Iterator[Metric]:
    by_state = GaugeMetricFamily(
        "turnwise_database_connections", "Connections to the database, by state.", labels=["state"]
    )
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT CASE WHEN state = 'active' THEN 'active' WHEN state LIKE 'idle in transaction%%'"
            " THEN 'idle in transaction' ELSE 'idle' END AS kind, count(*)"
            " FROM pg_stat_activity WHERE datname = current_database() GROUP BY kind",
            [],
        )
        found = dict(cursor.fetchall())
        cursor.execute(
            "SELECT current_setting('max_connections')::int, pg_database_size(current_database()),"
            " coalesce(extract(epoch FROM max(now() - xact_start)), 0)"
            " FROM pg_stat_activity WHERE datname = current_database()"
        )
        most, size, oldest = cursor.fetchone()
    for state in ("active", "idle", "idle in transaction"):
        by_state.add_metric([state], found.get(state, 0))
    yield by_state
    yield GaugeMetricFamily("turnwise_database_connections_max", "Most connections allowed.", value=most)
    yield GaugeMetricFamily("turnwise_database_bytes", "Size of the database.", value=size)
    yield GaugeMetricFamily(
        "turnwise_database_oldest_transaction_seconds", "Age of the oldest transaction.", value=float(oldest)
    )


def _jobs(now: datetime) -> Iterator[Metric]:
    number = GaugeMetricFamily(
        "turnwise_jobs_at_work", "Jobs that wait or run, by kind.", labels=["kind", "state"]
    )
    age = GaugeMetricFamily(
        "turnwise_jobs_oldest_seconds", "Age of the oldest of these jobs.", labels=["kind", "state"]
    )
    for kind, job in JOBS.items():
        open_jobs = job.model._default_manager.filter(state__in=JOB_STATES).order_by()
        rows = open_jobs.values_list("state").annotate(number=Count("pk"), oldest=Min(job.asked_at))
        found = {state: (count, oldest) for state, count, oldest in rows}
        for state in JOB_STATES:
            count, oldest = found.get(state, (0, now))
            number.add_metric([kind, state], count)
            age.add_metric([kind, state], max(0.0, (now - oldest).total_seconds()))
    yield number
    yield age


def _leases() -> Iterator[Metric]:
    held: QuerySet[Slot] = Slot.objects.filter(label=None, batch__isnull=False)
    counts = held.aggregate(
        valid=Count("pk", filter=Q(leased_until__gt=Now())),
        expired=Count("pk", filter=Q(leased_until__lte=Now())),
    )
    leases = GaugeMetricFamily(
        "turnwise_leases", "Items that raters hold, and that they held for too long.", labels=["state"]
    )
    for state, count in counts.items():
        leases.add_metric([state], count)
    yield leases


def _reports_behind(now: datetime) -> Metric:
    return GaugeMetricFamily(
        "turnwise_reports_behind",
        "Studies whose newest report misses results, and of which none is being computed.",
        value=len(stale_studies(now)),
    )


def _copies(bot_label: Callable[[int], str]) -> Iterator[Metric]:
    fresh = BotCopy.objects.filter(bot__active=True, seen_at__gt=Now() - SILENT_AFTER)
    rows = list(fresh.values_list("bot", "state", "health"))
    states = ((bot_label(bot), state, 1.0) for bot, state, _ in rows)
    yield _summed("turnwise_bot_copies", "Processes that keep a bot, by state.", ["bot", "state"], states)
    for name, key, words in (
        ("turnwise_bot_queue", "queued", "Requests that wait for a bot."),
        ("turnwise_bot_computing", "computing", "Requests that a bot computes in its current batch."),
        ("turnwise_bot_memory_bytes", "memory_bytes", "Memory that a bot takes."),
    ):
        values = ((bot_label(bot), float(health.get(key) or 0)) for bot, _, health in rows)
        yield _summed(name, words, ["bot"], values)


def _tokens(bot_label: Callable[[int], str]) -> Iterator[Metric]:
    sums = BotUsage.objects.values_list("bot").annotate(
        fresh=Sum(F("prompt") - F("cached")), from_cache=Sum("cached"), out=Sum("completion")
    )
    tokens = CounterMetricFamily(
        "turnwise_tokens", "Tokens of services, by kind; prompts without cached ones.", labels=["bot", "kind"]
    )
    by_label: dict[tuple[str, str], float] = {}
    for bot, *numbers in sums.order_by():
        for kind, number in zip(("prompt", "cached", "completion"), numbers, strict=True):
            key = bot_label(bot), kind
            by_label[key] = by_label.get(key, 0.0) + number
    for labels, value in by_label.items():
        tokens.add_metric(labels, value)
    yield tokens


def _costs(bot_label: Callable[[int], str]) -> Iterator[Metric]:
    spent = budgets.spending_by_bot(budgets.month_of(budgets.today()))
    values = (
        (bot_label(bot), currency, amount)
        for bot, spending in spent.items()
        for currency, amount in spending.amounts.items()
    )
    yield _summed("turnwise_cost_of_month", "Cost of a bot in this month (UTC).", ["bot", "currency"], values)
    yield GaugeMetricFamily(
        "turnwise_budgets_reached",
        "Bots that are not asked because their budget of this month is reached.",
        value=budgets.reached_in_this_month().count(),
    )


def _summed(name: str, words: str, labels: list[str], rows: Iterable[tuple[object, ...]]) -> Metric:
    """A gauge with the sum of all rows that have the same labels; each row ends with its value."""
    sums: dict[tuple[str, ...], float] = {}
    for *key, value in rows:
        texts = tuple(map(str, key))
        sums[texts] = sums.get(texts, 0.0) + float(value)  # type: ignore[arg-type]  # numbers of the callers
    family = GaugeMetricFamily(name, words, labels=labels)
    for texts, total in sums.items():
        family.add_metric(texts, total)
    return family
