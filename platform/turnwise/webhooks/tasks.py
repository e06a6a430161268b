"""Background jobs of webhooks."""

from celery import shared_task

from turnwise.webhooks import sending, watching


@shared_task
def send_due_deliveries() -> None:
    """Send due deliveries. Runs every few seconds."""
    sending.send_due()


@shared_task
def watch_conditions() -> None:
    """Publish filled studies and failing bots. Runs every few seconds."""
    watching.watch()


@shared_task
def delete_old_deliveries() -> None:
    """Delete old deliveries. Runs every hour."""
    sending.delete_old()
