"""The page *System*: what `/metrics` holds, in words for admins. It reloads itself and needs no script."""

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.template.defaultfilters import filesizeformat
from django.utils import timezone
from django.utils.functional import Promise
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe
from prometheus_client.core import Metric

from turnwise.accounts.people_views import for_admins
from turnwise.bots.budgets import amount_phrase
from turnwise.live.metrics.publishing import RECENT_MINUTES
from turnwise.project.health import BotsPart
from turnwise.project.system.database_figures import JOBS
from turnwise.project.system.gathering import Gathered, gather

Bucket = tuple[float, float]
"""Upper bound and cumulative count."""


class Readings:
    """Values of metric families by name of the sample."""

    def __init__(self, families: Iterable[Metric]) -> None:
        """Read these families."""
        self._samples: dict[str, list[tuple[dict[str, str], float]]] = {}
        for family in families:
            for sample in family.samples:
                self._samples.setdefault(sample.name, []).append((sample.labels, sample.value))

    def value(self, name: str, **labels: str) -> float | None:
        """Sum of the samples with these labels; None if there is none."""
        found = [value for has, value in self._samples.get(name, []) if labels.items() <= has.items()]
        return sum(found) if found else None

    def by_label(self, name: str, label: str, **labels: str) -> dict[str, float]:
        """Sums of the samples with these labels, by the value of another label."""
        sums: dict[str, float] = {}
        for has, value in self._samples.get(name, []):
            if labels.items() <= has.items():
                sums[has[label]] = sums.get(has[label], 0.0) + value
        return sums

    def quantile(self, name: str, q: float, **labels: str) -> float | None:
        """Quantile of a histogram, estimated from its buckets as Prometheus does; None without data."""
        by_bound = self.by_label(f"{name}_bucket", "le", **labels)
        return quantile([(float(bound), count) for bound, count in by_bound.items()], q)


def quantile(buckets: Iterable[Bucket], q: float) -> float | None:
    """Interpolate a quantile in the bucket that holds it; the last finite bound if it lies beyond.

    Args:
        buckets: with cumulative counts; the last one has no bound.
        q: from 0 to 1.
    """
    ordered = sorted(buckets)
    if not ordered or not ordered[-1][1]:
        return None
    rank, below, before = q * ordered[-1][1], 0.0, 0.0
    for bound, count in ordered:
        if count >= rank and count > before:
            if math.isinf(bound):
                return below
            return below + (bound - below) * (rank - before) / (count - before)
        below, before = bound, count
    return below


RELOAD_SECONDS = 15

PARTS: dict[str, Promise] = {
    "postgresql": gettext_lazy("Database (PostgreSQL)"),
    "disk": gettext_lazy("Disk"),
    "redis": gettext_lazy("Redis"),
    "line": gettext_lazy("Messages between processes"),
    "bots": gettext_lazy("Bots"),
    "celery_worker": gettext_lazy("Job worker and timer"),
}
STAGES: dict[str, Promise] = {
    "message_saved": gettext_lazy("Message saved"),
    "bot_answered": gettext_lazy("Bot answered"),
    "reply_saved": gettext_lazy("Reply saved"),
    "whole": gettext_lazy("Whole turn"),
}
VISITORS: dict[str, Promise] = {
    "workers": gettext_lazy("Workers"),
    "staff": gettext_lazy("Researchers, admins and visitors"),
    "programs": gettext_lazy("Programs (API)"),
}
SOCKETS: dict[str, Promise] = {
    "dialogues": gettext_lazy("Conversations"),
    "batches": gettext_lazy("Judging"),
    "lobby": gettext_lazy("Waiting for a partner"),
    "writing": gettext_lazy("Writing"),
    "operating": gettext_lazy("Operators"),
    "previews": gettext_lazy("Previews"),
    "other": gettext_lazy("Others"),
}
QUEUES: dict[str, Promise] = {
    "housekeeping": gettext_lazy("Housekeeping: what the timer starts"),
    "requests": gettext_lazy("Requests to others: webhooks, mails, panels"),
    "computing": gettext_lazy("Reports and other figures"),
    "bots": gettext_lazy("Work that asks bots"),
}
JOB_KINDS: dict[str, Promise] = {
    "report": gettext_lazy("Reports"),
    "audit": gettext_lazy("Audits"),
    "judge run": gettext_lazy("Runs of judges"),
    "response run": gettext_lazy("Runs of responses"),
    "comparison of readers": gettext_lazy("Comparisons of readers"),
    "rehearsal": gettext_lazy("Rehearsals"),
}
SOURCES: dict[str, Promise] = {
    "database": gettext_lazy("PostgreSQL"),
    "processes": gettext_lazy("the server's processes (by Redis)"),
    "recent": gettext_lazy("the last minutes (by Redis)"),
    "queue": gettext_lazy("the job queue (by Redis)"),
    "disk": gettext_lazy("the disk"),
}


