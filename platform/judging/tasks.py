from celery import shared_task

from judging import agreement


@shared_task
def work_out_agreement(study_id: int) -> None:
    agreement.work_out(study_id)
