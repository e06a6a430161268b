"""How simulated people write: lengths, second thoughts, and what the platform must not take from them."""

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
from turnwise.rehearsals.rehearsed_task import FEWEST_WORKERS, Crowd, Seat, UnrehearsableError, seats
from turnwise.rehearsals.services import copied
from turnwise.rehearsals.simulated_answers import MACHINE, response
from turnwise.rehearsals.simulated_worker import Conversation, MismatchError
from turnwise.rehearsals.simulation import SimulatedWorker, Work
from turnwise.responses.models import Response
from turnwise.responses.queries import that_count
from turnwise.studies.models import Study
from turnwise.tasks.writing.models import WritingPlan

FEWEST, MOST_BY_ITSELF = 10, 200
"""So many simulated people come at least and at most unless somebody asks for others."""
LEAST_SHARE = 2
"""Who writes less can neither leave halfway nor repeat themselves."""
# Every so many responses of somebody with two tabs are changed in the other one.
CHANGED_EVERY = 3
COPY, TWICE, ASSISTANT = "copies of what was said", "repetitions of oneself", "phrases of assistant programs"


@dataclass
class Tried:
    """What should not be taken from people: how often it was sent, and how often it was refused."""

    sent: Counter[str] = field(default_factory=Counter)
    refused: Counter[str] = field(default_factory=Counter)


