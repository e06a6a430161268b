"""A rehearsal from its first worker to its last finding."""

import asyncio
import time
from collections.abc import Callable, Sequence

from channels.db import database_sync_to_async
from websockets.exceptions import WebSocketException

from crowd import services as crowd
from dialogues.models import Dialogue, Participant
from evaluation.questions import question_set
from reports import services as reports
from reports.models import Report
from reports.queries import bot_names, newest_result
from reports.rehearsal.findings import Outcome, agreement_in_words, findings
from reports.rehearsal.planted import HONEST, Kind, Plan, mix
from reports.rehearsal.simulated import SimulatedWorker, Work
from reports.rehearsal.worker import MismatchError
from studies.models import Study
from studies.services import set_state

REPORT_SECONDS = 600.0
Say = Callable[[str], None]


def run(rehearsal: Study, *, server: str, workers: int, at_once: int, say: Say) -> Outcome:
    """Send the workers, close the rehearsal, compute its report and compare.

    Raises:
        MismatchError, PageError: a worker was refused what they should have got.
    """
    bots = list(rehearsal.study_bots.select_related("bot").order_by("bot__name"))
    plan = Plan(question_set(rehearsal.question_set), [each.bot.name for each in bots])
    try:
        done = asyncio.run(_everybody(rehearsal, plan, server, workers, at_once, say))
    finally:
        set_state(rehearsal.pk, Study.State.CLOSED)  # nobody else comes in by mistake
    _set_aside(rehearsal, done)
    say("Computing the report.")
    report = _reported(rehearsal)
    assert report.result is not None
    titles = bot_names(rehearsal)
    names = {each.bot.name: titles[each.bot_id] for each in bots}
    return Outcome(findings(plan, done, report.result, names), agreement_in_words(report.result))


async def _everybody(
    rehearsal: Study, plan: Plan, server: str, workers: int, at_once: int, say: Say
) -> list[Work]:
    seats = asyncio.Semaphore(at_once)
    replies = ((rehearsal.min_turns + 1) // 2, rehearsal.max_turns // 2)
    done: list[Work] = []

    async def seated(number: int, kind: Kind) -> None:
        worker = SimulatedWorker(number, kind, server, rehearsal.get_entry_url(), replies)
        async with seats:
            try:
                work = await worker.work(_bot_of, plan.deal)
            except MismatchError as error:
                raise MismatchError(f"Worker {number + 1} ({kind}): {error}") from error
            except (WebSocketException, OSError) as error:  # a timeout is an OSError, too
                raise MismatchError(f"Worker {number + 1} ({kind}) lost the server: {error!r}") from error
        if work.finished:
            plan.note(work.bot, kind, work.labels)
        done.append(work)
        say(f"{len(done)} of {workers} workers are done.")

    async with asyncio.TaskGroup() as group:
        for number, kind in enumerate(mix(workers)):
            group.create_task(seated(number, kind))
    return done


@database_sync_to_async
def _bot_of(dialogue: str) -> str:
    seats = Participant.objects.filter(dialogue__public_id=dialogue, bot__isnull=False)
    return str(seats.values_list("bot__name", flat=True).get())


def _set_aside(rehearsal: Study, done: Sequence[Work]) -> None:
    """As an admin would who has seen through them."""
    suspects = {work.dialogue: work.kind for work in done if work.finished and work.kind not in HONEST}
    for dialogue in Dialogue.objects.filter(public_id__in=suspects).select_related("assignment"):
        assert dialogue.assignment
        reason = f"Rehearsal: {suspects[str(dialogue.public_id)]}"
        crowd.set_aside(dialogue.assignment.participation_id, reason=reason, by=rehearsal.owner)


def _reported(rehearsal: Study) -> Report:
    """The report of all that happened, computed here unless a job is already at it."""
    rehearsal.refresh_from_db()
    deadline = time.monotonic() + REPORT_SECONDS
    while time.monotonic() < deadline:
        reports.build_report(reports.queue_report(rehearsal).pk)
        newest = newest_result(rehearsal)
        if newest and newest.results_version >= rehearsal.results_version:
            return newest
        failed = rehearsal.reports.first()
        if failed and failed.state == Report.State.FAILED:
            raise MismatchError(f"The report of the rehearsal failed: {failed.reason}")
        time.sleep(0.5)
    raise MismatchError(f"No report of the rehearsal after {REPORT_SECONDS:.0f} s.")
