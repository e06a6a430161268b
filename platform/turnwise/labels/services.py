"""Every write of a label. One step saves it and takes what it answers off the list of what is due.

The step is a function of the database (sql/record_label.sql).

How long a rater looked before answering, as their page measured it.
"""

from collections.abc import Mapping
from typing import Any, NamedTuple, Self

from evaluation.questions import Answer, AnswersError, QuestionSet
from turnwise.dialogues.progress import Progress
from turnwise.dialogues.queries import progress_of
from turnwise.dialogues.reading_material import hidden_sections
from turnwise.dialogues.seat_context import Seated
from turnwise.live.batches import BatchedStep
from turnwise.live.database import in_database
from turnwise.live.frames import RefusedError
from turnwise.questions.question_sets import question_set_soon, why_not_taken
from turnwise.studies.asks import About

# A page that was left open for days says nothing about reading; it must still fit.
LONGEST_MS = 24 * 3600 * 1000


class Timing(NamedTuple):
    """Times in milliseconds; None where the page did not say.

    Attributes:
        shown_ms: how long the question was on screen before it was answered.
        answer_ms: from what is judged being shown to the answer.
    """

    shown_ms: int | None = None
    answer_ms: int | None = None

    @classmethod
    def of(cls, frame: dict[str, Any]) -> Self:
        """What the frame says; anything odd counts as unknown: an answer is worth more than its time."""
        told = frame.get("timing")
        if not isinstance(told, dict):
            return cls()
        return cls(_milliseconds(told.get("shown_ms")), _milliseconds(told.get("answer_ms")))


def _milliseconds(value: object) -> int | None:
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value < float("inf"):
        return None
    return min(round(value), LONGEST_MS)


NO_TIMING = Timing()

RECORD = BatchedStep(
    "labels_record_label",
    {
        "dialogue": "bigint", "seat": "integer", "position": "integer", "ask_number": "integer",
        "is_own": "boolean", "rater": "bigint", "party": "text", "ask": "bigint", "question_set": "text",
        "answers": "jsonb", "shown_ms": "integer", "answer_ms": "integer",
    },
)  # fmt: skip


async def record(
    seat: Seated,
    *,
    position: int | None,
    answers: Mapping[str, object],
    ask: int = 0,
    timing: Timing = NO_TIMING,
) -> tuple[dict[str, Answer], Progress]:
    """Save, or change, what somebody who talks says of a turn or of the whole conversation. Safe to repeat.

    Args:
        seat: who says it.
        position: of the turn; None: the whole conversation.
        answers: by question key.
        ask: number of the ask in the conversation.
        timing: how long they looked.

    Raises:
        RefusedError: the conversation has ended, there is no such turn or ask, or the answers do not fit
            the question set; nothing was saved.
    """
    asked = seat.ask(ask)
    if asked is None or (position is None) != (asked.about == About.DIALOGUE):
        raise RefusedError("no_such_ask")
    checked = _checked_answers(await question_set_soon(asked.question_set), answers)
    _refuse_hidden(checked, hidden_sections(asked.question_set, seat.shown))
    row = None
    if position is None or 0 <= position <= seat.opening_turns + seat.max_turns:
        row = await RECORD.row(
            dialogue=seat.dialogue_id,
            seat=seat.number,
            position=position,
            ask_number=asked.number,
            is_own=asked.about == About.OWN_TURN,
            rater=seat.worker_id,
            party=seat.party(asked).value,
            ask=asked.pk,
            question_set=asked.question_set,
            answers=checked,
            **timing._asdict(),
        )
    if row is None:
        raise await in_database(_why_not, seat, position)
    turns, due_0, due_1 = row
    return checked, seat.progress(turns=turns, due_0=due_0, due_1=due_1)


def _checked_answers(questions: QuestionSet, answers: Mapping[str, object]) -> dict[str, Answer]:
    try:
        return questions.check(answers)
    except AnswersError as error:
        raise RefusedError(error.code, why_not_taken(error)) from error


def _refuse_hidden(answers: Mapping[str, Answer], hidden: frozenset[str]) -> None:
    """Refuse sources that this person was not shown."""
    named = [
        each for answer in answers.values() if isinstance(answer, list) for each in answer if each in hidden
    ]
    if named:
        raise RefusedError("not_shown", f"You were not shown {named[0]}. Choose among the texts beside you.")


def _why_not(seat: Seated, position: int | None) -> RefusedError:
    progress = progress_of(seat)
    if progress.ended or position is None:
        return RefusedError("ended")
    return RefusedError("not_to_label" if 0 <= position < progress.turns else "unknown_turn")
