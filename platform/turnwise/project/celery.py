import os
import time
import warnings
from typing import Any

from celery import Celery, shared_task
from celery.exceptions import CPendingDeprecationWarning
from celery.signals import task_postrun, task_prerun, worker_ready, worker_shutdown
from django.core.cache import cache

from turnwise.live import log_context
from turnwise.live.metrics import publishing, recording
from turnwise.live.subprocesses import tune_garbage_collection

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "turnwise.project.settings")

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


@worker_shutdown.connect
def _publish_metrics_a_last_time(**_: object) -> None:
    publishing.stop()


_began: dict[str, float] = {}


@task_prerun.connect
def _note_beginning(task_id: str, task: Any, **_: object) -> None:
    _began[task_id] = time.monotonic()
    log_context.clear()
    log_context.bind(job=task_id, task=task.name)


@task_postrun.connect
def _record_job(task_id: str, task: Any, state: str | None = None, **_: object) -> None:
    log_context.clear()
    began = _began.pop(task_id, None)
    if began is not None:
        outcome = "done" if state == "SUCCESS" else "failed"
        name = task.name.removeprefix("turnwise.").replace(".tasks.", ".")
        recording.record_job(name, outcome, time.monotonic() - began)


HEART = "jobs.heart"


@shared_task
def beat_heart() -> None:
    """Sent by the timer, run by a worker: its time in the cache proves that both are alive."""
    cache.set(HEART, time.time(), timeout=None)
