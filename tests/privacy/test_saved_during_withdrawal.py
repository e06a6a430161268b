"""Saving and withdrawing at the same moment: nothing of somebody who withdrew is saved after that."""

import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from threading import Event
from typing import Any
from uuid import UUID, uuid4

import pytest
from asgiref.sync import async_to_sync, sync_to_async
from django.db import connection, connections, transaction
from django.utils import timezone

from evaluation.texts.cleaning import WITHDRAWN
from tests.conftest import MakeMeeting, MakeQueue, MakeStudy, OpenTab, enter, start_dialogue
from tests.desks import begin
from tests.planted import talked
from tests.tasks.two_people.conftest import come
from turnwise.crowd.models import Participation
from turnwise.crowd.places.assignment import assign
from turnwise.crowd.refusals import EntryRefusedError
from turnwise.dialogues import services, turn_taking
from turnwise.dialogues.models import Dialogue, Seat, Typing
from turnwise.dialogues.queries import seat_of
from turnwise.dialogues.seat_context import SeatContext
from turnwise.dialogues.services import SeatOccupant, create_dialogue, open_exchange
from turnwise.judging.items import subjects
from turnwise.judging.models import JudgingPlan, Training
from turnwise.judging.queue import services as judging
from turnwise.judging.queue import training
from turnwise.labels.models import Label
from turnwise.labels.services import record
from turnwise.live.frames import RefusedError
from turnwise.privacy.withdrawal import withdraw
from turnwise.questionnaires.services import due_questionnaires, save_answers
from turnwise.studies.asks import About, AskSpec, Moment
from turnwise.studies.models import Study

pytestmark = pytest.mark.django_db(transaction=True)

YES = {"sensible": True, "specific": True}
SECRET = "I live in Gdynia"
LONGEST_WAIT = 20.0


class Elsewhere:
    """A second connection, as of another process."""

    def __init__(self, pool: ThreadPoolExecutor) -> None:
        self._pool = pool

    def begin(self, step: Callable[[], Any]) -> "Future[Any]":
        """Start a step there; returns once it has ended or waits for a lock."""
        future = self._pool.submit(_with_own_connection, step)
        until = time.monotonic() + LONGEST_WAIT
        while not future.done() and not _somebody_waits():
            assert time.monotonic() < until, "The step neither ends nor waits for a lock."
            time.sleep(0.02)
        return future


def _with_own_connection(step: Callable[[], Any]) -> Any:
    try:
        return step()
    finally:
        connections.close_all()


def _somebody_waits() -> bool:
    with connection.cursor() as cursor:
        cursor.execute("SELECT count(*) FROM pg_locks WHERE NOT granted")
        return bool(cursor.fetchone()[0])


@pytest.fixture
def elsewhere() -> Iterator[Elsewhere]:
    with ThreadPoolExecutor(2) as pool:
        yield Elsewhere(pool)


@contextmanager
def withdrawing(own: Participation) -> Iterator[None]:
    """A withdrawal that has done everything and is not committed before the end of the block."""
    with transaction.atomic():
        withdraw(own.pk)
        yield


@pytest.fixture
def meeting(make_meeting: MakeMeeting) -> tuple[Dialogue, list[SeatContext]]:
    """Two people who have begun to talk, and the seats of both."""
    study = make_meeting(notes_typing=True, moment=Moment.BEFORE_FINISH)
    first, second = come(study), come(study)
    dialogue = create_dialogue(
        study, SeatOccupant(assignment=first), SeatOccupant(assignment=second), now=timezone.now()
    )
    workers = dialogue.seats.order_by("number").values_list("worker_id", flat=True)
    return dialogue, [seat_of(dialogue.public_id, worker) for worker in workers if worker]


def say(seat: SeatContext, text: str, key: UUID | None = None) -> None:
    async_to_sync(open_exchange)(seat, text=text, key=key or uuid4())


def participation_of(seat: SeatContext) -> Participation:
    return Participation.objects.get(pk=seat.participation_id)


def test_an_item_leased_during_a_withdrawal_cannot_be_judged_after_it(
    make_queue: MakeQueue, elsewhere: Elsewhere
) -> None:
    desk = begin(make_queue(8, raters=1, batch=8))
    own = Participation.objects.get()
    items = judging.state(desk)["items"]
    is_withdrawn, may_commit = Event(), Event()

    def withdraw_slowly() -> None:
        with transaction.atomic():
            withdraw(own.pk)
            is_withdrawn.set()
            assert may_commit.wait(LONGEST_WAIT)

    with transaction.atomic():
        leased = judging.judge(desk, key=UUID(items[0]["key"]), answers=YES).leased
        withdrawal = elsewhere.begin(withdraw_slowly)
    assert is_withdrawn.wait(LONGEST_WAIT)
    judgment = elsewhere.begin(lambda: judging.judge(desk, key=UUID(leased[0]["key"]), answers=YES))
    may_commit.set()

    withdrawal.result(LONGEST_WAIT)
    with pytest.raises(RefusedError, match="finished"):
        judgment.result(LONGEST_WAIT)
    assert not Label.objects.exists()


