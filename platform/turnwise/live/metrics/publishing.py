"""Publication of metrics: totals of all processes in Redis, and gauges of each process that expire.

Each process adds what is new since its last publication to one hash. So totals survive the end of a
process, and a restart loses five seconds at most. If Redis loses the hash, totals begin at 0, as after any
restart of a counter. A publication whose answer is lost may be added twice.
"""

import json
import logging
import os
import socket
import threading
import time
from collections.abc import Iterable, Mapping
from secrets import token_hex
from typing import Any

import redis
from django.conf import settings

from turnwise.live.metrics import recording
from turnwise.live.metrics.families import REGISTRY

log = logging.getLogger(__name__)

TOTALS = "turnwise:metrics:totals"
GAUGES = "turnwise:metrics:gauges:"
MINUTE = "turnwise:metrics:minute:"
RECENT_MINUTES = 10
EVERY_SECONDS = 5.0
# A process that has been silent for this long is no longer counted.
GAUGES_EXPIRE_SECONDS = 30
LAST_PUBLICATION_SECONDS = 3.0

Labels = tuple[tuple[str, str], ...]
Sample = tuple[str, Labels]
Values = dict[Sample, float]
"""Values by name of the sample and labels."""


def redis_client() -> "redis.Redis":
    """Client of Redis that gives up after a second."""
    return redis.Redis.from_url(settings.REDIS_URL, socket_timeout=1.0, socket_connect_timeout=1.0)


class Publisher:
    """Publishes the metrics of this process; one thread at a time may call it."""

    def __init__(self) -> None:
        """Publish under a name that no other process has."""
        self._client = redis_client()
        self._key = f"{GAUGES}{socket.gethostname()[:60]}:{os.getpid()}:{token_hex(4)}"
        self._sent: Values = {}

    def publish(self) -> None:
        """Add what is new to the totals, and renew the gauges.

        Raises:
            redis.RedisError: Redis does not answer; the next call publishes what this one did not.
        """
        recording.fill_in()
        totals, gauges = _values()
        with self._client.pipeline(transaction=True) as steps:
            minute = _minute_keys(1)[0]
            for sample, value in totals.items():
                if new := value - self._sent.get(sample, 0.0):
                    for key in (TOTALS, minute):
                        steps.hincrbyfloat(key, _encode(sample), new)
            steps.expire(minute, 60 * (RECENT_MINUTES + 2))
            encoded = json.dumps({_encode(sample): value for sample, value in gauges.items()})
            steps.set(self._key, encoded, ex=GAUGES_EXPIRE_SECONDS)
            steps.execute()
        self._sent = totals

    def withdraw(self) -> None:
        """Remove the gauges, as the process ends."""
        self._client.delete(self._key)


def _values() -> tuple[Values, Values]:
    """Totals and gauges of this process."""
    totals: Values = {}
    gauges: Values = {}
    for family in REGISTRY.collect():
        into = gauges if family.type == "gauge" else totals
        for sample in family.samples:
            if not sample.name.endswith("_created"):
                into[sample.name, tuple(sorted(sample.labels.items()))] = sample.value
    return totals, gauges


def published() -> Values:
    """Totals of all processes, and the sums of their gauges.

    Raises:
        redis.RedisError: Redis does not answer.
    """
    client = redis_client()
    keys = list(client.scan_iter(match=f"{GAUGES}*", count=1000))
    gauges = [json.loads(content or b"{}") for content in (client.mget(keys) if keys else [])]
    return _sum([_decoded(client.hgetall(TOTALS)), *map(_decoded, gauges)])


def recent() -> Values:
    """Increments of the totals in the last `RECENT_MINUTES`.

    Raises:
        redis.RedisError: Redis does not answer.
    """
    with redis_client().pipeline(transaction=False) as steps:
        for key in _minute_keys(RECENT_MINUTES):
            steps.hgetall(key)
        return _sum(_decoded(values) for values in steps.execute())


def _minute_keys(number: int) -> list[str]:
    """Keys of this minute and those before it."""
    now = int(time.time()) // 60
    return [f"{MINUTE}{now - back}" for back in range(number)]


def _sum(parts: Iterable[Values]) -> Values:
    found: Values = {}
    for part in parts:
        for sample, value in part.items():
            found[sample] = found.get(sample, 0.0) + value
    return found


def _encode(sample: Sample) -> str:
    return json.dumps(sample)


def _decoded(values: Mapping[Any, Any]) -> Values:
    found: Values = {}
    for key, value in values.items():
        name, labels = json.loads(key)
        found[name, tuple((label, text) for label, text in labels)] = float(value)
    return found


_stopping = threading.Event()
_thread: threading.Thread | None = None


def start() -> None:
    """Publish from now on, on a thread of this process. A forked process calls this itself."""
    global _thread
    if _thread is None or not _thread.is_alive():
        _stopping.clear()
        _thread = threading.Thread(target=_publish_until_stopped, name="metrics", daemon=True)
        _thread.start()


def stop() -> None:
    """Publish a last time, as the process ends."""
    _stopping.set()
    if _thread is not None:
        _thread.join(LAST_PUBLICATION_SECONDS)


def _publish_until_stopped() -> None:
    publisher, is_last = Publisher(), False
    while not is_last:
        is_last = _stopping.wait(EVERY_SECONDS)
        try:
            publisher.publish()
            if is_last:
                publisher.withdraw()
        except redis.RedisError as error:
            log.warning("Metrics are published later: Redis does not answer (%s).", error)
        except Exception:  # a metric must not end the thread, and never a conversation
            log.exception("Metrics were not published.")
