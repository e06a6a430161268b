"""Celery app of the timer (beat): the schedule and the broker, without the Django apps.

The timer only sends names of jobs, so it needs no Django set-up and uses a third of the memory.
"""

import logging.config
import os

from celery import Celery
from celery.signals import setup_logging
from django.conf import settings

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "turnwise.project.settings")

app = Celery("turnwise", fixups=[])
app.config_from_object("django.conf:settings", namespace="CELERY")


@setup_logging.connect
def _log_as_the_others(loglevel: int, **_: object) -> None:
    """Write the log as the other programs do, instead of with Celery's own handlers."""
    logging.config.dictConfig(settings.LOGGING)
    logging.getLogger("celery").setLevel(loglevel)
