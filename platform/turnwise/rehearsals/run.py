"""A rehearsal from its first worker to its last finding.

Rehearsals that are started with a button, and what is told of them meanwhile.
"""

import asyncio
import re
import time
from collections import Counter
from collections.abc import Callable, Coroutine, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from datetime import timedelta
from typing import Any

from channels.db import database_sync_to_async
from django.core.exceptions import ValidationError
from django.db import connections, transaction
from django.db.models import Max
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from evaluation.statistics.interval import Undefined
from turnwise.accounts.models import User
from turnwise.crowd.models import Participation
from turnwise.crowd.places import ending
from turnwise.judging.models import Slot
from turnwise.live.jobs import REHEARSALS, is_worked_on, only_here, why_ended
from turnwise.rehearsals.expected_results import foreseen
from turnwise.rehearsals.findings import Outcome, allowed, findings_of_all
from turnwise.rehearsals.injected_effects import HONEST, Plan
from turnwise.rehearsals.models import Attempt
from turnwise.rehearsals.people_findings import findings_about
from turnwise.rehearsals.rehearsed_task import Crowd, RehearsedTask, share
from turnwise.rehearsals.services import keep
from turnwise.rehearsals.simulated_worker import LOST, MismatchError, People
from turnwise.rehearsals.simulation import Work
from turnwise.reports import services as reports
from turnwise.reports.descriptions import said_of_themselves, sets_about_people
from turnwise.reports.models import Report
from turnwise.reports.queries import newest_result
from turnwise.reports.report_kinds import TaskWithReport
from turnwise.studies.models import Study
from turnwise.studies.services import set_state
from turnwise.studies.tasks import task_of

REPORT_SECONDS = 600.0
Say = Callable[[str], None]


def run(rehearsal: Study, *, server: str, workers: int, at_once: int, say: Say) -> Outcome:
    """Send the workers, close the rehearsal, compute its report, compare, and keep what was found.

    Raises:
        MismatchError, PageError: a worker was refused what they should have got.
    """
    task = task_of(rehearsal)
    assert isinstance(task, RehearsedTask)
    crowd, people = task.crowd(rehearsal, server, workers), People.asked(sets_about_people(rehearsal))
    if crowd.plan and not crowd.plan.alone:
        say(_foreseen(crowd, crowd.plan))
    try:
        # Who are to meet have to be there at the same time.
        done = asyncio.run(_everybody(rehearsal, crowd, people, max(at_once, task.together), say))
    finally:
        set_state(rehearsal.pk, Study.State.CLOSED)  # nobody else comes in by mistake
    _exclude(rehearsal, done)
    result = _said(rehearsal, say)
    found = findings_of_all(crowd.plan, crowd.beside, done, result) if crowd.plan else []
    if crowd.also:
        found += crowd.also(done, result)
    found += findings_about(people, result)
    outcome = Outcome(allowed(found), crowd.plan, crowd.more)
    keep(rehearsal, outcome)
    return outcome


def _said(rehearsal: Study, say: Say) -> Mapping[str, Any]:
    """What the report says; where there is none, what its page says people said of themselves."""
    if not isinstance(task_of(rehearsal), TaskWithReport):
        return {"people": said_of_themselves(rehearsal)}
    say("Computing the report.")
    result: Mapping[str, Any] | None = _reported(rehearsal).result
    assert result is not None
    return result


def _foreseen(crowd: Crowd, plan: Plan) -> str:
    kinds = Counter(seat.kind for seat in crowd.seats)
    all_of_them = sum(share(kind) * come for kind, come in kinds.items())
    shares = {kind: share(kind) * come / all_of_them for kind, come in kinds.items()}
    each = [
        f"{alpha:.2f} for “{' '.join(filter(None, (plan.questions.question(key).wording, choice)))}”"
        for (key, choice), alpha in foreseen(plan, shares, crowd.raters).items()
        if not isinstance(alpha, Undefined)
    ]
    if not each:
        return "No alpha is planted: every item has one rater."
    return (
        f"Planted alpha, if workers of all kinds judge every item alike: {', '.join(each)}. "
        "The findings say it for the workers whom each item in fact got."
    )


