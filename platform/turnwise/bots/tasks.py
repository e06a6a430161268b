from celery import shared_task

from turnwise.bots import drift_check
from turnwise.live.subprocesses import start_detached


@shared_task
def watch_for_drift() -> None:
    """Start the daily check of every bot that is due."""
    for bot_id in drift_check.bots_due():
        replay_canary.delay(bot_id)


@shared_task
def replay_canary(bot_id: int, anew: bool = False) -> None:
    """Run the daily check of a bot, unless an earlier queued job has done it already."""
    if anew or bot_id in drift_check.bots_due():
        drift_check.replay(bot_id, anew=anew)


@shared_task
def add_small_model() -> None:
    """Start a detached process that fetches the small model, so that it does not block the job worker."""
    start_detached("-m", "django", "add_small_model")
