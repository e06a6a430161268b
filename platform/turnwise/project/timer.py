"""Celery as the timer (beat) sees it: the schedule and the broker but none of the apps.

It sends names of jobs and runs none, so it needs no Django set-up and a third of the memory.
"""

import os

from celery import Celery

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "turnwise.project.settings")

app = Celery("turnwise", fixups=[])
app.config_from_object("django.conf:settings", namespace="CELERY")
