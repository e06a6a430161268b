from celery import shared_task

from turnwise.tasks import discovery


@shared_task
def take_up() -> None:
    """Every few seconds: have each task take up what a process has left that died."""
    for each in discovery.each("jobs"):
        each.take_up()
