"""Simulated workers who write responses, revise some, and try texts that the server must refuse."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import count
from typing import Any

from django.db.models import Count
from typing_extensions import override

from turnwise.crowd.models import Assignment, Outcome
from turnwise.rehearsals.findings import Finding
from turnwise.rehearsals.injected_effects import Kind, mix
from turnwise.rehearsals.rehearsed_task import (
    FEWEST_WORKERS,
    Crowd,
    UnrehearsableError,
    WorkerProfile,
    worker_profiles,
)
from turnwise.rehearsals.services import copy_study
from turnwise.rehearsals.simulated_answers import ASSISTANT_TEXT, response_text
from turnwise.rehearsals.simulated_worker import Conversation, MismatchError
from turnwise.rehearsals.simulation import SimulatedWorker, Work
from turnwise.responses.models import Response
from turnwise.responses.queries import counted_responses
from turnwise.studies.models import Study
from turnwise.tasks.writing.models import WritingPlan

FEWEST, MOST_BY_ITSELF = 10, 200
"""Least and most simulated workers, unless the user chooses a number."""
LEAST_SHARE = 2
"""Fewest responses of a worker: with less, they could neither leave halfway nor repeat themselves."""
# A worker with two tabs changes every third response in the other tab.
CHANGED_EVERY = 3
COPY, TWICE, ASSISTANT = "copies of what was said", "repetitions of oneself", "phrases of assistant programs"


@dataclass
class UnfitAttempts:
    """Unfit texts by kind: how often they were sent, and how often they were refused."""

    sent: Counter[str] = field(default_factory=Counter)
    refused: Counter[str] = field(default_factory=Counter)


@dataclass
class Writer(SimulatedWorker):
    """A worker who writes responses to contexts.

    Attributes:
        share: number of responses for each worker.
        tried: counter of unfit texts, shared by all workers.
    """

    says_when_leaving = True
    may_come_in_vain = True

    share: int = field(kw_only=True)
    tried: UnfitAttempts = field(kw_only=True)

    @override
    async def do_work(self, tabs: list[Conversation], settings: dict[str, Any], done: Work) -> str:
        states = [await tab.receive("state") for tab in tabs]
        waiting, done.work_id = states[0]["items"], settings["name"]
        thanks = ""
        while not thanks:
            while waiting:
                if self.kind is Kind.LEAVING and len(done.texts) >= max(1, self.share // 2):
                    return ""
                tab = tabs[len(done.texts) % len(tabs)]
                waiting = await self._answer(tab, waiting[0], done)
                if len(tabs) > 1 and len(done.texts) % CHANGED_EVERY == 0:
                    await self._change(tabs[len(done.texts) % len(tabs)], done)
            thanks, waiting = await self._finish(tabs[0])
        return thanks

    async def _answer(self, tab: Conversation, item: dict[str, Any], done: Work) -> list[dict[str, Any]]:
        """Respond to a context; returns the worker's next items."""
        if self.kind is Kind.CARELESS:
            await self._try(tab, item["key"], item["turns"][-1], COPY)
            for text in list(done.texts.values())[-1:]:
                await self._try(tab, item["key"], text, TWICE)
        elif self.kind is Kind.STRAIGHT_LINING:
            await self._try(tab, item["key"], ASSISTANT_TEXT, ASSISTANT)
        return await self._write(tab, item["key"], response_text(self.number, len(done.texts)), done)

    async def _write(self, tab: Conversation, key: str, text: str, done: Work) -> list[dict[str, Any]]:
        written = await tab.exchange("written", type="write", item=key, text=text)
        done.texts[key] = text
        items: list[dict[str, Any]] = written["items"]
        return items

    async def _change(self, tab: Conversation, done: Work) -> None:
        """Revise the latest response."""
        key, text = list(done.texts.items())[-1]
        await self._write(tab, key, f"{text} That is what I think.", done)

    async def _try(self, tab: Conversation, key: str, text: str, what: str) -> None:
        await tab.send(type="write", item=key, text=text)
        self.tried.sent[what] += 1
        frame = await tab.receive("written", "refused")
        self.tried.refused[what] += frame["type"] == "refused" and frame["reason"] == "unfit"

    async def _finish(self, tab: Conversation) -> tuple[str, list[dict[str, Any]]]:
        """Finish the work; returns the next page, or items that a leaving worker has just returned."""
        await tab.send(type="finish")
        is_refused = False
        while not (frame := await tab.receive("state", "refused")).get("finished"):
            if frame["type"] == "refused" and frame["reason"] != "unwritten":
                raise MismatchError(f"The server answered with {frame}.")
            if frame.get("items"):
                return "", frame["items"]
            if is_refused:  # the obstacle is gone: the server restarted, or another worker took the item
                await tab.send(type="finish")
            is_refused = frame["type"] == "refused"
        return frame["finished"], []


def enough_workers(study: Study) -> int:
    """Number of workers who reach the target of responses, within the limits."""
    plan = WritingPlan.objects.select_related("context_version").filter(study=study).first()
    if plan is None:
        return FEWEST_WORKERS
    wanted = next(
        (more for more in range(FEWEST, MOST_BY_ITSELF, 10) if _certain_responses(plan, more) >= plan.target),
        MOST_BY_ITSELF,
    )
    return wanted


