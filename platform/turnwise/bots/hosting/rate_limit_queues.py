"""Rate limits of services on a bot's page, and the replies that wait for them in all processes."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from evaluation.files.writing import with_unit


@dataclass(frozen=True, slots=True)
class MergedQueue:
    """Requests of a bot, in all processes, that wait for one rate limit.

    Attributes:
        limits: phrases such as "60 requests".
        waiting: number of requests that wait.
        since: when the oldest of them began to wait; None if none waits.
        seconds_left: seconds until the last of them is sent, at least 0; None if none waits.
    """

    limits: list[str]
    waiting: int
    since: datetime | None
    seconds_left: int | None


def merged_queues(healths: Iterable[Mapping[str, Any]]) -> list[MergedQueue]:
    """Combine the queues in the health of a bot's copies: one for each rate limit."""
    by_limit: dict[tuple[str, int | None, int | None], list[Mapping[str, Any]]] = {}
    for health in healths:
        for queue in health.get("rate_limits", ()):
            key = (queue["bucket"], queue["requests_per_minute"], queue["tokens_per_minute"])
            by_limit.setdefault(key, []).append(queue)
    return [_merged(requests, tokens, queues) for (_, requests, tokens), queues in by_limit.items()]


def _merged(requests: int | None, tokens: int | None, queues: Iterable[Mapping[str, Any]]) -> MergedQueue:
    busy = [queue for queue in queues if queue["waiting"]]
    limits = []
    if requests:
        limits.append(_amount(requests, ngettext("request", "requests", requests)))
    if tokens:
        limits.append(_amount(tokens, ngettext("token", "tokens", tokens)))
    since = min((queue["waiting_since"] for queue in busy), default=None)
    last = max((queue["last_sent_at"] for queue in busy), default=None)
    return MergedQueue(
        limits,
        sum(queue["waiting"] for queue in busy),
        None if since is None else datetime.fromtimestamp(since, UTC),
        None if last is None else max(0, round(last - timezone.now().timestamp())),
    )


def _amount(number: int, unit: str) -> str:
    return _("%(amount)s a minute") % {"amount": with_unit(f"{number:,}", unit)}
