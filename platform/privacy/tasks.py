from celery import shared_task

from privacy import erasing


@shared_task
def erase_what_is_due() -> None:
    erasing.erase_due()
