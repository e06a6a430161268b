"""Every write of a label. One step saves it and takes what it answers off the list of what is due.

The step is a function of the database (sql/record_label.sql).
"""

from collections.abc import Mapping

from django.db import transaction
from django.db.models import QuerySet

from dialogues.asks import WHOLE
from dialogues.material import hidden_sections
from dialogues.models import Dialogue
from dialogues.progress import Progress
from dialogues.queries import progress_of
from dialogues.seated import Seated, asks_of
from evaluation.questions import Answer, AnswersError, QuestionSet
from labels.models import Label
from labels.timing import Timing
from live.batches import BatchedStep
from live.database import in_database
from live.refusals import RefusedError
from questions.resolving import question_set_soon
from questions.shown import why_not_taken
from studies import bundles
from studies.asks import About, Party
from studies.services import results_changed

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


@transaction.atomic
def delete(labels: QuerySet[Label]) -> None:
    """Delete labels; the studies' reports follow.

    In conversations under way what they were about waits for a label again, in judging studies the items do.
    """
    gone = list(labels.select_related("turn"))
    of_talkers: dict[int, list[Label]] = {}
    for label in gone:
        talked = label.turn.dialogue_id if label.turn else label.dialogue_id
        if talked and label.party in (Party.CHATTER, Party.PARTNER):
            of_talkers.setdefault(talked, []).append(label)
    dialogues = Dialogue.objects.select_for_update().filter(pk__in=of_talkers, ended_at=None)
    for dialogue in dialogues.order_by("pk"):
        for label in of_talkers[dialogue.pk]:
            _make_due_again(dialogue, label)
        dialogue.save(update_fields=["due_0", "due_1"])
    Label.objects.filter(pk__in=[label.pk for label in gone]).delete()
    for study_id in sorted({label.study_id for label in gone}):
        results_changed(study_id)
    bundles.forget()  # that of the study whose turns they judge has them, too


def _make_due_again(dialogue: Dialogue, label: Label) -> None:
    seat = dialogue.seats.get(worker=label.rater_id)
    position = label.turn.position if label.turn else WHOLE
    asked = (ask for ask in asks_of(seat.asks) if ask.pk == label.ask_id and ask.required)
    codes = {ask.due(position) for ask in asked}
    name = f"due_{seat.number}"
    setattr(dialogue, name, sorted({*getattr(dialogue, name), *codes}))
