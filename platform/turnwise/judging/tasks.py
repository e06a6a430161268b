from datetime import datetime
from functools import partial

from celery import shared_task

from turnwise.judging.readers import reader_comparison
from turnwise.live.jobs import NOT_STARTED, is_sent
from turnwise.studies.models import Ask


@shared_task
def work_out_agreement(ask_id: int) -> None:
    reader_comparison.run_comparison(ask_id)


def start_comparison(ask: Ask, *, now: datetime) -> None:
    """Request the comparison and send its job, if one is needed; a job that cannot be sent has failed."""
    is_wanted = reader_comparison.request_comparison(ask, now=now)
    if is_wanted and not is_sent(partial(work_out_agreement.delay, ask.pk)):
        reader_comparison.mark_failed(ask.pk, str(NOT_STARTED))