@dataclass(frozen=True, slots=True)
class Level:
    """A part of a whole, with a bar.

    Attributes:
        title: what it is.
        phrase: the level in words.
        percent: length of the bar.
    """

    title: str
    phrase: str
    percent: int


@never_cache
@require_safe
@for_admins
def system(request: HttpRequest) -> HttpResponse:
    """Show the state of the installation; the browser loads the page again by itself."""
    gathered = gather()
    now, recent = Readings(gathered.families), Readings(gathered.recent)
    shown = {
        "at": timezone.now(),
        "reload_seconds": RELOAD_SECONDS,
        "minutes": RECENT_MINUTES,
        "missing": [str(SOURCES[name]) for name in gathered.missing],
        "parts": _parts(gathered),
        "levels": _levels(now),
        "turns": _turns(recent),
        "pages": _pages(recent),
        "bots": _bots(now, recent),
        "sockets": _sockets(now),
        "jobs": _jobs(now),
        "queues": _queues(now),
        "facts": _facts(now, recent),
    }
    response = render(request, "project/system.html", shown)
    response["Refresh"] = str(RELOAD_SECONDS)
    return response


def _parts(gathered: Gathered) -> list[dict[str, Any]]:
    return [
        {
            "title": PARTS[name],
            "part": part,
            "detail": part.details(part.unwell if isinstance(part, BotsPart) else ())["detail"],
        }
        for name, part in gathered.parts.items()
    ]


def _levels(now: Readings) -> list[Level]:
    levels = []
    used, most = now.value("turnwise_database_connections"), now.value("turnwise_database_connections_max")
    if used is not None and most:
        phrase = _("%(used)d of %(most)d") % {"used": used, "most": most}
        levels.append(Level(_("Database connections"), phrase, _percent(used, most)))
    free, size = now.value("turnwise_disk_free_bytes"), now.value("turnwise_disk_bytes")
    if free is not None and size:
        phrase = _("%(free)s free of %(size)s") % {"free": filesizeformat(free), "size": filesizeformat(size)}
        levels.append(Level(_("Disk of the data folder"), phrase, _percent(size - free, size)))
    return levels


def _pages(recent: Readings) -> list[dict[str, Any]]:
    name = "turnwise_page_seconds"
    return [
        {
            "title": title,
            "number": round(number),
            "failed": round(recent.value(f"{name}_count", visitors=visitors, status="failed") or 0),
            "median": time_phrase(recent.quantile(name, 0.5, visitors=visitors)),
            "p95": time_phrase(recent.quantile(name, 0.95, visitors=visitors)),
        }
        for visitors, title in VISITORS.items()
        if (number := recent.value(f"{name}_count", visitors=visitors))
    ]


def _turns(recent: Readings) -> list[dict[str, Any]]:
    name = "turnwise_turn_seconds"
    return [
        {
            "title": title,
            "number": round(number),
            "median": time_phrase(recent.quantile(name, 0.5, stage=stage)),
            "p95": time_phrase(recent.quantile(name, 0.95, stage=stage)),
        }
        for stage, title in STAGES.items()
        if (number := recent.value(f"{name}_count", stage=stage))
    ]


