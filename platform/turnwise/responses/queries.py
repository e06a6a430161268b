from dataclasses import dataclass
from datetime import datetime, timedelta

from django.contrib.auth.models import AnonymousUser
from django.db.models import F, QuerySet
from django.utils import timezone

from turnwise.accounts.access import visible_to
from turnwise.accounts.models import User
from turnwise.responses.bot_jobs import AT_WORK, MOST_ATTEMPTS
from turnwise.responses.models import Response, ResponseFault, ResponseRun

# The remaining time is estimated from this many recent seconds.
PACE_SECONDS = 60


def runs_of(user: User | AnonymousUser) -> QuerySet[ResponseRun]:
    """Runs that this person may see."""
    runs = ResponseRun.objects.select_related("context_version__context_set", "owner", "bot", "bot_version")
    return visible_to(user, runs, owner="owner")


def real_runs_of(user: User | AnonymousUser) -> QuerySet[ResponseRun]:
    """Runs that this person may see and that are not of a rehearsal, so they can be judged."""
    return runs_of(user).filter(study__rehearsal_of=None)


MOST_LISTED = 30


def listed_runs(user: User | AnonymousUser, listed: str) -> list[ResponseRun]:
    """Runs that this person may judge of those whose keys an address lists, with commas between them."""
    keys = [int(key) for key in listed.split(",")[:MOST_LISTED] if key.isascii() and key.isdigit()]
    found = real_runs_of(user).filter(pk__in=[key for key in keys if key < 2**63])
    return list(found.order_by("pk")) if keys else []


@dataclass(frozen=True, slots=True)
class RunProgress:
    """Progress of a run."""

    had: int
    wanted: int
    failing: int
    given_up: int
    seconds_left: int | None

    @property
    def time_left(self) -> str:
        """The remaining time as text; empty if it is unknown."""
        if self.seconds_left is None:
            return ""
        if self.seconds_left < 90:
            return f"about {max(1, self.seconds_left)} seconds left"
        if self.seconds_left < 5400:
            return f"about {round(self.seconds_left / 60)} minutes left"
        return f"about {round(self.seconds_left / 3600)} hours left"


def counted_responses(responses: QuerySet[Response]) -> QuerySet[Response]:
    """Responses without those of a pilot, which have repetitions above the wanted number."""
    return responses.filter(repetition__lte=F("run__repetitions"))


def progress(run: ResponseRun, *, now: datetime | None = None) -> RunProgress:
    now = now or timezone.now()
    had = counted_responses(run.responses.all()).count()
    wanted = run.context_version.size * run.repetitions
    unanswered = _unanswered_faults(run)
    given_up = sum(fault.attempts >= MOST_ATTEMPTS for fault in unanswered)
    left = _seconds_left(run, wanted - had - given_up, now) if run.state in AT_WORK else None
    return RunProgress(had, wanted, len(unanswered), given_up, left)


def _unanswered_faults(run: ResponseRun) -> list[ResponseFault]:
    """Faults of responses that are still missing."""
    faults = list(run.faults.all())
    if not faults:
        return []
    had = set(run.responses.values_list("context_id", "repetition"))
    return [each for each in faults if (each.context_id, each.repetition) not in had]


def _seconds_left(run: ResponseRun, lacking: int, now: datetime) -> int | None:
    """Remaining seconds at the pace of the last minute; None if it is unknown."""
    recent = run.responses.filter(created_at__gt=now - timedelta(seconds=PACE_SECONDS)).order_by("created_at")
    times = list(recent.values_list("created_at", flat=True))
    if len(times) < 2 or times[-1] == times[0]:
        return None
    pace = (len(times) - 1) / (now - times[0]).total_seconds()
    return round(lacking / pace)
