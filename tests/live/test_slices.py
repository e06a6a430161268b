"""Messages to the worker about long work: one at a time for each row, and none that only seems to be sent."""

import itertools

import pytest
from celery import Celery, Task
from django.conf import settings
from django.core.cache import cache
from kombu.exceptions import OperationalError
from redis import Redis

from turnwise.live.jobs import LOST_AFTER_SECONDS, RUNS, SENDING_SECONDS, ChunkedJob

CLOSED_PORT = "redis://127.0.0.1:1/0"
QUEUE = "test-slices"

rows = itertools.count(1)


def job_of(broker: str) -> "Task[[int], None]":
    """A job of an app with this broker."""
    app = Celery("slices", broker=broker, set_as_current=False)
    app.conf.task_default_queue = QUEUE
    app.conf.task_publish_retry = False
    app.conf.broker_transport_options = {"max_retries": 0}

    @app.task(name="slices.job")
    def job(pk: int) -> None:
        raise AssertionError(f"No worker runs here, so nobody works on {pk}.")

    return job


@pytest.fixture
def slices() -> ChunkedJob:
    return ChunkedJob(f"test.{next(rows)}", RUNS)


def sent() -> int:
    """Messages in the queue, which is emptied."""
    redis = Redis.from_url(settings.REDIS_URL)
    count = int(redis.llen(QUEUE))  # type: ignore[arg-type]  # not awaited
    redis.delete(QUEUE)
    return count


def seconds_marked(slices: ChunkedJob, pk: int) -> int:
    redis = Redis.from_url(settings.REDIS_URL)
    return int(redis.ttl(cache.make_key(f"{slices.name}.{pk}.on_its_way")))  # type: ignore[arg-type]


def test_a_row_is_sent_again_only_once_its_message_has_arrived(slices: ChunkedJob) -> None:
    job = job_of(settings.CELERY_BROKER_URL)

    assert slices.send(7, job)
    assert not slices.send(7, job)
    assert SENDING_SECONDS < seconds_marked(slices, 7) <= LOST_AFTER_SECONDS
    slices.mark_received(7)
    assert slices.send(7, job)
    assert sent() == 2


def test_a_row_that_the_queue_refused_can_be_sent_at_once(slices: ChunkedJob) -> None:
    with pytest.raises(OperationalError):
        slices.send(7, job_of(CLOSED_PORT))

    assert slices.send(7, job_of(settings.CELERY_BROKER_URL))
    assert sent() == 1
