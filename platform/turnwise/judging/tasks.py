from celery import shared_task

from turnwise.judging.readers import reader_comparison


@shared_task
def work_out_agreement(ask_id: int) -> None:
    reader_comparison.run_comparison(ask_id)
