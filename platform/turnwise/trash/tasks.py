"""Background job of soft deletions."""

from celery import shared_task

from turnwise.trash import soft_delete


@shared_task
def forget_old_deletions() -> None:
    soft_delete.purge_expired()
