from celery import shared_task

from turnwise.judging import agreement


@shared_task
def work_out_agreement(ask_id: int) -> None:
    agreement.work_out(ask_id)
