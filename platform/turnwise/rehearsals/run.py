"""Run a rehearsal from its first worker to its last finding, and record the progress for its page."""

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
from turnwise.live.jobs import REHEARSALS, describe_failure, exclusive_lock, is_locked
from turnwise.rehearsals.expected_results import forecast_alphas
from turnwise.rehearsals.findings import Outcome, allow_chance_misses, findings_about, findings_for_all_asks
from turnwise.rehearsals.injected_effects import HONEST, Plan
from turnwise.rehearsals.models import Attempt
from turnwise.rehearsals.rehearsed_task import MOST_WORKERS, Crowd, RehearsedTask, batch_share
from turnwise.rehearsals.services import save_outcome
from turnwise.rehearsals.simulated_worker import LOST, MismatchError, SelfReports
from turnwise.rehearsals.simulation import Work
from turnwise.reports import services as reports
from turnwise.reports.descriptions import questionnaire_figures, questionnaire_sets
from turnwise.reports.models import Report
from turnwise.reports.queries import newest_result
from turnwise.reports.report_kinds import TaskWithReport
from turnwise.studies.models import Study
from turnwise.studies.services import set_state
from turnwise.studies.tasks import task_of

REPORT_SECONDS = 600.0
Say = Callable[[str], None]


def run(rehearsal: Study, *, server: str, workers: int, at_once: int, say: Say) -> Outcome:
    """Send the workers, close the rehearsal, compute its report, and store the findings.

    Raises:
        MismatchError, PageError: the server refused a correct step of a worker.
    """
    task = task_of(rehearsal)
    assert isinstance(task, RehearsedTask)
    crowd, people = task.crowd(rehearsal, server, workers), SelfReports.about(questionnaire_sets(rehearsal))
    if crowd.plan and not crowd.plan.alone:
        say(_describe_expected_alphas(crowd, crowd.plan))
    try:
        # Workers who are to meet must be present at the same time.
        done = asyncio.run(_send_workers(rehearsal, crowd, people, max(at_once, task.together), say))
    finally:
        set_state(rehearsal.pk, Study.State.CLOSED)  # no person enters by mistake
    _exclude(rehearsal, done)
    result = _report_result(rehearsal, say)
    found = findings_for_all_asks(crowd.plan, crowd.further_plans, done, result) if crowd.plan else []
    if crowd.further_findings:
        found += crowd.further_findings(done, result)
    found += findings_about(people, result)
    outcome = Outcome(allow_chance_misses(found), crowd.plan, crowd.advice)
    save_outcome(rehearsal, outcome)
    return outcome


def _report_result(rehearsal: Study, say: Say) -> Mapping[str, Any]:
    """Result of the report; for a task without one, only the answers that people gave about themselves."""
    if not isinstance(task_of(rehearsal), TaskWithReport):
        return {"people": questionnaire_figures(rehearsal)}
    say("Computing the report.")
    result: Mapping[str, Any] | None = _build_report(rehearsal).result
    assert result is not None
    return result


def _describe_expected_alphas(crowd: Crowd, plan: Plan) -> str:
    kinds = Counter(profile.kind for profile in crowd.profiles)
    all_of_them = sum(batch_share(kind) * come for kind, come in kinds.items())
    shares = {kind: batch_share(kind) * come / all_of_them for kind, come in kinds.items()}
    each = [
        f"{alpha:.2f} for “{' '.join(filter(None, (plan.questions.question(key).wording, choice)))}”"
        for (key, choice), alpha in forecast_alphas(plan, shares, crowd.raters).items()
        if not isinstance(alpha, Undefined)
    ]
    if not each:
        return "No alpha is injected: every item has one rater."
    return (
        f"Planted alpha, if workers of all kinds judge every item alike: {', '.join(each)}. "
        "The findings say it for the workers whom each item in fact got."
    )


async def _send_workers(
    rehearsal: Study, crowd: Crowd, people: SelfReports, at_once: int, say: Say
) -> list[Work]:
    room = asyncio.Semaphore(at_once)
    everybody, began = set(range(len(crowd.profiles))), time.monotonic()
    done: list[Work] = []

    async def took_part(number: int) -> None:
        kind = crowd.profiles[number].kind
        worker = crowd.worker(number, crowd.profiles[number])
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

    await _run_workers(took_part, everybody - crowd.late)
    if crowd.late:
        began += await _wait_for_leases(rehearsal, say)
        if crowd.late_notice:
            say(crowd.late_notice)
        await _run_workers(took_part, crowd.late)
    _sum_up(done, time.monotonic() - began, say)
    return done


def _record(crowd: Crowd, work: Work) -> None:
    """Record the labels that the report must count: all judgments, but only finished conversations."""
    if crowd.plan and (work.finished or not crowd.plan.alone or crowd.plan.counts_unfinished):
        for plan, labels in zip(
            (crowd.plan, *crowd.further_plans), (work.labels, *work.further_labels), strict=False
        ):
            for thing, answers in labels.items():
                plan.note(thing, work.kind, answers)


