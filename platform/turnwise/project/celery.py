import gc
import os
import resource
import signal
import threading
import time
import warnings
from contextlib import ExitStack
from typing import Any

from celery import Celery, shared_task
from celery.exceptions import CPendingDeprecationWarning
from celery.signals import (
    before_task_publish,
    import_modules,
    task_postrun,
    task_prerun,
    worker_ready,
    worker_shutdown,
)
from django.conf import settings
from django.core.cache import cache

from turnwise.live import log_context
from turnwise.live.jobs import JobTimeoutError
from turnwise.live.metrics import publishing, recording
from turnwise.live.subprocesses import tune_garbage_collection
from turnwise.live.traces import spans

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "turnwise.project.settings")
# Django's checks are about the code and import every page: a worker would take twice as long to start.
os.environ.setdefault("CELERY_SKIP_CHECKS", "1")


@import_modules.connect  # before the app, whose own receiver imports Django and all that jobs need
def _load_without_collection(**_: object) -> None:
    """Pause garbage collection until a worker is ready: nothing that it imports is garbage."""
    gc.disable()


app = Celery("turnwise")
app.config_from_object("django.conf:settings", namespace="CELERY")
app.autodiscover_tasks()


@worker_ready.connect
def _spare_the_collector(**_: object) -> None:
    tune_garbage_collection()


@worker_ready.connect
def _be_quiet_about_later_versions(**_: object) -> None:
    """Ignore what Celery announces at each loss of Redis; its set-up of logs shows all such warnings."""
    warnings.simplefilter("ignore", CPendingDeprecationWarning)


@worker_ready.connect
def _publish_metrics(**_: object) -> None:
    publishing.start()
    spans.start("jobs")


@worker_ready.connect
def bound_memory(**_: object) -> None:
    """Let a job that needs more memory than it may fail with a MemoryError, instead of ending its worker."""
    if settings.JOB_MEMORY_BYTES:
        most = resource.getrlimit(resource.RLIMIT_DATA)[1]
        resource.setrlimit(resource.RLIMIT_DATA, (settings.JOB_MEMORY_BYTES, most))


def end_job(*_: object) -> None:
    minutes = f"{settings.JOB_SECONDS / 60:g}"
    raise JobTimeoutError(f"It took more than {minutes} minutes, the limit of TURNWISE_JOB_MINUTES.")


@worker_ready.connect
def _bound_time(**_: object) -> None:
    signal.signal(signal.SIGALRM, end_job)


@worker_shutdown.connect
def _publish_metrics_a_last_time(**_: object) -> None:
    publishing.stop()
    spans.stop()


@before_task_publish.connect
def _carry_trace(headers: dict[str, Any], **_: object) -> None:
    headers.update(spans.carrier())


_began: dict[str, tuple[float, ExitStack]] = {}


def _set_alarm(seconds: float) -> None:
    """End the running job after this time; 0 stops the alarm. Only the pool solo runs jobs in this thread."""
    if threading.current_thread() is threading.main_thread():
        signal.setitimer(signal.ITIMER_REAL, seconds)


@task_prerun.connect
def _note_beginning(task_id: str, task: Any, **_: object) -> None:
    _set_alarm(settings.JOB_SECONDS)
    log_context.clear()
    log_context.bind(job=task_id, task=task.name)
    span = ExitStack()
    span.enter_context(spans.span("job", {"traceparent": task.request.get("traceparent") or ""}))
    _began[task_id] = time.monotonic(), span


@task_postrun.connect
def _record_job(task_id: str, task: Any, state: str | None = None, **_: object) -> None:
    _set_alarm(0)
    if task_id in _began:
        began, span = _began.pop(task_id)
        span.close()
        outcome = "done" if state == "SUCCESS" else "failed"
        name = task.name.removeprefix("turnwise.").replace(".tasks.", ".")
        recording.record_job(name, outcome, time.monotonic() - began)
    log_context.clear()


@shared_task
def beat_heart(queue: str) -> None:
    """Sent by the timer, run by a worker of this queue: its time in the cache proves that both are alive."""
    cache.set(heart_key(queue), time.time(), timeout=None)


def silent_seconds() -> dict[str, float]:
    """Seconds since a worker of each queue last showed that it works; without queues that never had one."""
    beats = cache.get_many([heart_key(queue) for queue in settings.JOB_QUEUES])
    now = time.time()
    return {
        queue: max(0.0, now - beats[heart_key(queue)])
        for queue in settings.JOB_QUEUES
        if heart_key(queue) in beats
    }


def heart_key(queue: str) -> str:
    return f"jobs.heart.{queue}"