async def _everybody(rehearsal: Study, crowd: Crowd, people: People, at_once: int, say: Say) -> list[Work]:
    room = asyncio.Semaphore(at_once)
    everybody, began = set(range(len(crowd.seats))), time.monotonic()
    done: list[Work] = []

    async def took_part(number: int) -> None:
        kind = crowd.seats[number].kind
        worker = crowd.worker(number, crowd.seats[number])
        worker.people = people
        async with room:
            try:
                work = await worker.work()
            except MismatchError as error:
                raise MismatchError(f"Worker {number + 1} ({kind}): {error}") from error
            except LOST as error:
                raise MismatchError(f"Worker {number + 1} ({kind}) lost the server: {error!r}") from error
        _record(crowd, work)
        done.append(work)
        say(f"{len(done)} of {len(everybody)} workers are done.")

    await _together(took_part, everybody - crowd.late)
    if crowd.late:
        began += await _leases_over(rehearsal, say)
        if crowd.why_late:
            say(crowd.why_late)
        await _together(took_part, crowd.late)
    _sum_up(done, time.monotonic() - began, say)
    return done


def _record(crowd: Crowd, work: Work) -> None:
    """Note what the report must count: a conversation once it is finished, a judgment at once."""
    if crowd.plan and (work.finished or not crowd.plan.alone):
        for plan, labels in zip((crowd.plan, *crowd.beside), (work.labels, *work.beside), strict=False):
            for thing, answers in labels.items():
                plan.note(thing, work.kind, answers)


def _sum_up(done: Sequence[Work], seconds: float, say: Say) -> None:
    if given := sum(len(labels) for work in done for labels in (work.labels, *work.beside)):
        say(f"They gave {given} labels in {seconds:.1f}\u00a0s of work, {given / seconds:.0f} a second.")
    if idle := sum(not (work.given or work.waited_in_vain) for work in done):
        say(f"{idle} of them came when nothing was left to do.")


async def _together(come: Callable[[int], Coroutine[Any, Any, None]], numbers: set[int]) -> None:
    async with asyncio.TaskGroup() as group:
        for number in sorted(numbers):
            group.create_task(come(number))


async def _leases_over(rehearsal: Study, say: Say) -> float:
    """Wait until the items that those who left have before them are free for others; for how many seconds."""

    @database_sync_to_async
    def last() -> float:
        held = Slot.objects.filter(study=rehearsal, label=None, leased_until__gt=timezone.now())
        until = held.aggregate(until=Max("leased_until"))["until"]
        return (until - timezone.now()).total_seconds() if until else 0.0

    seconds = await last()
    if seconds > 0:
        say(f"Waiting {seconds:.0f}\u00a0s until what those who left had before them is free for others.")
        await asyncio.sleep(seconds)
    return max(0.0, seconds)


def _exclude(rehearsal: Study, done: Sequence[Work]) -> None:
    """As an admin would who has seen through them."""
    suspects = {work.code: work.kind for work in done if work.finished and work.kind not in HONEST}
    of_them = Participation.objects.filter(study=rehearsal, resume_code__in=suspects)
    for pk, code in of_them.values_list("pk", "resume_code"):
        ending.exclude(pk, reason=f"Rehearsal: {suspects[code]}", by=rehearsal.owner)


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
    raise MismatchError(f"No report of the rehearsal after {REPORT_SECONDS:.0f}\u00a0s.")


MOST_WORKERS = 500
# Of all studies together: each has a web server of its own and keeps bots busy.
MOST_AT_ONCE = 2
# A process that has not begun, or said anything, for so long is looked after.
PATIENCE = timedelta(minutes=2)
_DONE = re.compile(r"(\d+) of \d+ workers are done")


