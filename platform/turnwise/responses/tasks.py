from collections.abc import Iterable

from celery import shared_task
from django.utils import timezone

from turnwise.live.locks import RUNS
from turnwise.live.slices import Slices
from turnwise.responses import answering, services
from turnwise.responses.models import ResponseRun, Source

_SLICES = Slices("responses.run", RUNS)


@shared_task
def answer(run_id: int) -> None:
    """A slice of a run; others get their turn before the next one."""
    _SLICES.arrived(run_id)
    if answering.answer_slice(run_id):
        send(run_id)


@shared_task
def take_up_runs() -> None:
    """Send the runs whose process has died."""
    at_work = ResponseRun.objects.filter(state__in=services.AT_WORK, source=Source.BOT)
    for run_id in at_work.values_list("pk", flat=True):
        if _SLICES.send_if_left(run_id, answer):
            services.taken_up(run_id, now=timezone.now())


def send(run_id: int) -> bool:
    """Have a worker go on with the run; False if one was told so already."""
    return _SLICES.send(run_id, answer)


def send_all(runs: Iterable[ResponseRun]) -> None:
    for run in runs:
        send(run.pk)