def test_judging_a_text_does_not_block_its_author_s_withdrawal(
    make_study: MakeStudy, make_queue: MakeQueue, elsewhere: Elsewhere
) -> None:
    dialogue = talked(make_study(min_turns=2), [(True, True), (True, False)], text=SECRET)
    assert dialogue.participation
    own, readers = dialogue.participation, make_queue()
    subjects.add_turns(readers, dialogue.study, language="en")
    desk = begin(readers)
    item = judging.state(desk)["items"][0]

    with transaction.atomic():
        judging.judge(desk, key=UUID(item["key"]), answers=YES)
        withdrawal = elsewhere.begin(lambda: withdraw(own.pk))
    withdrawal.result(LONGEST_WAIT)

    assert not Dialogue.objects.filter(study=own.study_id).exists()
    assert not Label.objects.exists()


def test_a_message_to_a_person_is_not_saved_once_its_author_withdraws(
    meeting: tuple[Dialogue, list[SeatContext]], elsewhere: Elsewhere
) -> None:
    dialogue, (first, second) = meeting
    say(first, SECRET)
    say(second, "Hello")
    with withdrawing(participation_of(first)):
        message = elsewhere.begin(lambda: say(first, "Another secret"))

    with pytest.raises(RefusedError, match="ended"):
        message.result(LONGEST_WAIT)
    assert [turn.text for turn in dialogue.turn_set.all()] == [WITHDRAWN, "Hello"]


def test_an_answer_about_a_person_is_not_saved_once_its_author_withdraws(
    meeting: tuple[Dialogue, list[SeatContext]], elsewhere: Elsewhere
) -> None:
    _, (first, second) = meeting
    say(first, SECRET)
    say(second, "Hello")
    with withdrawing(participation_of(first)):
        answer = elsewhere.begin(lambda: async_to_sync(record)(first, position=1, answers=YES))

    with pytest.raises(RefusedError, match="ended"):
        answer.result(LONGEST_WAIT)
    assert not Label.objects.exists()


def test_typing_data_are_not_saved_once_the_author_withdraws(
    meeting: tuple[Dialogue, list[SeatContext]], elsewhere: Elsewhere
) -> None:
    dialogue, (first, _) = meeting
    key = uuid4()
    say(first, SECRET, key)
    with withdrawing(participation_of(first)):
        note = elsewhere.begin(
            lambda: turn_taking.record_typing(dialogue.pk, key, turn_taking.TypingMeasurement(0, 900))
        )
    note.result(LONGEST_WAIT)

    assert not Typing.objects.exists()


def test_a_message_to_a_chatbot_is_refused_once_its_author_withdraws(
    make_study: MakeStudy, elsewhere: Elsewhere
) -> None:
    dialogue = start_dialogue(make_study(opening_speaker="human", opening_text=""))
    seat = dialogue.seats.get(bot=None)
    assert seat.worker_id
    place = seat_of(dialogue.public_id, seat.worker_id)
    with withdrawing(participation_of(place)):
        message = elsewhere.begin(lambda: say(place, SECRET))

    with pytest.raises(RefusedError, match="ended"):
        message.result(LONGEST_WAIT)
    assert not Dialogue.objects.exists()


def test_no_conversation_begins_once_its_worker_withdraws(
    make_study: MakeStudy, elsewhere: Elsewhere
) -> None:
    own = enter(make_study())
    assignment = assign(own.pk)
    with withdrawing(own):
        conversation = elsewhere.begin(lambda: services.begin(assignment))

    with pytest.raises(EntryRefusedError):
        conversation.result(LONGEST_WAIT)
    assert not Seat.objects.exists()


def test_answers_about_oneself_are_not_saved_once_their_author_withdraws(
    make_study: MakeStudy, elsewhere: Elsewhere
) -> None:
    ssa = AskSpec("ssa", About.PARTNER_TURN, Moment.EACH_TURN)
    own = enter(
        make_study(asks=[ssa, AskSpec("demographics", About.PERSON, Moment.BEFORE_WORK, required=False)])
    )
    assert due_questionnaires(own, Moment.BEFORE_WORK)  # as their page has found before
    with withdrawing(own):
        answers = elsewhere.begin(lambda: save_answers(own, Moment.BEFORE_WORK, {}))
    answers.result(LONGEST_WAIT)

    assert not Label.objects.exists()


def test_practice_before_judging_is_not_counted_once_its_worker_withdraws(
    make_queue: MakeQueue, elsewhere: Elsewhere
) -> None:
    study = make_queue()
    JudgingPlan.objects.update_or_create(study=study, defaults={"training_tries": 2})
    study = Study.objects.get(pk=study.pk)
    own = Participation.objects.select_related("study").get(pk=enter(study).pk)
    given = [dict(YES) for _ in training.examples_of(study)]
    assert given
    with withdrawing(own):
        practice = elsewhere.begin(lambda: training.mark_attempt(own, given))
    practice.result(LONGEST_WAIT)

    assert not Training.objects.exists()


async def test_an_open_page_is_led_on_once_its_worker_withdraws(
    make_study: MakeStudy, open_tab: OpenTab, caplog: pytest.LogCaptureFixture
) -> None:
    dialogue = await sync_to_async(start_dialogue)(await sync_to_async(make_study)())
    tab = await open_tab(dialogue)
    await tab.say(SECRET)
    own = await Participation.objects.aget()
    await sync_to_async(withdraw)(own.pk)

    state = await tab.receive("state")

    assert (state["turns"], bool(state["finished"])) == ([], True)
    assert not [each for each in caplog.records if each.exc_info]
