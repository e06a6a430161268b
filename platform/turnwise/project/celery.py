import os

from celery import Celery
from celery.signals import worker_ready

from turnwise.live.subprocesses import spare_the_collector

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "turnwise.project.settings")

app = Celery("turnwise")
app.config_from_object("django.conf:settings", namespace="CELERY")
app.autodiscover_tasks()


@worker_ready.connect
def _spare_the_collector(**_: object) -> None:
    spare_the_collector()
