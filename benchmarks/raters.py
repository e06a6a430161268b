"""Raters for `labelling_queue.py`, in processes of their own.

`python benchmarks/raters.py sockets` reads one job as JSON from standard input: raters on WebSockets judge
in a closed loop or by the clock, and what they saw is printed as JSON. With the arguments
`threads STUDY RATERS PATIENCE` as many threads judge through the service until nothing is left, or until
the process is killed.
"""

import asyncio
import json
import random
import sys
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any

from benchmarks.load import Browser, packed, quantiles

CONNECTING = 20.0
# A rater's answer, and the share of raters who leave their items for good.
WALKS_AWAY = 0.003


class Rater(Browser):
    """A worker's tab: knows the items before it, and judges the first."""

    def __init__(self, path: str, cookie: str) -> None:
        super().__init__(path, cookie)
        self.items: list[str] = []
        self.judged = 0
        self.state: asyncio.Future[None] = asyncio.get_running_loop().create_future()

    def on_frame(self, opcode: int, payload: bytes) -> None:
        if payload.startswith(b'{"type":"state"'):
            self.items = [item["key"] for item in json.loads(payload)["items"]]
            if not self.state.done():
                self.state.set_result(None)
        elif payload.startswith(b'{"type":"judged"') and self.waiter and not self.waiter.done():
            self.items += [item["key"] for item in json.loads(payload)["leased"]]
            self.waiter.set_result(payload)
        else:
            super().on_frame(opcode, payload)

    async def judge(self) -> None:
        answers = {"sensible": True, "specific": random.random() < 0.5}
        frame = {"type": "judge", "item": self.items.pop(0), "answers": answers}
        await asyncio.wait_for(self.exchange(packed(json.dumps(frame).encode())), CONNECTING)


async def judged_in_a_window(job: dict[str, Any]) -> dict[str, Any]:
    loop = asyncio.get_running_loop()
    raters = []
    for path, cookie in job["sockets"]:
        _, rater = await loop.create_connection(partial(Rater, path, cookie), "127.0.0.1", job["port"])
        await asyncio.wait_for(rater.state, CONNECTING)
        raters.append(rater)
    begin = time.monotonic() + job["warm_up"]
    end = begin + job["seconds"]
    took: list[float] = []
    errors: Counter[str] = Counter()

    async def work(rater: Rater, due: float) -> None:
        """By the clock, a late start counts as waiting; without one, the next follows at once."""
        while rater.items and (began := due if every else time.monotonic()) < end:
            await asyncio.sleep(began - time.monotonic())
            try:
                await rater.judge()
            except (ConnectionError, TimeoutError) as error:
                errors[str(error) or "no answer"] += 1
                return
            rater.judged += 1
            if begin <= time.monotonic() < end:
                took.append(time.monotonic() - began)
            due += every

    every, now = job["every"], time.monotonic()
    await asyncio.gather(*(work(rater, now + every * n / len(raters)) for n, rater in enumerate(raters)))
    idle = sum(not rater.items for rater in raters)
    return {
        "judged": len(took),
        "with_warm_up": sum(rater.judged for rater in raters),
        "ms": quantiles(took),
        "errors": dict(errors),
        "raters_without_items": idle,
    }


def judge_through_the_service(study_id: int, raters: int, patience: float) -> None:
    import django

    django.setup()
    with ThreadPoolExecutor(raters) as threads:
        for run in [threads.submit(_rate, study_id, patience) for _ in range(raters)]:
            run.result()


def _rate(study_id: int, patience: float) -> None:
    """One worker after the other sits down, until nobody has found anything for a while."""
    from turnwise.crowd.refusals import EntryRefusedError

    last = time.monotonic()
    while time.monotonic() - last < patience:
        try:
            _one_worker(study_id)
            last = time.monotonic()
        except EntryRefusedError:  # nothing is free now; abandoned items come back
            time.sleep(0.2)


def _one_worker(study_id: int) -> None:
    from uuid import UUID

    from turnwise.crowd.entry.enrolment import consent
    from turnwise.judging.queue import services as judging
    from turnwise.live.frames import RefusedError
    from turnwise.studies.models import Study

    study = Study.objects.get(pk=study_id)
    version = study.consent_versions.last()
    assert version
    participation = consent(study, version, known=None, arrival=None)
    batch = judging.begin(participation, language="en")
    desk = judging.get_rater_session(batch.public_id, batch.worker_id)
    keys = [item["key"] for item in judging.state(desk)["items"]]
    while keys and random.random() > WALKS_AWAY:
        try:
            judged = judging.judge(desk, key=UUID(keys.pop(0)), answers={"sensible": False})
            keys += [item["key"] for item in judged.leased]
        except RefusedError:
            keys = [item["key"] for item in judging.state(desk)["items"]]


if __name__ == "__main__":
    if sys.argv[1] == "sockets":
        job = json.loads(sys.stdin.read())
        print(json.dumps(asyncio.run(judged_in_a_window(job))))
    else:
        judge_through_the_service(int(sys.argv[2]), int(sys.argv[3]), float(sys.argv[4]))
