"""Celery app of the timer (beat): its schedule, without the Django apps.

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


def _every(
    seconds: int, task: str, *arguments: str, queue: str = "housekeeping", expires: int | None = None
) -> dict[str, object]:
    """A task of the timer; a message that waits until the next one is due is dropped."""
    options = {"expires": expires or seconds, "queue": queue}
    return {"task": task, "schedule": float(seconds), "args": arguments, "options": options}


app.conf.beat_schedule = {
    # Each bot once a day; asked for more often, so that a machine that sleeps at night misses none.
    "watch-for-drift": _every(600, "turnwise.bots.tasks.watch_for_drift"),
    "watch-judges": _every(600, "turnwise.judges.tasks.watch_judges"),
    # Audits of the bot versions that are new that day, one after the other.
    "audit-new-versions": _every(600, "turnwise.audits.tasks.audit_new_versions"),
    **{
        f"heartbeat-{queue}": _every(10, "turnwise.project.celery.beat_heart", queue, queue=queue, expires=20)
        for queue in settings.JOB_QUEUES
    },
    "refresh-stale-reports": _every(5, "turnwise.reports.tasks.refresh_stale_reports"),
    "take-up-tasks": _every(5, "turnwise.tasks.discovery.take_up"),
    "end-overdue": _every(5, "turnwise.crowd.tasks.end_overdue"),
    "tell-panels": _every(10, "turnwise.crowd.tasks.tell_panels", queue="requests"),
    # Once a day would do; asked for more often, so that a machine that sleeps at night misses no day.
    "erase-what-is-due": _every(3600, "turnwise.privacy.tasks.erase_what_is_due"),
    "remove-unsent-pictures": _every(3600, "turnwise.dialogues.tasks.remove_unsent_pictures"),
    "drop-old-bundles": _every(600, "turnwise.exports.tasks.drop_old_bundles"),
    "forget-old-deletions": _every(600, "turnwise.trash.tasks.forget_old_deletions"),
    "take-up-audits": _every(5, "turnwise.audits.tasks.take_up_audits"),
    "take-up-judge-runs": _every(5, "turnwise.judges.tasks.take_up_judge_runs"),
    "send-webhooks": _every(5, "turnwise.webhooks.tasks.send_due_deliveries", queue="requests"),
    "watch-for-webhooks": _every(10, "turnwise.webhooks.tasks.watch_conditions"),
    "delete-old-webhook-deliveries": _every(3600, "turnwise.webhooks.tasks.delete_old_deliveries"),
    "take-up-runs": _every(5, "turnwise.responses.tasks.take_up_runs"),
}


@setup_logging.connect
def _log_as_the_others(loglevel: int, **_: object) -> None:
    """Write the log as the other programs do, instead of with Celery's own handlers."""
    logging.config.dictConfig(settings.LOGGING)
    logging.getLogger("celery").setLevel(loglevel)