def _bots(now: Readings, recent: Readings) -> list[dict[str, Any]]:
    asked = recent.by_label("turnwise_replies_total", "bot")
    answered = recent.by_label("turnwise_replies_total", "bot", outcome="answered")
    copies = now.by_label("turnwise_bot_copies", "bot")
    return [
        {
            "name": name,
            "copies": round(copies.get(name, 0)),
            "ready": round(now.value("turnwise_bot_copies", bot=name, state="ready") or 0),
            "queue": round(now.value("turnwise_bot_queue", bot=name) or 0),
            "asked": round(asked.get(name, 0)),
            "unanswered": round(asked.get(name, 0) - answered.get(name, 0)),
            "percent": _percent(asked.get(name, 0) - answered.get(name, 0), asked.get(name, 0)),
            "median": time_phrase(recent.quantile("turnwise_reply_seconds", 0.5, bot=name)),
            "first": time_phrase(recent.quantile("turnwise_first_text_seconds", 0.5, bot=name)),
            "cost": [
                amount_phrase(amount, currency)
                for currency, amount in now.by_label("turnwise_cost_of_month", "currency", bot=name).items()
            ],
        }
        for name in sorted({*copies, *asked})
    ]


def _sockets(now: Readings) -> list[dict[str, Any]]:
    by_kind = now.by_label("turnwise_open_sockets", "kind")
    most = max(by_kind.values(), default=0)
    return [
        {"title": title, "number": round(number), "percent": _percent(number, most)}
        for kind, title in SOCKETS.items()
        if (number := by_kind.get(kind, 0))
    ]


def _jobs(now: Readings) -> list[dict[str, Any]]:
    return [
        {
            "title": JOB_KINDS[kind],
            "queued": round(now.value("turnwise_jobs_at_work", kind=kind, state="queued") or 0),
            "running": round(now.value("turnwise_jobs_at_work", kind=kind, state="running") or 0),
            "oldest": time_phrase(
                max(now.by_label("turnwise_jobs_oldest_seconds", "state", kind=kind).values())
            ),
        }
        for kind in JOBS
        if now.value("turnwise_jobs_at_work", kind=kind)
    ]


def _queues(now: Readings) -> list[dict[str, Any]]:
    waiting = now.by_label("turnwise_job_queue", "queue")
    silent = now.by_label("turnwise_job_worker_silent_seconds", "queue")
    return [
        {
            "title": title,
            "waiting": round(waiting[name]),
            "silent": time_phrase(silent[name]) if name in silent else None,
        }
        for name, title in QUEUES.items()
        if name in waiting
    ]


def _facts(now: Readings, recent: Readings) -> list[tuple[str, str]]:
    """Single numbers, with their titles; those that could not be read are left out."""
    size = now.value("turnwise_database_bytes")
    steps, batches = recent.value("turnwise_batch_steps_sum"), recent.value("turnwise_batch_steps_count")
    facts: list[tuple[str, str | None]] = [
        (_("Studies whose report is behind"), _whole(now.value("turnwise_reports_behind"))),
        (_("Items that raters hold"), _whole(now.value("turnwise_leases", state="valid"))),
        (_("Items that raters held for too long"), _whole(now.value("turnwise_leases", state="expired"))),
        (_("Database steps waiting for a batch"), _whole(now.value("turnwise_batch_queue"))),
        (_("Steps in a batch, mean"), f"{steps / batches:.1f}" if steps and batches else None),
        (_("Size of the database"), filesizeformat(size) if size is not None else None),
        (_("Budgets reached this month"), _whole(now.value("turnwise_budgets_reached"))),
    ]
    return [(title, value) for title, value in facts if value is not None]


def time_phrase(seconds: float | None) -> str:
    """A time in its largest sensible unit, as in "35 ms" or "4 min"; a dash if there is none."""
    if seconds is None:
        return "\u2013"
    for unit, size in (("d", 86_400.0), ("h", 3600.0), ("min", 60.0)):
        if seconds >= 2 * size:
            return f"{seconds / size:.0f}\u00a0{unit}"
    return f"{seconds:.1f}\u00a0s" if seconds >= 1 else f"{seconds * 1000:.0f}\u00a0ms"


def _whole(value: float | None) -> str | None:
    return None if value is None else f"{value:,.0f}"


def _percent(part: float, whole: float) -> int:
    return round(100 * part / whole) if whole else 0
