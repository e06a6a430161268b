from celery import shared_task

from turnwise.privacy import erasing


@shared_task
def erase_what_is_due() -> None:
    erasing.erase_due()