def copy_with_contexts(study: Study, workers: int) -> Study:
    """Copy the study so that these workers reach the target of responses, or come as close as they can."""
    plan = WritingPlan.objects.select_related("context_version").get(study=study)
    stay, wanted = _staying(workers), plan.responses_per_context
    if stay < wanted:
        enough = next(more for more in count(workers) if _staying(more) >= wanted)
        raise UnrehearsableError(
            f"Each context wants {wanted} responses by different people, and only {stay} of {workers} "
            f"simulated workers stay to the end. Use --workers {enough} or more."
        )
    even = -(-plan.target // max(1, stay - len(_late(workers))))
    copy = copy_study(study, {})
    WritingPlan.objects.create(
        study=copy,
        context_version=plan.context_version,
        responses_per_context=plan.responses_per_context,
        batch_size=min(plan.batch_size, plan.context_version.size, max(LEAST_SHARE, even)),
    )
    return copy


def _staying(workers: int) -> int:
    return sum(kind is not Kind.LEAVING for kind in mix(workers))


def _certain_responses(plan: WritingPlan, workers: int) -> int:
    """Responses that this many workers certainly write, without leaving and late ones."""
    return (_staying(workers) - len(_late(workers))) * min(plan.batch_size, plan.context_version.size)


def _late(workers: int) -> set[int]:
    """Numbers of the workers who start last: as many as those who leave, and one more."""
    stay = [number for number, kind in enumerate(mix(workers)) if kind is not Kind.LEAVING]
    leave = workers - len(stay)
    return set(stay[-(leave + 1) :]) if leave and len(stay) > leave + 1 else set()


def writing_crowd(rehearsal: Study, server: str, workers: int) -> Crowd:
    sat, late, tried = worker_profiles(workers, [""]), _late(workers), UnfitAttempts()
    plan, link = rehearsal.writing, rehearsal.get_entry_url()

    def worker(number: int, seat: WorkerProfile) -> SimulatedWorker:
        return Writer(number, seat.kind, server, link, share=plan.batch_size, tried=tried)

    return Crowd(None, sat, late, worker, further_findings=partial(findings, rehearsal, tried))


def findings(
    rehearsal: Study, tried: UnfitAttempts, done: Sequence[Work], result: Mapping[str, Any]
) -> list[Finding]:
    """Compare the study's responses with those that its workers wrote."""
    del result
    stored = counted_responses(Response.objects.filter(run__study=rehearsal))
    return [
        _full(rehearsal, done),
        _texts(done, list(stored.values_list("context__key", "text"))),
        _lengths(done, list(stored.values_list("text", flat=True))),
        *(_refused(tried, what) for what in (COPY, TWICE, ASSISTANT) if tried.sent[what]),
        _ends(rehearsal, done),
    ]


def _full(rehearsal: Study, done: Sequence[Work]) -> Finding:
    plan = rehearsal.writing
    responses = counted_responses(Response.objects.filter(run__study=rehearsal))
    of_contexts = responses.values_list("context").annotate(
        n=Count("pk"), people=Count("author", distinct=True)
    )
    counts = [(n, people) for _, n, people in of_contexts.order_by()]
    written, most = sum(n for n, _ in counts), plan.responses_per_context
    wanted = plan.target if _all_come(rehearsal, done) else sum(len(work.texts) for work in done)
    holds = written == wanted and all(n == people <= most for n, people in counts)
    return Finding(
        holds,
        f"The study has {written} responses to {len(counts)} contexts, at most {most} to each, all of these "
        f"by different people; {wanted} were wanted of the workers.",
    )


def _all_come(rehearsal: Study, done: Sequence[Work]) -> bool:
    """True if the workers suffice for the target of responses."""
    return _certain_responses(rehearsal.writing, len(done)) >= rehearsal.writing.target


def _texts(done: Sequence[Work], stored: Sequence[tuple[str, str]]) -> Finding:
    """Check that every response is stored once, in its last version."""
    sent = Counter((key, text) for work in done for key, text in work.texts.items())
    there = Counter(stored)
    return Finding(
        sent == there,
        f"{(sent & there).total()} of {sent.total()} responses are stored as they were sent last, and "
        f"{(there - sent).total()} that were not sent.",
    )


def _lengths(done: Sequence[Work], stored: Sequence[str]) -> Finding:
    sent = [len(text.split()) for work in done for text in work.texts.values()]
    there = [len(text.split()) for text in stored]
    injected, reported = (sum(each) / len(each) if each else 0.0 for each in (sent, there))
    return Finding(
        abs(injected - reported) < 1e-9,
        f"Words of a response: injected {injected:.2f} on average, stored {reported:.2f}.",
    )


def _refused(tried: UnfitAttempts, what: str) -> Finding:
    return Finding(
        tried.sent[what] == tried.refused[what],
        f"Refused {what}: {tried.refused[what]} of {tried.sent[what]} that were sent.",
    )


def _ends(rehearsal: Study, done: Sequence[Work]) -> Finding:
    ends = Counter(Assignment.objects.filter(study=rehearsal).values_list("outcome", flat=True))
    came = [work for work in done if work.texts]
    injected = sum(work.finished for work in came), sum(not work.finished for work in came)
    reported = ends[Outcome.COMPLETE], ends[Outcome.WITHDRAWN]
    return Finding(
        injected == reported and sum(injected) == ends.total(),
        f"The study counts {reported[0]} people who finished and {reported[1]} who left; of the workers it "
        f"was {injected[0]} and {injected[1]}.",
    )
