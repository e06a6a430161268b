"""Steps of a study from its design to its export, and the next step."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

from django.urls import reverse
from django.utils.translation import gettext as _

from turnwise.bots.hosting import presence
from turnwise.bots.queries import WORDS
from turnwise.judging.models import Item
from turnwise.judging.queries import judgments_in
from turnwise.reports.models import Report
from turnwise.reports.report_kinds import ReportedTask
from turnwise.reports.services import covers
from turnwise.studies.models import LastExport, Study
from turnwise.studies.opening_checks import first_obstacle
from turnwise.studies.queries import incomplete_progress, progress_of, progress_sentence
from turnwise.studies.tasks import SetupStep, Stage, task_of

READY = "ready"
MOST_NAMED = 3


class StepState(StrEnum):
    """State of a step."""

    DONE = "done"
    PASSED = "passed"  # left out, or unknown, and too late
    NEXT = "next"
    LATER = "later"


@dataclass(frozen=True, slots=True)
class Step:
    """One step.

    Attributes:
        title: name of the step.
        says: its state, or what to do.
        address: page of the step.
        standing: state of the step.
        warning: whether it needs attention.
    """

    title: str
    says: str
    address: str
    standing: StepState
    warning: bool = False


def steps_of(study: Study) -> Sequence[Step]:
    """Steps of a study in order; at most one of them is the next."""
    found, is_next = [], True
    first = task_of(study).first_steps(study)
    for each in first:
        state = _step_state(each.is_done, is_next=is_next)
        is_next = is_next and state is StepState.DONE
        found.append(Step(each.title, each.says, each.address, state))
    for stage in _stages_of(study):
        title, says, address, done, warning = _stage_step(stage, study, first)
        state = _step_state(done, is_next=is_next)
        is_next = is_next and state in (StepState.DONE, StepState.PASSED)
        found.append(Step(title, says, address, state, warning))
    return found


def next_step(study: Study) -> Step | None:
    """The next step, which every page of the study shows; later steps are not computed.

    Once the study has opened, steps before the opening and the state of its bots are skipped: the overview
    and the monitor show them.
    """
    return next(_not_done(study), None)


def _not_done(study: Study) -> Iterator[Step]:
    has_opened = study.state != Study.State.DRAFT
    first = () if has_opened else task_of(study).first_steps(study)
    for each in first:
        if not each.is_done:
            yield Step(each.title, each.says, each.address, StepState.NEXT)
    for stage in _stages_of(study):
        if stage in _BEFORE_OPENING and has_opened:
            continue
        goes_on = stage is Stage.RECRUIT and has_opened
        title, says, address, done, warning = _collect(study) if goes_on else _stage_step(stage, study, first)
        if done is False:
            yield Step(title, says, address, StepState.NEXT, warning)


def _stages_of(study: Study) -> Sequence[Stage]:
    task = task_of(study)
    return [stage for stage in task.stages if stage is not Stage.REHEARSE or task.has_rehearsals]


_Found = tuple[str, str, str, bool | None, bool]
"""Title, what it says, address, whether it is done (None: passed), whether it is a warning."""


def _step_state(done: bool | None, *, is_next: bool) -> StepState:
    if done is None:
        return StepState.PASSED
    if done:
        return StepState.DONE
    return StepState.NEXT if is_next else StepState.LATER


def _stage_step(stage: Stage, study: Study, first: Sequence[SetupStep]) -> _Found:
    """Compute the step of a stage, in a study with these first steps."""
    return _design(study, first) if stage is Stage.DESIGN else _STAGES[stage](study)


def _design(study: Study, first: Sequence[SetupStep]) -> _Found:
    task = task_of(study)
    # What an earlier step has not brought yet, that step says.
    is_brought = all(step.is_done for step in first)
    if is_brought and (missing := task.why_not_open(study)):
        return _("Design"), missing, task.designed_at(study), False, True
    if is_brought and study.state == Study.State.DRAFT and (unready := first_obstacle(study)):
        return _("Design"), f"{unready.cure}.", unready.address, False, True
    says = _("What is asked, of which bots, and whose answers count.")
    return _("Design"), says, reverse("studies:edit", args=[study.pk]), True, False


def _preview(study: Study) -> _Found:
    says = _("See and try every page as workers get it.")
    return (
        _("Preview"),
        says,
        reverse("crowd:preview", args=[study.pk]),
        bool(study.previewed_at) or _too_late(study),
        False,
    )


def _too_late(study: Study) -> bool | None:
    """False (to be done) for an open step of a draft; None (passed) once the study has opened."""
    return False if study.state == Study.State.DRAFT else None


def _rehearse(study: Study) -> _Found:
    address = reverse("rehearsals:rehearsal", args=[study.pk])
    if getattr(study, "rehearsal", None):
        return _("Rehearse"), _("Simulated workers have tried it out."), address, True, False
    return _("Rehearse"), _("Let simulated workers try it out."), address, _too_late(study), False


def _recruit(study: Study) -> _Found:
    address = f"{study.get_absolute_url()}#workers"
    if study.state == Study.State.DRAFT:
        return _("Recruit"), _("Open the study, then give its link to workers."), address, False, False
    collected = _collect(study)
    is_done = collected[3]
    unwell, all_of_them = ("", False) if is_done else _silent_bots(study)
    if study.state == Study.State.OPEN and unwell:
        sentence = _("No worker gets these at the moment: %(bots)s.")
        if all_of_them:
            sentence = _("No bot answers, so nobody new is admitted: %(bots)s.")
        return _("Recruit"), sentence % {"bots": unwell}, address, False, True
    return collected


def _collect(study: Study) -> _Found:
    return _("Recruit"), *_progress_step(study, f"{study.get_absolute_url()}#workers")


def _start(study: Study) -> _Found:
    address = study.get_absolute_url()
    if study.state == Study.State.DRAFT:
        return _("Start"), _("Start it: the chatbots talk by themselves."), address, False, False
    return _("Start"), *_progress_step(study, address)


def _progress_step(study: Study, address: str) -> tuple[str, str, bool | None, bool]:
    finished, wanted = progress_of(study)
    says = f"{progress_sentence(study, finished, wanted)}."
    is_done = bool(wanted) and finished >= wanted
    if study.state == Study.State.OPEN and not is_done and task_of(study).has_workers:
        says = _("Give its link to workers: %(so_far)s") % {"so_far": says}
    # Of a study that is closed, nothing more is collected.
    return says, address, is_done or (None if study.state == Study.State.CLOSED else False), False


def _monitor(study: Study) -> _Found:
    """The monitor is never the next step, but available while people work."""
    says = _("Where people are now, and where they drop out.")
    address = reverse("monitoring:monitor", args=[study.pk])
    if study.state == Study.State.DRAFT:
        return _("Monitor"), says, address, False, False
    return _("Monitor"), says, address, True if study.state == Study.State.CLOSED else None, False


def _silent_bots(study: Study) -> tuple[str, bool]:
    """Bots of the study that do not answer, each with its state, and whether these are all bots.

    Switched-off bots are named only if all are off.
    """
    of_study = [each.bot for each in study.study_bots.filter(target__gt=0).select_related("bot")]
    wanted = [bot for bot in of_study if bot.active]
    states = presence.bot_states(bot.name for bot in wanted)
    states_by_title = {bot.title: states.get(bot.name, "not hosted") for bot in wanted}
    if not wanted:
        states_by_title = {bot.title: "off" for bot in of_study}
    unwell = [
        f"{title} ({WORDS.get(state, state).lower()})"
        for title, state in states_by_title.items()
        if state != READY
    ]
    more = (
        [_("and %(number)s more") % {"number": len(unwell) - MOST_NAMED}] if len(unwell) > MOST_NAMED else []
    )
    return ", ".join([*unwell[:MOST_NAMED], *more]), len(unwell) == len(states_by_title)


def _results(study: Study) -> _Found:
    address = reverse("reports:study", args=[study.pk])
    # A whole result can have megabytes.
    ready = study.reports.filter(state=Report.State.READY).order_by("-pk")
    newest = ready.values_list("result__answer", flat=True)[:1]
    if not newest or (newest[0] is None and isinstance(task_of(study), ReportedTask)):
        return _("Results"), _("The report fills in by itself."), address, False, False
    if newest[0] is None:  # nothing is judged, so nobody leads
        return _("Results"), _("The report has its numbers."), address, True, False
    if newest[0].get("certain") and incomplete_progress(study, *progress_of(study)):
        return _("Results"), _("The report says who leads so far."), address, False, False
    if newest[0].get("certain"):
        return _("Results"), _("The report says who leads."), address, True, False
    if study.state == Study.State.CLOSED:  # no further conversations come
        return _("Results"), _("The report has its numbers."), address, True, False
    return _("Results"), _("The report has its first numbers."), address, False, False


def _judge(study: Study) -> _Found:
    """Step of having the turns or responses judged in another study."""
    if _is_judged(study):
        says = _("A study has others judge what was said here.")
        return _("Have it judged"), says, reverse("workspace:studies"), True, False
    says = _("Make a study in which others judge what was said here.")
    return _("Have it judged"), says, f"{reverse('studies:new')}?task=judging", False, False


def _is_judged(study: Study) -> bool:
    """True if a turn, conversation or response of the study is an item of another study."""
    lookups = ("turn__dialogue__study", "dialogue__study")
    paths = lookups if task_of(study).has_conversations else ("response__run__study",)
    return any(Item.objects.filter(**{path: study}).exists() for path in paths)


def _export(study: Study) -> _Found:
    address = reverse("exports:bundle", args=[study.pk])
    last = LastExport.objects.filter(study=study).first()
    if last is None:
        says = _("One archive with the data, the figures and the paragraph for the paper.")
    elif not covers(last, study, judgments_in(study)):
        says = _("Results have changed since they were exported.")
    elif study.bundles.filter(made_at__isnull=False).exists():
        return _("Export"), _("Its bundle is ready to download."), address, True, False
    else:
        return _("Export"), _("Its results have been exported."), address, True, False
    return _("Export"), says, address, False, False


_STAGES: Mapping[Stage, Callable[[Study], _Found]] = {
    Stage.PREVIEW: _preview,
    Stage.REHEARSE: _rehearse,
    Stage.RECRUIT: _recruit,
    Stage.START: _start,
    Stage.MONITOR: _monitor,
    Stage.JUDGE: _judge,
    Stage.RESULTS: _results,
    Stage.EXPORT: _export,
}
_BEFORE_OPENING = (Stage.DESIGN, Stage.PREVIEW, Stage.REHEARSE)