@transaction.atomic
def begin(study: Study, workers: int, *, by: User) -> Attempt:
    """Note that a rehearsal is wanted; `turnwise.rehearsals.tasks` sends it on its way.

    Raises:
        ValidationError: it cannot be rehearsed, or not now; says why and what to do.
    """
    if study.rehearsal_of_id or not isinstance(task_of(study), RehearsedTask):
        raise ValidationError(_("Nobody takes part in this study, so there is nothing to rehearse."))
    if missing := task_of(study).why_not_open(study):
        raise ValidationError(missing)
    if not 1 <= workers <= MOST_WORKERS:
        raise ValidationError(
            _("%(workers)s simulated workers cannot come. Use a number from 1 to %(most)s.")
            % {"workers": workers, "most": MOST_WORKERS}
        )
    under_way = [each for each in Attempt.objects.select_for_update() if look_after(each).is_under_way]
    if any(each.study_id == study.pk for each in under_way):
        raise ValidationError(_("This study is already being rehearsed. Wait until that is over."))
    if len(under_way) >= MOST_AT_ONCE:
        said = ngettext(
            "%(n)s rehearsal is in progress. Start this one once it is over.",
            "%(n)s rehearsals are in progress. Start this one once one of them is over.",
            len(under_way),
        )
        raise ValidationError(said % {"n": len(under_way)})
    now = timezone.now()
    fresh = {"workers": workers, "by": by, "state": Attempt.State.QUEUED, "done": 0, "said": "", "reason": ""}
    attempt, _is_new = Attempt.objects.update_or_create(
        study=study, defaults=fresh | {"started_at": now, "told_at": now}
    )
    return attempt


def look_after(attempt: Attempt) -> Attempt:
    """The attempt as it is; one whose process is gone has failed."""
    silent = timezone.now() - attempt.told_at > PATIENCE
    if attempt.is_under_way and silent and not is_worked_on(REHEARSALS, attempt.study_id):
        _fail(attempt, _("Its process ended unexpectedly; the log says why. Rehearse again."))
        attempt.refresh_from_db()
    return attempt


@contextmanager
def noted(study: Study, say: Say) -> Iterator[Say]:
    """Tell what is said inside also to the study's page, and how it ended.

    Raises:
        ValidationError: nobody wants it any more, or another process is at it.
    """
    attempt = Attempt.objects.filter(study=study).first()
    with only_here(REHEARSALS, study.pk) as is_ours:
        if attempt is None or not is_ours or not attempt.is_under_way:
            raise ValidationError(_("“%(title)s” is not waiting for a rehearsal.") % {"title": study.title})

        mine = Attempt.objects.filter(pk=attempt.pk)

        def note(words: str) -> None:
            through = _DONE.match(words)
            # The page says in its own words how many are through.
            news: dict[str, Any] = {"done": int(through[1]), "said": ""} if through else {"said": words}
            mine.update(state=Attempt.State.RUNNING, told_at=timezone.now(), **news)

        def told(words: str) -> None:
            say(words)
            notes.submit(note, words)

        # What is said in the midst of an event loop, too, is written down in order by one thread.
        with ThreadPoolExecutor(1) as notes:
            try:
                yield told
            except BaseException as error:
                notes.submit(_fail, attempt, str(error) or why_ended(error))
                raise
            else:
                notes.submit(mine.update, state=Attempt.State.DONE, told_at=timezone.now())
            finally:
                notes.submit(connections.close_all)


def give_up(study: Study, reason: str) -> None:
    """It cannot be sent on its way."""
    for attempt in Attempt.objects.filter(study=study):
        _fail(attempt, reason)


def _fail(attempt: Attempt, reason: str) -> None:
    Attempt.objects.filter(pk=attempt.pk).update(
        state=Attempt.State.FAILED, reason=reason, told_at=timezone.now()
    )
