import os
import time
import warnings

from celery import Celery, shared_task
from celery.exceptions import CPendingDeprecationWarning
from celery.signals import worker_ready
from django.core.cache import cache

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


HEART = "jobs.heart"


@shared_task
def beat_heart() -> None:
    """Sent by the timer, run by a worker: its time in the cache proves that both are alive."""
    cache.set(HEART, time.time(), timeout=None)
