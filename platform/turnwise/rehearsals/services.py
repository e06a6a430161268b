"""Create, store and delete rehearsals. A rehearsal is a copy of its study with its own data."""

from django.db import transaction

from turnwise.bots.models import Bot
from turnwise.crowd.models import Participation, Worker
from turnwise.dialogues.models import Dialogue
from turnwise.labels.models import Label
from turnwise.rehearsals.findings import Outcome
from turnwise.rehearsals.models import Rehearsal
from turnwise.rehearsals.rehearsed_task import FEWEST_WORKERS, RehearsedTask, UnrehearsableError
from turnwise.responses.models import ResponseRun
from turnwise.studies.models import Study
from turnwise.studies.services import fields_of_copy, save_study, set_state
from turnwise.studies.tasks import task_of
from turnwise.trash.soft_delete import SoftDeleter


def enough_workers(study: Study) -> int:
    """Suggested number of simulated workers for a study."""
    task = task_of(study)
    return task.enough_workers(study) if isinstance(task, RehearsedTask) else FEWEST_WORKERS


@transaction.atomic
def make_rehearsal(study: Study, workers: int) -> Study:
    """Create an open copy of the study for this many workers; an earlier rehearsal is deleted.

    Raises:
        UnrehearsableError: the study has no work to do, or needs more workers.
    """
    if study.rehearsal_of_id:
        raise UnrehearsableError(f"“{study.title}” is a rehearsal itself. Name the study that it is of.")
    task = task_of(study)
    if not isinstance(task, RehearsedTask):
        raise UnrehearsableError(
            f"Nobody takes part in “{study.title}”, so there is nothing to rehearse. If another study judges "
            "what it produces, rehearse that one."
        )
    copy = task.copied(study, workers)
    return set_state(copy.pk, Study.State.OPEN)


def copy_study(study: Study, targets: dict[Bot, int]) -> Study:
    """Copy the study without results; the copy replaces an earlier rehearsal."""
    for earlier in Study.objects.filter(rehearsal_of=study):
        delete_rehearsal(earlier)
    # Simulated workers are not paid, and need no practice: their answers are decided beforehand.
    fields = fields_of_copy(study) | {"pay_amount": 0, "practice": False}
    consent = study.consent_versions.last()
    return save_study(
        Study(title=f"Rehearsal of {study.title}"[:120], rehearsal_of=study, **fields),
        owner=study.owner,
        consent_text=consent.text if consent else "A rehearsal: no person takes part.",
        targets=targets,
        asks=[ask.declared for ask in study.every_ask],
    )


@transaction.atomic
def save_outcome(rehearsal: Study, outcome: Outcome) -> Rehearsal:
    """Store the outcome of a rehearsal for its page."""
    Rehearsal.objects.filter(study=rehearsal).delete()
    return Rehearsal.objects.create(
        study=rehearsal,
        findings=[{"holds": finding.holds, "words": finding.words} for finding in outcome.findings],
        holds=outcome.holds,
        verdict=outcome.verdict,
        agreement=outcome.agreement,
    )


@transaction.atomic
def delete_rehearsal(rehearsal: Study) -> SoftDeleter:
    """Delete a rehearsal with its simulated workers and all their data.

    Returns:
        The soft delete, which a caller can store for an undo.

    Raises:
        ValueError: the study is not a rehearsal; nothing was deleted.
    """
    if rehearsal.rehearsal_of_id is None:
        raise ValueError(f"Study {rehearsal.pk} is not a rehearsal, so it is not deleted.")
    workers = Worker.objects.filter(participations__study=rehearsal)
    only_here = list(workers.exclude(participations__study__rehearsal_of=None).values_list("pk", flat=True))
    deleter = SoftDeleter()
    deleter.delete(Label.objects.filter(study=rehearsal))
    deleter.delete(Dialogue.objects.filter(study=rehearsal))
    deleter.delete(Participation.objects.filter(study=rehearsal))
    deleter.delete(ResponseRun.objects.filter(study=rehearsal))
    deleter.delete(Worker.objects.filter(pk__in=only_here))
    deleter.delete(Study.objects.filter(pk=rehearsal.pk))
    return deleter
