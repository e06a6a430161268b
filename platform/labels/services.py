"""Every write of a label. One step saves it and takes its turn off the list of unlabelled ones.

The step is a function of the database (migrations/0002_record_label.py).
"""

from collections.abc import Mapping

from dialogues.batches import BatchedStep
from dialogues.database import in_database
from dialogues.place import Place
from dialogues.progress import Progress
from dialogues.queries import progress_of
from dialogues.refusals import RefusedError
from evaluation.questions import Answer, AnswersError, question_set

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
