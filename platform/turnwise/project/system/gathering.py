"""All metrics of the installation, from every process, PostgreSQL, Redis and the disk, and `/metrics`.

The address answers in Prometheus's text format, for this machine or for those who have the token.
"""

import logging
import shutil
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor, wait
from dataclasses import dataclass
from hmac import compare_digest
from typing import Any

from django.conf import settings
from django.db import connection
from django.http import Http404, HttpRequest, HttpResponse
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe
from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.core import GaugeMetricFamily, Metric

from turnwise.bots.models import Bot
from turnwise.live.metrics import publishing
from turnwise.live.metrics.families import REGISTRY
from turnwise.live.metrics.publishing import Values
from turnwise.project import health
from turnwise.project.celery import silent_seconds
from turnwise.project.system.database_figures import database_figures

log = logging.getLogger(__name__)

TIMEOUT_SECONDS = 4.0
# Further bots share the label “other”, so that a scrape stays small however many are registered.
MOST_BOTS = 100
OTHER_BOTS = "other"

_threads = ThreadPoolExecutor(5, thread_name_prefix="metrics")

BotLabel = Callable[[int], str]


@dataclass(frozen=True, slots=True)
class Gathered:
    """The state of the installation.

    Attributes:
        families: every metric, for Prometheus.
        recent: those that processes count, of the last `publishing.RECENT_MINUTES`.
        parts: what `/readyz` checks.
        missing: sources that could not be read.
    """

    families: list[Metric]
    recent: list[Metric]
    parts: dict[str, health.Part]
    missing: list[str]


class BotLabels:
    """Labels of bots by key: their names, which researchers chose at the registration and never change."""

    def __init__(self) -> None:
        """Know no bot yet."""
        self._names: dict[int, str] = {}

    def read(self) -> None:
        """Read the names; those known before stay if PostgreSQL does not answer."""
        self._names = dict(Bot.objects.order_by("-active", "pk").values_list("pk", "name")[:MOST_BOTS])

    def __call__(self, bot: int) -> str:
        """Label of a bot."""
        return self._names.get(bot, OTHER_BOTS)


_bot_labels = BotLabels()


def gather() -> Gathered:
    """Read all sources at the same time; one that fails or is late is left out, and a metric says so."""
    sources: dict[str, Callable[[], Any]] = {
        "database": _from_database,
        "processes": publishing.published,
        "recent": publishing.recent,
        "queue": _from_queue,
        "disk": _from_disk,
    }
    futures = {name: _threads.submit(read) for name, read in sources.items()}
    parts = health.check_parts()
    wait(futures.values(), timeout=TIMEOUT_SECONDS)
    found, missing = _results(futures)
    families = [
        _flags("turnwise_source_up", "1 if the metrics of this source could be read.", "source",
               {name: name not in missing for name in sources}),
        _flags("turnwise_ready", "1 if this part is ready, as /readyz says.", "part",
               {name: part.ready for name, part in parts.items()}),
        *found.get("database", []),
        *found.get("queue", []),
        *found.get("disk", []),
        *families_of(found.get("processes", {}), _bot_labels),
    ]  # fmt: skip
    recent = list(families_of(found.get("recent", {}), _bot_labels))
    return Gathered(families, recent, parts, missing)


def _results(futures: dict[str, Future[Any]]) -> tuple[dict[str, Any], list[str]]:
    """Results by source, and the sources without one."""
    found, missing = {}, []
    for name, future in futures.items():
        late = TimeoutError(f"no answer within {TIMEOUT_SECONDS:.0f} s")
        if error := future.exception() if future.done() else late:
            future.cancel()
            missing.append(name)
            log.warning("Metrics of %s could not be read: %s", name, error)
        else:
            found[name] = future.result()
    return found, missing


def _flags(name: str, words: str, label: str, states: dict[str, bool]) -> Metric:
    family = GaugeMetricFamily(name, words, labels=[label])
    for each, state in states.items():
        family.add_metric([each], float(state))
    return family


def _from_database() -> list[Metric]:
    try:
        _bot_labels.read()
        return list(database_figures(_bot_labels))
    finally:
        connection.close()


