import time

from celery import shared_task
from django.core.cache import cache

HEART = "jobs.heart"


@shared_task
def beat_heart() -> None:
    """Sent by the timer, run by a worker: its time in the cache proves that both are alive."""
    cache.set(HEART, time.time(), timeout=None)