def _sum_up(done: Sequence[Work], seconds: float, say: Say) -> None:
    if labels := sum(len(each) for work in done for each in (work.labels, *work.further_labels)):
        say(f"They gave {labels} labels in {seconds:.1f}\u00a0s of work, {labels / seconds:.0f} a second.")
    if idle := sum(not (work.work_id or work.waited_in_vain) for work in done):
        say(f"{idle} of them came when nothing was left to do.")


async def _run_workers(come: Callable[[int], Coroutine[Any, Any, None]], numbers: set[int]) -> None:
    async with asyncio.TaskGroup() as group:
        for number in sorted(numbers):
            group.create_task(come(number))


async def _wait_for_leases(rehearsal: Study, say: Say) -> float:
    """Wait until the leases of workers who left have expired; returns the seconds waited."""

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
    """Exclude careless workers, as an attentive study owner would."""
    suspects = {work.code: work.kind for work in done if work.finished and work.kind not in HONEST}
    participations = Participation.objects.filter(study=rehearsal, resume_code__in=suspects)
    for pk, code in participations.values_list("pk", "resume_code"):
        ending.exclude(pk, reason=f"Rehearsal: {suspects[code]}", by=rehearsal.owner)


def _build_report(rehearsal: Study) -> Report:
    """Compute the report of the rehearsal, or wait for a job that already computes it."""
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


# Limit for all studies together: each rehearsal runs its own web server and keeps bots busy.
MOST_AT_ONCE = 2
# After this long without progress, check whether the rehearsal's process is still alive.
TIMEOUT = timedelta(minutes=2)
_DONE = re.compile(r"(\d+) of \d+ workers are done")


@transaction.atomic
def create_attempt(study: Study, workers: int, *, by: User) -> Attempt:
    """Record the request for a rehearsal; `turnwise.rehearsals.tasks` starts it.

    Raises:
        ValidationError: the study cannot be rehearsed, or not now; says why and what to do.
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
    under_way = [each for each in Attempt.objects.select_for_update() if refresh_attempt(each).is_in_progress]
    if any(each.study_id == study.pk for each in under_way):
        raise ValidationError(_("This study is already being rehearsed. Wait until that is over."))
    if len(under_way) >= MOST_AT_ONCE:
        message = ngettext(
            "%(n)s rehearsal is in progress. Start this one once it is over.",
            "%(n)s rehearsals are in progress. Start this one once one of them is over.",
            len(under_way),
        )
        raise ValidationError(message % {"n": len(under_way)})
    now = timezone.now()
    fresh = {"workers": workers, "by": by, "state": Attempt.State.QUEUED, "done": 0, "said": "", "reason": ""}
    attempt, _is_new = Attempt.objects.update_or_create(
        study=study, defaults=fresh | {"started_at": now, "told_at": now}
    )
    return attempt


def refresh_attempt(attempt: Attempt) -> Attempt:
    """Return the current attempt; mark it as failed if its process has died."""
    silent = timezone.now() - attempt.told_at > TIMEOUT
    if attempt.is_in_progress and silent and not is_locked(REHEARSALS, attempt.study_id):
        _fail(attempt, _("Its process ended unexpectedly; the log says why. Rehearse again."))
        attempt.refresh_from_db()
    return attempt


@contextmanager
def record_progress(study: Study, say: Say) -> Iterator[Say]:
    """Store the messages of the block for the study's page, and how it ended.

    Raises:
        ValidationError: the attempt is over, or another process carries it out.
    """
    attempt = Attempt.objects.filter(study=study).first()
    with exclusive_lock(REHEARSALS, study.pk) as is_ours:
        if attempt is None or not is_ours or not attempt.is_in_progress:
            raise ValidationError(_("“%(title)s” is not waiting for a rehearsal.") % {"title": study.title})

        mine = Attempt.objects.filter(pk=attempt.pk)

        def note(words: str) -> None:
            finished = _DONE.match(words)
            # The page has its own text for the number of finished workers.
            news: dict[str, Any] = {"done": int(finished[1]), "said": ""} if finished else {"said": words}
            mine.update(state=Attempt.State.RUNNING, told_at=timezone.now(), **news)

        def say_and_store(words: str) -> None:
            say(words)
            notes.submit(note, words)

        # One thread writes the messages in order, because they also come from inside an event loop.
        with ThreadPoolExecutor(1) as notes:
            try:
                yield say_and_store
            except BaseException as error:
                notes.submit(_fail, attempt, str(error) or describe_failure(error))
                raise
            else:
                notes.submit(mine.update, state=Attempt.State.DONE, told_at=timezone.now())
            finally:
                notes.submit(connections.close_all)


def fail_attempt(study: Study, reason: str) -> None:
    """Mark the study's attempt as failed, because it could not be started."""
    for attempt in Attempt.objects.filter(study=study):
        _fail(attempt, reason)


def _fail(attempt: Attempt, reason: str) -> None:
    Attempt.objects.filter(pk=attempt.pk).update(
        state=Attempt.State.FAILED, reason=reason, told_at=timezone.now()
    )