def families_of(values: Values, bot_label: BotLabel) -> Iterator[Metric]:
    """The declared metrics with these values and names of bots; a sample of no metric is dropped."""
    for declared in REGISTRY.collect():
        names = [declared.name + suffix for suffix in ("", "_total", "_bucket", "_sum", "_count")]
        of_family = ((name, dict(labels), value) for (name, labels), value in values.items() if name in names)
        family = Metric(declared.name, declared.documentation, declared.type)
        for name, labels, value in sorted(_with_bot_names(of_family, bot_label), key=_order):
            family.add_sample(name, labels, value)
        yield family


Row = tuple[str, dict[str, str], float]


def _with_bot_names(samples: Iterable[Row], bot_label: BotLabel) -> Iterator[Row]:
    """Samples with names of bots; those of bots that share a label are added up."""
    sums: dict[tuple[str, tuple[tuple[str, str], ...]], float] = {}
    for name, labels, value in samples:
        if "bot" in labels:
            labels["bot"] = bot_label(int(labels["bot"]))
        key = name, tuple(labels.items())
        sums[key] = sums.get(key, 0.0) + value
    for (name, items), value in sums.items():
        yield name, dict(items), value


def _order(row: Row) -> tuple[list[tuple[str, str]], str, float]:
    """Series by series, and the buckets of a histogram in the order of their bounds, as parsers expect."""
    name, labels = row[0], dict(row[1])
    bound = float(labels.pop("le", "inf"))
    return sorted(labels.items()), name, bound


def _from_queue() -> list[Metric]:
    words = "Messages that wait for a job worker."
    waiting = GaugeMetricFamily("turnwise_job_queue", words, labels=["queue"])
    words = "Time since a job worker of this queue last showed that it works."
    silent = GaugeMetricFamily("turnwise_job_worker_silent_seconds", words, labels=["queue"])
    redis = publishing.redis_client()
    for queue in settings.JOB_QUEUES:
        waiting.add_metric([queue], float(redis.llen(queue)))
    for queue, age in silent_seconds().items():
        silent.add_metric([queue], age)
    return [waiting, silent]


def _from_disk() -> list[Metric]:
    usage = shutil.disk_usage(settings.VAR)
    return [
        GaugeMetricFamily(
            "turnwise_disk_free_bytes", "Free space on the data folder's disk.", value=usage.free
        ),
        GaugeMetricFamily("turnwise_disk_bytes", "Size of the data folder's disk.", value=usage.total),
    ]


CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"
LOOPBACK = ("127.0.0.1", "::1")
# Headers by which a proxy says for whom it asks: behind one, every request comes from this machine.
FORWARDED = ("HTTP_X_FORWARDED_FOR", "HTTP_X_FORWARDED_PROTO", "HTTP_X_REAL_IP", "HTTP_FORWARDED", "HTTP_VIA")


class _Collected(CollectorRegistry):
    def __init__(self, families: list[Metric]) -> None:
        super().__init__()
        self._families = families

    def collect(self):  # type: ignore[no-untyped-def]  # untyped in the library
        return iter(self._families)


@require_safe
@never_cache
def metrics(request: HttpRequest) -> HttpResponse:
    """All metrics; 403 with a wrong token, and 404 from other machines if no token is set."""
    refusal = _refusal(request)
    if refusal:
        return refusal
    return HttpResponse(exposition(gather().families), content_type=CONTENT_TYPE)


def exposition(families: list[Metric]) -> bytes:
    """These metrics in Prometheus's text format."""
    return generate_latest(_Collected(families))


def _refusal(request: HttpRequest) -> HttpResponse | None:
    token = settings.METRICS_TOKEN
    if not token:
        is_forwarded = any(header in request.META for header in FORWARDED)
        if request.META.get("REMOTE_ADDR") not in LOOPBACK or is_forwarded:
            raise Http404(
                "Metrics are for this machine. Set TURNWISE_METRICS_TOKEN to read them from others."
            )
        return None
    given = request.headers.get("Authorization", "").encode()
    if compare_digest(given, f"Bearer {token}".encode()):
        return None
    say = "The token is missing or wrong. Send TURNWISE_METRICS_TOKEN as “Authorization: Bearer …”.\n"
    return HttpResponse(say, status=403, content_type="text/plain; charset=utf-8")
