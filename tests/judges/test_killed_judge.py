"""The process that asks a judge is killed halfway, and another goes on.

The suite has 300 items; TURNWISE_JUDGED_ITEMS=10000 runs it with as many.
"""

import os
from collections.abc import Callable

import pytest

from tests.judges.conftest import GOOD, MakeStudyOfTwo
from tests.responses.test_killed_worker import Worker, start_worker, wait_until
from turnwise.bots.models import Bot
from turnwise.judges import services, tasks
from turnwise.judges.models import JudgeRun
from turnwise.judging.models import Item

pytestmark = pytest.mark.django_db(transaction=True)

__all__ = ["start_worker"]

ITEMS = int(os.environ.get("TURNWISE_JUDGED_ITEMS", "300"))
CONTEXTS = ITEMS // 2
SECONDS = max(120, ITEMS // 10)


def test_a_run_whose_worker_is_killed_loses_and_doubles_nothing(
    make_items: MakeStudyOfTwo, make_judge: Callable[..., Bot], start_worker: Callable[[], Worker]
) -> None:
    study = make_items(CONTEXTS)
    asked: list[str] = []

    def answer(text: str) -> str:
        asked.append(text)
        return GOOD

    run = services.start(study.asks.get(number=0), make_judge(answer), draws=1, by=study.owner)
    first = start_worker()
    tasks.send(run.pk)
    wait_until(lambda: run.labels.count() >= ITEMS // 6, SECONDS)

    first.kill()
    first.wait(120)
    kept = dict(run.labels.values_list("pk", "at"))
    assert 0 < len(kept) < 2 * CONTEXTS
    start_worker()
    tasks.take_up_judge_runs()  # the timer does this every few seconds
    wait_until(lambda: JudgeRun.objects.get(pk=run.pk).state == JudgeRun.State.DONE, SECONDS)

    labelled = list(run.labels.values_list("item", "draw"))
    assert sorted(labelled) == [(pk, 1) for pk in sorted(Item.objects.values_list("pk", flat=True))]
    assert dict(run.labels.filter(pk__in=kept).values_list("pk", "at")) == kept
    assert set(run.labels.values_list("outcome", flat=True)) == {"answered"}
