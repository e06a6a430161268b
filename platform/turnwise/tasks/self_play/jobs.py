from celery import shared_task
from django.utils import timezone

from turnwise.live.locks import SELF_PLAY
from turnwise.live.slices import Slices
from turnwise.studies.models import Study
from turnwise.tasks.self_play import playing, services
from turnwise.tasks.self_play.models import SelfPlayPlan

_SLICES = Slices("self_play", SELF_PLAY)


@shared_task
def play(plan_id: int) -> None:
    """A slice of a study; others get their turn before the next one."""
    _SLICES.arrived(plan_id)
    if playing.play_slice(plan_id):
        send(plan_id)


def send(plan_id: int) -> bool:
    """Have a worker go on with the study; False if one was told so already."""
    return _SLICES.send(plan_id, play)


def take_up() -> None:
    """Send the studies whose process has died."""
    at_work = SelfPlayPlan.objects.filter(study__state=Study.State.OPEN)
    for plan_id in at_work.values_list("pk", flat=True):
        if _SLICES.send_if_left(plan_id, play):
            services.taken_up(plan_id, now=timezone.now())
