from celery import shared_task

from turnwise.trash import services


@shared_task
def forget_old_deletions() -> None:
    services.forget_old()
