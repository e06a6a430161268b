from collections.abc import Mapping

from django.db import transaction

from dialogues.database import CLOCK
from dialogues.models import Dialogue, Turn
from dialogues.place import Place
from dialogues.progress import Progress
from dialogues.queries import progress_of_row
from dialogues.refusals import RefusedError
from evaluation.questions import Answer, AnswersError, question_set
from labels.models import Label


@transaction.atomic
def record(
    place: Place, *, position: int, answers: Mapping[str, object]
) -> tuple[dict[str, Answer], Progress]:
    """Save the worker's label of a bot turn of their own conversation, or change it. Safe to repeat.

    Raises:
        RefusedError: the conversation has ended, there is no such bot turn, or the answers do not fit
            the question set; nothing was saved.
    """
    checked = _checked_answers(place, answers)
    dialogue = Dialogue.objects.select_for_update().get(pk=place.dialogue_id)
    progress = progress_of_row(place, dialogue)
    if progress.ended:
        raise RefusedError("ended")
    if not 0 <= position < progress.turns:
        raise RefusedError("unknown_turn")
    if not progress.is_labelled_turn(position):
        raise RefusedError("not_to_label")
    _save(place, position, checked)
    if position in dialogue.unlabelled:
        dialogue.unlabelled.remove(position)
        dialogue.save(update_fields=["unlabelled"])
    return checked, progress_of_row(place, dialogue)


def _checked_answers(place: Place, answers: Mapping[str, object]) -> dict[str, Answer]:
    try:
        return question_set(place.question_set).check(answers)
    except AnswersError as error:
        raise RefusedError(error.code, error.message) from error


def _save(place: Place, position: int, answers: dict[str, Answer]) -> None:
    turn = Turn.objects.only("pk").get(dialogue_id=place.dialogue_id, position=position)
    label, is_new = Label.objects.get_or_create(
        turn=turn,
        rater_id=place.worker_id,
        question_set=place.question_set,
        defaults={"answers": answers, "created_at": CLOCK, "changed_at": CLOCK},
    )
    if not is_new and label.answers != answers:
        label.answers = answers
        label.changed_at = CLOCK
        label.changes += 1
        label.save(update_fields=["answers", "changed_at", "changes"])
