"""Background job that removes uploads which no message has sent."""

from celery import shared_task

from turnwise.dialogues import pictures


@shared_task
def remove_unsent_pictures() -> None:
    """Remove uploads that no message has sent within a day."""
    pictures.remove_unsent()
