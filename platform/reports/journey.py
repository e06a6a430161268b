"""The way of a study from its design to its export, and which step comes next."""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from bots import presence
from bots.queries import WORDS
from reports.queries import newest_result
from studies.models import Study
from studies.opening import obstacle
from studies.tasks import task_of

READY = "ready"
MOST_NAMED = 3


class Standing(StrEnum):
    """How a step stands."""

    DONE = "done"
    PASSED = "passed"  # nobody knows, or it was left out, and it is too late for it
    NEXT = "next"
    LATER = "later"


@dataclass(frozen=True, slots=True)
class Step:
    """One step.

    Attributes:
        title: a word.
        says: how it stands, or what to do.
        address: where it is done.
        standing: whether it is done, next or later.
        warning: whether what it says needs somebody's attention.
    """

    title: str
    says: str
    address: str
    standing: Standing
    warning: bool = False


def journey(study: Study) -> Sequence[Step]:
    """The steps of a study whose workers are reported, in their order; at most one is the next."""
    found, is_next = [], True
    before = task_of(study).first_steps(study)
    for each in before:
        standing = _standing(each.is_done, is_next=is_next)
        is_next = is_next and standing is Standing.DONE
        found.append(Step(each.title, each.says, each.address, standing))
    rehearsed = (_rehearse,) if task_of(study).has_rehearsals else ()
    for step in (_design, _preview, *rehearsed, _recruit, _monitor, _results, _export):
        title, says, address, done, warning = step(study)
        standing = _standing(done, is_next=is_next)
        is_next = is_next and standing in (Standing.DONE, Standing.PASSED)
        found.append(Step(title, says, address, standing, warning))
    return found


_Found = tuple[str, str, str, bool | None, bool]
"""Title, what it says, address, whether it is done (None: passed), whether it is a warning."""


def _standing(done: bool | None, *, is_next: bool) -> Standing:
    if done is None:
        return Standing.PASSED
    if done:
        return Standing.DONE
    return Standing.NEXT if is_next else Standing.LATER


def _design(study: Study) -> _Found:
    task = task_of(study)
    # What an earlier step has not brought yet, that step says.
    is_brought = all(step.is_done for step in task.first_steps(study))
    if is_brought and (missing := task.why_not_open(study)):
        return _("Design"), missing, task.designed_at(study), False, True
    if is_brought and study.state == Study.State.DRAFT and (unready := obstacle(study)):
        return _("Design"), f"{unready.cure}.", unready.address, False, True
    says = _("What is asked, of which bots, and whose answers count.")
    return _("Design"), says, reverse("studies:edit", args=[study.pk]), True, False


def _preview(study: Study) -> _Found:
    """Nothing tells whether somebody has looked; a study that has opened is past it."""
    says = _("Read what workers read before they begin.")
    return _("Preview"), says, reverse("crowd:preview", args=[study.pk]), _too_late(study), False


def _too_late(study: Study) -> bool | None:
    """Of a step that belongs before the opening and was not done: whether it is still to be."""
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
    unwell, all_of_them = _unwell(study)
    if study.state == Study.State.OPEN and unwell:
        told = _("No worker gets these at the moment: %(bots)s.")
        if all_of_them:
            told = _("No bot answers, so nobody new is admitted: %(bots)s.")
        says = told % {"bots": unwell}
        return _("Recruit"), says, address, False, True
    finished, wanted = _finished(study)
    says = ngettext(
        "%(finished)s of %(wanted)s is finished.", "%(finished)s of %(wanted)s are finished.", finished
    ) % {"finished": finished, "wanted": wanted}
    return _("Recruit"), says, address, bool(wanted) and finished >= wanted, False


def _monitor(study: Study) -> _Found:
    """It is never the next step: it is there to look at for as long as people work."""
    says = _("Where people are now, and where they drop out.")
    address = reverse("monitoring:monitor", args=[study.pk])
    if study.state == Study.State.DRAFT:
        return _("Monitor"), says, address, False, False
    return _("Monitor"), says, address, True if study.state == Study.State.CLOSED else None, False


def _finished(study: Study) -> tuple[int, int]:
    return task_of(study).finished_and_wanted(Study.objects.filter(pk=study.pk)).get(study.pk, (0, 0))


def _unwell(study: Study) -> tuple[str, bool]:
    """The bots of the study that do not answer now, each with its state, and whether they are all."""
    wanted = study.study_bots.filter(target__gt=0, bot__active=True).select_related("bot")
    states = presence.states(each.bot.name for each in wanted)
    told = {each.bot.title: states.get(each.bot.name, "not hosted") for each in wanted}
    unwell = [
        f"{title} ({WORDS.get(state, state).lower()})" for title, state in told.items() if state != READY
    ]
    more = (
        [_("and %(number)s more") % {"number": len(unwell) - MOST_NAMED}] if len(unwell) > MOST_NAMED else []
    )
    return ", ".join([*unwell[:MOST_NAMED], *more]), len(unwell) == len(told)


def _results(study: Study) -> _Found:
    report = newest_result(study)
    answer = (report.result or {}).get("answer") if report else None
    address = reverse("reports:study", args=[study.pk])
    if answer is None:
        return _("Results"), _("The report fills in by itself."), address, False, False
    certain = bool(answer.get("certain"))
    says = _("The report says who leads.") if certain else _("The report has its first numbers.")
    return _("Results"), says, address, certain, False


def _export(study: Study) -> _Found:
    says = _("One archive with the data, the figures and the paragraph for the paper.")
    return _("Export"), says, reverse("exports:bundle", args=[study.pk]), False, False
