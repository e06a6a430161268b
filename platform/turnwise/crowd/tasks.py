"""Background jobs of the crowd: end overdue assignments, and send requests to panels."""

from celery import shared_task

from turnwise.crowd.pay import panel_acts
from turnwise.crowd.running import limits


@shared_task
def end_overdue() -> None:
    """End assignments whose time is over, even if no page is open. Runs every few seconds."""
    limits.end_overdue()


@shared_task
def tell_panels() -> None:
    """Send the due requests to the panels' APIs. Runs every few seconds."""
    panel_acts.send_due_acts()
