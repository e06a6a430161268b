"""Every write of a label. One step saves it and takes its turn off the list of unlabelled ones.

The step is a function of the database (migrations/0002_record_label.py).
"""

from collections.abc import Mapping

from django.db import transaction
from django.db.models import F, QuerySet
from django.utils import timezone

from dialogues.batches import BatchedStep
from dialogues.database import in_database
from dialogues.models import Dialogue
from dialogues.place import Place
from dialogues.progress import Progress
from dialogues.queries import progress_of
from dialogues.refusals import RefusedError
from evaluation.questions import Answer, AnswersError, question_set
from labels.models import Label
from studies.services import results_changed

RECORD = BatchedStep(
    "labels_record_label",
    {
        "dialogue": "bigint", "seat": "integer", "position": "integer", "rater": "bigint",
        "question_set": "text", "answers": "jsonb",
    },
)  # fmt: skip


async def record(
    place: Place, *, position: int, answers: Mapping[str, object]
) -> tuple[dict[str, Answer], Progress]:
    """Save the worker's label of a bot turn of their own conversation, or change it. Safe to repeat.

    Raises:
        RefusedError: the conversation has ended, there is no such bot turn, or the answers do not fit
            the question set; nothing was saved.
    """
    checked = _checked_answers(place, answers)
    row = None
    if 0 <= position <= place.opening_turns + place.max_turns:
        row = await RECORD.row(
            dialogue=place.dialogue_id,
            seat=place.seat,
            position=position,
            rater=place.worker_id,
            question_set=place.question_set,
            answers=checked,
        )
    if row is None:
        raise await in_database(_why_not, place, position)
    return checked, place.progress(turns=row[0], bot_turns=row[1], unlabelled=row[2], ended=False)


def _checked_answers(place: Place, answers: Mapping[str, object]) -> dict[str, Answer]:
    try:
        return question_set(place.question_set).check(answers)
    except AnswersError as error:
        raise RefusedError(error.code, error.message) from error


def _why_not(place: Place, position: int) -> RefusedError:
    progress = progress_of(place)
    if progress.ended:
        return RefusedError("ended")
    is_another = 0 <= position < progress.turns and not progress.is_labelled_turn(position)
    return RefusedError("not_to_label" if is_another else "unknown_turn")


@transaction.atomic
def amend(label_id: int, *, answers: Mapping[str, object]) -> None:
    """Put other answers in a label's place, as an admin may; the study's report follows.

    Raises:
        AnswersError: the answers do not fit the label's question set; nothing was saved.
    """
    labels = Label.objects.select_for_update(of=("self",)).select_related("turn__dialogue", "slot")
    label = labels.get(pk=label_id)
    label.answers = question_set(label.question_set).check(answers)
    label.changed_at, label.changes = timezone.now(), F("changes") + 1
    label.save(update_fields=["answers", "changed_at", "changes"])
    if hasattr(label, "slot"):
        results_changed(label.slot.study_id)
    elif label.turn:
        results_changed(label.turn.dialogue.study_id)


@transaction.atomic
def delete(labels: QuerySet[Label]) -> None:
    """Delete labels; the studies' reports follow.

    In conversations under way the turns wait for a label again, in judging studies the items do.
    """
    gone = list(labels.select_related("turn", "slot"))
    studies = {label.slot.study_id for label in gone if hasattr(label, "slot")}
    positions: dict[int, set[int]] = {}
    for label in gone:
        if label.turn and not hasattr(label, "slot"):
            positions.setdefault(label.turn.dialogue_id, set()).add(label.turn.position)
    dialogues = Dialogue.objects.select_for_update().order_by("pk")
    for dialogue in dialogues.filter(pk__in=positions):
        studies.add(dialogue.study_id)
        if dialogue.ended_at is None:
            dialogue.unlabelled = sorted({*dialogue.unlabelled, *positions[dialogue.pk]})
            dialogue.save(update_fields=["unlabelled"])
    Label.objects.filter(pk__in=[label.pk for label in gone]).delete()
    for study_id in sorted(studies):
        results_changed(study_id)
