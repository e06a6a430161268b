"""A rehearsal is a copy of its study. It is kept apart from it, and can be deleted with all that is in it."""

from django.db import transaction

from crowd.models import Participation, Worker
from dialogues.models import Dialogue
from evaluation.questions import QuestionSet, question_set
from reports.rehearsal.planted import Plan
from studies.models import Study, Task
from studies.services import save_study, set_state

# A copy has its own of these. Simulated workers are not paid.
_OWN = {
    "id", "code", "owner", "state", "created_at", "results_version", "rehearsal_of", "title",
    "pay_amount",
}  # fmt: skip


class UnrehearsableError(Exception):
    """This study cannot be rehearsed; the message says why, and what to do."""


@transaction.atomic
def make_rehearsal(study: Study, workers: int) -> Study:
    """An open copy of the study with room for so many workers; an earlier rehearsal is deleted.

    Raises:
        UnrehearsableError: the study has no conversations with bots, or questions that cannot be planted.
    """
    questions = _checked(study)
    bots = list(study.study_bots.filter(bot__active=True, target__gt=0).select_related("bot"))
    if not bots:
        raise UnrehearsableError(f"“{study.title}” has no active bot with a target. Choose one first.")
    Plan(questions, [each.bot.name for each in bots])
    for earlier in Study.objects.filter(rehearsal_of=study):
        delete_rehearsal(earlier)
    fields = {f.name: getattr(study, f.name) for f in Study._meta.concrete_fields if f.name not in _OWN}
    consent = study.consent_versions.last()
    all_wanted = sum(each.target for each in bots)
    copy = save_study(
        Study(title=f"Rehearsal of {study.title}"[:120], rehearsal_of=study, **fields),
        owner=study.owner,
        consent_text=consent.text if consent else "A rehearsal: no person takes part.",
        targets={each.bot: -(-workers * each.target // all_wanted) for each in bots},
    )
    return set_state(copy.pk, Study.State.OPEN)


def _checked(study: Study) -> QuestionSet:
    if study.rehearsal_of_id:
        raise UnrehearsableError(f"“{study.title}” is a rehearsal itself. Name the study that it is of.")
    if study.task != Task.CONVERSATION:
        raise UnrehearsableError(
            f"The workers of “{study.title}” do not talk with bots. Conversations can be rehearsed only."
        )
    return question_set(study.question_set)


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
    Dialogue.objects.filter(study=rehearsal).delete()
    Participation.objects.filter(study=rehearsal).delete()
    Worker.objects.filter(pk__in=only_here).delete()
    rehearsal.delete()
