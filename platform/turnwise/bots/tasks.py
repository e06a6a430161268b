from celery import shared_task

from turnwise.bots import drift_check


@shared_task
def watch_for_drift() -> None:
    """Start the daily check of every bot that is due."""
    for bot_id in drift_check.bots_due():
        replay_canary.delay(bot_id)


@shared_task
def replay_canary(bot_id: int, anew: bool = False) -> None:
    """Once a day, however often it was put into the queue while a long job held the worker."""
    if anew or bot_id in drift_check.bots_due():
        drift_check.replay(bot_id, anew=anew)
