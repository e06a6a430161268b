from celery import shared_task

from turnwise.crowd.pay import panel_acts
from turnwise.crowd.running import limits


@shared_task
def end_overdue() -> None:
    """Every few seconds: end the work of those whose time is over, though no page of theirs is open."""
    limits.end_overdue()


@shared_task
def tell_panels() -> None:
    """Every few seconds: tell panels over their API what waits to be told."""
    panel_acts.send_due_acts()
