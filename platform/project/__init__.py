"""Wiring only: settings, addresses, servers, jobs and the embedded services."""

from project.celery import app as celery_app

__all__ = ["celery_app"]
