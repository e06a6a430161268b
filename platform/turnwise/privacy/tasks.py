"""Background job that erases identifiers when they are due."""

from celery import shared_task

from turnwise.privacy import erasure


@shared_task
def erase_what_is_due() -> None:
    erasure.erase_due()
