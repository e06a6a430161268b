"""A rehearsal is a copy of its study. It is kept apart from it, and can be deleted with all that is in it."""

from django.db import transaction
from django.db.models import Count, QuerySet

from bots.models import Bot
from crowd.models import Participation, Worker
from dialogues.models import Dialogue
from evaluation.questions import question_set
from labels import subjects
from labels.models import JudgingPlan, Label
from reports.models import Rehearsal
from reports.rehearsal.findings import ENOUGH_FOR_A_BOT, Outcome
from reports.rehearsal.planted import Plan
from reports.rehearsal.room import Room, TooFewError, room
from studies.models import Study, StudyBot, Task
from studies.services import save_study, set_state

# A copy has its own of these. Simulated workers are not paid.
_OWN = {
    "id", "code", "owner", "state", "created_at", "results_version", "rehearsal_of", "title",
    "pay_amount",
}  # fmt: skip
FEWEST_WORKERS = 30
# Who left holds their items for so long at most; a rehearsal would else last as long as real leases.
LEASE_SECONDS = 10


class UnrehearsableError(Exception):
    """This study cannot be rehearsed; the message says why, and what to do."""


def enough_workers(study: Study) -> int:
    """How many simulated workers find something out, however many bots share them."""
    return max(FEWEST_WORKERS, ENOUGH_FOR_A_BOT * _bots_of(study).count())


@transaction.atomic
def make_rehearsal(study: Study, workers: int) -> Study:
    """An open copy of the study with room for so many workers; an earlier rehearsal is deleted.

    Raises:
        UnrehearsableError: there is nothing to talk with or to judge, or too few workers for it.
        UnplantableError: the questions have other answers than yes and no.
    """
    if study.rehearsal_of_id:
        raise UnrehearsableError(f"“{study.title}” is a rehearsal itself. Name the study that it is of.")
    Plan(question_set(study.question_set), (), alone=True)
    if study.task == Task.CONVERSATION:
        copy = _copied(study, _targets(study, workers))
    elif study.task == Task.JUDGING:
        copy = _with_queue(study, workers)
    else:
        raise UnrehearsableError(
            f"The workers of “{study.title}” write. Studies whose workers talk or judge can be rehearsed; "
            "rehearse the one that judges what they wrote."
        )
    return set_state(copy.pk, Study.State.OPEN)


def _targets(study: Study, workers: int) -> dict[Bot, int]:
    """Conversations wanted of each bot, in the study's proportions."""
    bots = _bots_of(study)
    if not bots:
        raise UnrehearsableError(f"“{study.title}” has no active bot with a target. Choose one first.")
    all_wanted = sum(each.target for each in bots)
    return {each.bot: -(-workers * each.target // all_wanted) for each in bots}


def _bots_of(study: Study) -> QuerySet[StudyBot]:
    return study.study_bots.filter(bot__active=True, target__gt=0).select_related("bot")


def _with_queue(study: Study, workers: int) -> Study:
    """A copy that judges as many of the study's items as these workers can."""
    plan = JudgingPlan.objects.filter(study=study).first() or JudgingPlan()
    offered = _room(study, plan, workers)
    copy = _copied(study, {})
    JudgingPlan.objects.create(
        study=copy,
        raters_per_item=plan.raters_per_item,
        batch_size=offered.batch_size,
        lease_seconds=min(plan.lease_seconds, LEASE_SECONDS),
    )
    for language, items in offered.items.items():
        subjects.add_items_of(copy, study, language=language, items=items)
    return copy


def _room(study: Study, plan: JudgingPlan, workers: int) -> Room:
    counted = study.items.values_list("language").annotate(n=Count("pk")).order_by("language")
    items = {language: n for language, n in counted if language in study.languages}
    if not items:
        raise UnrehearsableError(
            f"“{study.title}” has nothing to judge yet. Add responses or conversations to its queue first."
        )
    try:
        return room(items, raters=plan.raters_per_item, batch_size=plan.batch_size, workers=workers)
    except TooFewError as error:
        raise UnrehearsableError(str(error)) from error


def _copied(study: Study, targets: dict[Bot, int]) -> Study:
    """The study once more with no results, in the place of its earlier rehearsal."""
    for earlier in Study.objects.filter(rehearsal_of=study):
        delete_rehearsal(earlier)
    fields = {f.name: getattr(study, f.name) for f in Study._meta.concrete_fields if f.name not in _OWN}
    consent = study.consent_versions.last()
    return save_study(
        Study(title=f"Rehearsal of {study.title}"[:120], rehearsal_of=study, **fields),
        owner=study.owner,
        consent_text=consent.text if consent else "A rehearsal: no person takes part.",
        targets=targets,
    )


@transaction.atomic
def keep(rehearsal: Study, outcome: Outcome) -> Rehearsal:
    """Store what came of a rehearsal, for its report's page."""
    Rehearsal.objects.filter(study=rehearsal).delete()
    return Rehearsal.objects.create(
        study=rehearsal,
        findings=[{"holds": finding.holds, "words": finding.words} for finding in outcome.findings],
        holds=outcome.holds,
        verdict=outcome.verdict,
        agreement=outcome.agreement,
    )


@transaction.atomic
def delete_rehearsal(rehearsal: Study) -> None:
    """Delete a rehearsal with its simulated workers and all that they did.

    Raises:
        ValueError: this is no rehearsal; nothing was deleted.
    """
    if rehearsal.rehearsal_of_id is None:
        raise ValueError(f"Study {rehearsal.pk} is no rehearsal, so it is not deleted.")
    workers = Worker.objects.filter(participations__study=rehearsal)
    only_here = list(workers.exclude(participations__study__rehearsal_of=None).values_list("pk", flat=True))
    # Without their slot these labels would pass for those of who talked.
    Label.objects.filter(slot__study=rehearsal).delete()
    Dialogue.objects.filter(study=rehearsal).delete()
    Participation.objects.filter(study=rehearsal).delete()
    Worker.objects.filter(pk__in=only_here).delete()
    rehearsal.delete()
