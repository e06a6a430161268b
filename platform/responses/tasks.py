from celery import shared_task
from django.core.cache import cache
from django.utils import timezone

from responses import answering, services
from responses.locks import RUNS, is_worked_on
from responses.models import ResponseRun, Source

# A message is on its way for at most so long; then it is taken for lost and sent again.
LOST_AFTER_SECONDS = 60


@shared_task
def answer(run_id: int) -> None:
    """A slice of a run; others get their turn before the next one."""
    cache.delete(_on_its_way(run_id))
    if answering.answer_slice(run_id):
        send(run_id)


@shared_task
def take_up_runs() -> None:
    """Send the runs that nobody works on and no message is under way for: their process has died."""
    at_work = ResponseRun.objects.filter(state__in=services.AT_WORK, source=Source.BOT)
    for run_id in at_work.values_list("pk", flat=True):
        if not is_worked_on(RUNS, run_id) and send(run_id):
            services.taken_up(run_id, now=timezone.now())


def send(run_id: int) -> bool:
    """Have a worker go on with the run; False if one was told so already."""
    if not cache.add(_on_its_way(run_id), True, timeout=LOST_AFTER_SECONDS):
        return False
    answer.delay(run_id)
    return True


def _on_its_way(run_id: int) -> str:
    return f"responses.run.{run_id}.on_its_way"