@dataclass
class Writer(SimulatedWorker):
    """Somebody who answers contexts.

    Attributes:
        share: how many responses a worker of the study writes.
        tried: where what is not to be taken is counted.
    """

    says_when_leaving = True
    may_come_in_vain = True

    share: int = field(kw_only=True)
    tried: Tried = field(kw_only=True)

    @override
    async def walk(self, tabs: list[Conversation], settings: dict[str, Any], done: Work) -> str:
        states = [await tab.heard("state") for tab in tabs]
        waiting, done.given = states[0]["items"], settings["name"]
        thanks = ""
        while not thanks:
            while waiting:
                if self.kind is Kind.LEAVING and len(done.said) >= max(1, self.share // 2):
                    return ""
                tab = tabs[len(done.said) % len(tabs)]
                waiting = await self._answer(tab, waiting[0], done)
                if len(tabs) > 1 and len(done.said) % CHANGED_EVERY == 0:
                    await self._change(tabs[len(done.said) % len(tabs)], done)
            thanks, waiting = await self._finish(tabs[0])
        return thanks

    async def _answer(self, tab: Conversation, item: dict[str, Any], done: Work) -> list[dict[str, Any]]:
        """Answer a context; what is before this worker then."""
        if self.kind is Kind.CARELESS:
            await self._try(tab, item["key"], item["turns"][-1], COPY)
            for text in list(done.said.values())[-1:]:
                await self._try(tab, item["key"], text, TWICE)
        elif self.kind is Kind.STRAIGHT_LINING:
            await self._try(tab, item["key"], MACHINE, ASSISTANT)
        return await self._write(tab, item["key"], response(self.number, len(done.said)), done)

    async def _write(self, tab: Conversation, key: str, text: str, done: Work) -> list[dict[str, Any]]:
        written = await tab.exchange("written", type="write", item=key, text=text)
        done.said[key] = text
        items: list[dict[str, Any]] = written["items"]
        return items

    async def _change(self, tab: Conversation, done: Work) -> None:
        """Have second thoughts about what was written last."""
        key, text = list(done.said.items())[-1]
        await self._write(tab, key, f"{text} That is what I think.", done)

    async def _try(self, tab: Conversation, key: str, text: str, what: str) -> None:
        await tab.send(type="write", item=key, text=text)
        self.tried.sent[what] += 1
        heard = await tab.heard("written", "refused")
        self.tried.refused[what] += heard["type"] == "refused" and heard["reason"] == "unfit"

    async def _finish(self, tab: Conversation) -> tuple[str, list[dict[str, Any]]]:
        """Where it leads when the work is over; or what somebody who left gave back in this moment."""
        await tab.send(type="finish")
        is_refused = False
        while not (heard := await tab.heard("state", "refused")).get("finished"):
            if heard["type"] == "refused" and heard["reason"] != "unwritten":
                raise MismatchError(f"The server answered with {heard}.")
            if heard.get("items"):
                return "", heard["items"]
            if is_refused:  # what stood in the way is gone: with the server that died, or to somebody else
                await tab.send(type="finish")
            is_refused = heard["type"] == "refused"
        return heard["finished"], []


def enough_workers(study: Study) -> int:
    """As many as write all that is wanted, as far as that is not too many."""
    plan = WritingPlan.objects.select_related("context_version").filter(study=study).first()
    if plan is None:
        return FEWEST_WORKERS
    wanted = next(
        (more for more in range(FEWEST, MOST_BY_ITSELF, 10) if _room(plan, more) >= plan.wanted),
        MOST_BY_ITSELF,
    )
    return wanted


def with_contexts(study: Study, workers: int) -> Study:
    """A copy in which these workers write all that is wanted, or as much of it as they can."""
    plan = WritingPlan.objects.select_related("context_version").get(study=study)
    stay, wanted = _staying(workers), plan.responses_per_context
    if stay < wanted:
        enough = next(more for more in count(workers) if _staying(more) >= wanted)
        raise UnrehearsableError(
            f"Each context wants {wanted} responses by different people, and only {stay} of {workers} "
            f"simulated workers stay to the end. Use --workers {enough} or more."
        )
    even = -(-plan.wanted // max(1, stay - len(_late(workers))))
    copy = copied(study, {})
    WritingPlan.objects.create(
        study=copy,
        context_version=plan.context_version,
        responses_per_context=plan.responses_per_context,
        batch_size=min(plan.batch_size, plan.context_version.size, max(LEAST_SHARE, even)),
    )
    return copy


def _staying(workers: int) -> int:
    return sum(kind is not Kind.LEAVING for kind in mix(workers))


def _room(plan: WritingPlan, workers: int) -> int:
    """How much so many people write for certain: those who leave, and the last ones, not counted."""
    return (_staying(workers) - len(_late(workers))) * min(plan.batch_size, plan.context_version.size)


def _late(workers: int) -> set[int]:
    """Who comes when the others are through: as many as write what those who leave do not, and one more."""
    stay = [number for number, kind in enumerate(mix(workers)) if kind is not Kind.LEAVING]
    leave = workers - len(stay)
    return set(stay[-(leave + 1) :]) if leave and len(stay) > leave + 1 else set()


def writers(rehearsal: Study, server: str, workers: int) -> Crowd:
    sat, late, tried = seats(workers, [""]), _late(workers), Tried()
    plan, link = rehearsal.writing, rehearsal.get_entry_url()

    def worker(number: int, seat: Seat) -> SimulatedWorker:
        return Writer(number, seat.kind, server, link, share=plan.batch_size, tried=tried)

    return Crowd(None, sat, late, worker, also=partial(findings, rehearsal, tried))


def findings(
    rehearsal: Study, tried: Tried, done: Sequence[Work], result: Mapping[str, Any]
) -> list[Finding]:
    """What the study has of what was written, against what its workers wrote."""
    del result
    here = that_count(Response.objects.filter(run__study=rehearsal))
    return [
        _full(rehearsal, done),
        _texts(done, list(here.values_list("context__key", "text"))),
        _lengths(done, list(here.values_list("text", flat=True))),
        *(_refused(tried, what) for what in (COPY, TWICE, ASSISTANT) if tried.sent[what]),
        _ends(rehearsal, done),
    ]


def _full(rehearsal: Study, done: Sequence[Work]) -> Finding:
    plan = rehearsal.writing
    responses = that_count(Response.objects.filter(run__study=rehearsal))
    of_contexts = responses.values_list("context").annotate(
        n=Count("pk"), people=Count("author", distinct=True)
    )
    counts = [(n, people) for _, n, people in of_contexts.order_by()]
    written, most = sum(n for n, _ in counts), plan.responses_per_context
    wanted = plan.wanted if _all_come(rehearsal, done) else sum(len(work.said) for work in done)
    holds = written == wanted and all(n == people <= most for n, people in counts)
    return Finding(
        holds,
        f"The study has {written} responses to {len(counts)} contexts, at most {most} to each, all of these "
        f"by different people; {wanted} were wanted of the workers.",
    )


def _all_come(rehearsal: Study, done: Sequence[Work]) -> bool:
    """Whether so many people write all that is wanted."""
    return _room(rehearsal.writing, len(done)) >= rehearsal.writing.wanted


def _texts(done: Sequence[Work], stored: Sequence[tuple[str, str]]) -> Finding:
    """Nothing is lost, nothing is there twice, and of what was changed the last stays."""
    sent = Counter((key, text) for work in done for key, text in work.said.items())
    there = Counter(stored)
    return Finding(
        sent == there,
        f"{(sent & there).total()} of {sent.total()} responses are stored as they were sent last, and "
        f"{(there - sent).total()} that were not sent.",
    )


def _lengths(done: Sequence[Work], stored: Sequence[str]) -> Finding:
    sent = [len(text.split()) for work in done for text in work.said.values()]
    there = [len(text.split()) for text in stored]
    planted, reported = (sum(each) / len(each) if each else 0.0 for each in (sent, there))
    return Finding(
        abs(planted - reported) < 1e-9,
        f"Words of a response: planted {planted:.2f} on average, stored {reported:.2f}.",
    )


def _refused(tried: Tried, what: str) -> Finding:
    return Finding(
        tried.sent[what] == tried.refused[what],
        f"Refused {what}: {tried.refused[what]} of {tried.sent[what]} that were sent.",
    )


def _ends(rehearsal: Study, done: Sequence[Work]) -> Finding:
    ends = Counter(Assignment.objects.filter(study=rehearsal).values_list("outcome", flat=True))
    came = [work for work in done if work.said]
    planted = sum(work.finished for work in came), sum(not work.finished for work in came)
    reported = ends[Outcome.COMPLETE], ends[Outcome.WITHDRAWN]
    return Finding(
        planted == reported and sum(planted) == ends.total(),
        f"The study counts {reported[0]} people who finished and {reported[1]} who left; of the workers it "
        f"was {planted[0]} and {planted[1]}.",
    )
