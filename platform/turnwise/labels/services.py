"""Saving labels of chatters and partners, with the times that their page measured.

One step of the database saves the label and removes it from the list of what is due (sql/record_label.sql).
"""

from collections.abc import Mapping
from typing import Any, NamedTuple, Self

from evaluation.questions import Answer, AnswersError, QuestionSet
from turnwise.dialogues.progress import Progress
from turnwise.dialogues.queries import progress_of
from turnwise.dialogues.reading_material import hidden_sections
from turnwise.dialogues.reply_versions import kept_version
from turnwise.dialogues.seat_context import SeatContext
from turnwise.live.database import in_database
from turnwise.live.frames import RefusedError
from turnwise.live.sockets.batches import BatchedStep
from turnwise.questions.question_sets import describe_answers_error, question_set_async
from turnwise.studies.asks import About
from turnwise.studies.models import MOST_REPLY_VERSIONS

# Longest time stored; a page that was left open for days says nothing about reading.
LONGEST_MS = 24 * 3600 * 1000


class Timing(NamedTuple):
    """Times in milliseconds; None if the page did not send them.

    Attributes:
        shown_ms: time from showing the question to the answer.
        answer_ms: time from showing the judged thing to the answer.
    """

    shown_ms: int | None = None
    answer_ms: int | None = None

    @classmethod
    def of(cls, frame: dict[str, Any]) -> Self:
        """Times of a frame. Odd values count as unknown: an answer is worth more than its time."""
        timing = frame.get("timing")
        if not isinstance(timing, dict):
            return cls()
        return cls(_milliseconds(timing.get("shown_ms")), _milliseconds(timing.get("answer_ms")))


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
        "reply": "integer",
    },
)  # fmt: skip


async def record(
    seat: SeatContext,
    *,
    position: int | None,
    answers: Mapping[str, object],
    ask: int = 0,
    timing: Timing = NO_TIMING,
    reply_version: int | None = None,
) -> tuple[dict[str, Answer], Progress]:
    """Save or change the label of a chatter or partner. Safe to repeat.

    Args:
        seat: the rater's seat.
        position: position of the turn; None: the whole conversation.
        answers: answers by question key.
        ask: number of the ask in the conversation.
        timing: times that the page measured.
        reply_version: number of the judged reply among those to the same message; None: it is the only one.

    Raises:
        RefusedError: the conversation has ended, there is no such turn or ask, another version of the reply
            is kept, or the answers do not fit the question set; nothing was saved.
    """
    if reply_version is not None and not 1 <= reply_version <= MOST_REPLY_VERSIONS:
        raise RefusedError("malformed")
    asked = seat.ask(ask)
    if asked is None or (position is None) != (asked.about == About.DIALOGUE):
        raise RefusedError("no_such_ask")
    checked = _checked_answers(await question_set_async(asked.question_set), answers)
    _refuse_hidden(checked, hidden_sections(asked.question_set, seat.material_keys))
    row = None
    if position is None or 0 <= position <= seat.opening_turns + seat.max_turns:
        row = await RECORD.row(
            dialogue=seat.dialogue_id,
            seat=seat.number,
            position=position,
            ask_number=asked.number,
            is_own=asked.about == About.OWN_TURN,
            rater=seat.worker_id,
            party=seat.rater_role(asked).value,
            ask=asked.pk,
            question_set=asked.question_set,
            answers=checked,
            reply=reply_version,
            **timing._asdict(),
        )
    if row is None:
        raise await in_database(_why_not, seat, position, reply_version)
    turns, due_0, due_1, closing = row
    return checked, seat.progress(turns=turns, due_0=due_0, due_1=due_1, closing=closing)


def _checked_answers(questions: QuestionSet, answers: Mapping[str, object]) -> dict[str, Answer]:
    try:
        return questions.check(answers)
    except AnswersError as error:
        raise RefusedError(error.code, describe_answers_error(error)) from error


def _refuse_hidden(answers: Mapping[str, Answer], hidden: frozenset[str]) -> None:
    """Refuse sources that were not shown to this person."""
    named = [
        each for answer in answers.values() if isinstance(answer, list) for each in answer if each in hidden
    ]
    if named:
        raise RefusedError("not_shown", f"You were not shown {named[0]}. Choose among the texts beside you.")


def _why_not(seat: SeatContext, position: int | None, reply_version: int | None) -> RefusedError:
    progress = progress_of(seat)
    if progress.ended or position is None:
        return RefusedError("ended")
    if reply_version not in (None, kept_version(seat, position)):
        return RefusedError("other_reply")
    return RefusedError("not_to_label" if 0 <= position < progress.turns else "unknown_turn")
