import os
import warnings

from celery import Celery
from celery.exceptions import CPendingDeprecationWarning
from celery.signals import worker_ready

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
