"""Two people talk and annotate, in whatever order: all stays legal, and nobody holds up the other."""

from collections.abc import Awaitable
from dataclasses import replace
from typing import Any
from uuid import UUID, uuid4

import pytest
from asgiref.sync import sync_to_async
from django.utils import timezone
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.conftest import MakeStudy, enter
from turnwise.crowd.models import Assignment, Participation, Worker
from turnwise.crowd.panels import Arrival
from turnwise.crowd.refusals import EntryRefusedError
from turnwise.dialogues.models import Dialogue, Turn
from turnwise.dialogues.progress import SeatAsk, due_at_the_end
from turnwise.dialogues.queries import progress_of, seat_of
from turnwise.dialogues.seat_context import SeatContext
from turnwise.dialogues.services import SeatOccupant, create_dialogue, finish, open_exchange
from turnwise.labels.models import Label
from turnwise.labels.services import record
from turnwise.live.frames import RefusedError
from turnwise.studies.asks import About, By, Moment
from turnwise.studies.models import Ask, Study

pytestmark = pytest.mark.django_db(transaction=True)

SENSIBLE = {"sensible": True, "specific": False}
RATING = dict.fromkeys(("quality", "fluency", "diversity", "relatedness", "empathy"), 4)
ASKS = [
    SeatAsk(0, 0, "ssa", About.PARTNER_TURN, Moment.EACH_TURN, required=True),
    SeatAsk(0, 1, "human-likeness", About.OWN_TURN, Moment.WAITING, required=True),
    SeatAsk(0, 2, "likert", About.DIALOGUE, Moment.AT_END, required=True),
]
# (which of the two, what they do, about which turn)
STEPS = st.lists(
    st.tuples(
        st.integers(0, 1),
        st.sampled_from(["say", "say", "say again", "partner's", "own", "whole", "finish", "reconnect"]),
        st.integers(0, 9),
    ),
    max_size=30,
)


@sync_to_async
def seated(study: Study) -> tuple[SeatContext, SeatContext]:
    """Two workers of a study in one conversation, who are both asked all of `ASKS`."""
    taken = []
    for _ in range(2):
        participation = enter(study)
        now = timezone.now()
        assignment = Assignment.objects.create(
            participation=participation, study=study, assigned_at=now, active_at=now
        )
        taken.append(SeatOccupant(assignment=assignment))
    dialogue = create_dialogue(study, taken[0], taken[1], now=timezone.now())
    dialogue.seats.update(asks=[replace(ask, pk=_stored(study, ask)).as_json() for ask in ASKS])
    Dialogue.objects.filter(pk=dialogue.pk).update(due_0=due_at_the_end(ASKS), due_1=due_at_the_end(ASKS))
    first, second = dialogue.seats.order_by("number")
    assert first.worker_id
    assert second.worker_id
    return seat_of(dialogue.public_id, first.worker_id), seat_of(dialogue.public_id, second.worker_id)


def _stored(study: Study, ask: SeatAsk) -> int:
    same = {"question_set": ask.question_set, "about": ask.about, "moment": ask.moment, "by": By.TALKERS}
    return Ask.objects.update_or_create(study=study, number=ask.number, defaults=same)[0].pk


async def attempt(step: Awaitable[Any]) -> str:
    """What became of a step: "done", or the reason for which it was refused."""
    try:
        await step
    except RefusedError as refusal:
        return refusal.reason
    return "done"


async def take(seat: SeatContext, what: str, position: int, said: dict[int, UUID]) -> str:
    """One step of one of the two. `said` holds the key of their last message."""
    if what == "say":
        said[seat.number] = uuid4()
    if what in ("say", "say again"):
        key = said.setdefault(seat.number, uuid4())
        return await attempt(open_exchange(seat, text="Well", key=key))
    if what == "partner's":
        return await attempt(record(seat, ask=0, position=position, answers=SENSIBLE))
    if what == "own":
        return await attempt(record(seat, ask=1, position=position, answers={"human_like": True}))
    if what == "whole":
        return await attempt(record(seat, ask=2, position=None, answers=RATING))
    if what == "finish":
        return await attempt(sync_to_async(finish)(seat))
    assert await sync_to_async(seat_of)(seat.public_id, seat.worker_id) == seat
    return "done"


@sync_to_async
def is_legal(seats: tuple[SeatContext, SeatContext]) -> None:
    """Turns alternate without a gap, labels are about the right turns, and exactly what lacks is due."""
    dialogue = Dialogue.objects.get(pk=seats[0].dialogue_id)
    turns = list(Turn.objects.filter(dialogue=dialogue).order_by("position"))
    assert [turn.position for turn in turns] == list(range(dialogue.turns))
    assert len({turn.key for turn in turns}) == len(turns)
    assert dialogue.turns <= dialogue.max_turns
    for seat, due in zip(seats, (dialogue.due_0, dialogue.due_1), strict=True):
        given = {
            (label.question_set, label.turn.position if label.turn else None): label.party
            for label in Label.objects.filter(rater_id=seat.worker_id).select_related("turn")
        }
        partners = [turn.position for turn in turns if turn.position % 2 != seat.number]
        own = [turn.position for turn in turns if turn.position % 2 == seat.number]
        lacking = [32 * p for p in partners if ("ssa", p) not in given]
        lacking += [-32 * p - 1 - 1 for p in own if ("human-likeness", p) not in given]
        lacking += [] if ("likert", None) in given else [-32 * 1000 - 2 - 1]
        assert sorted(due) == sorted(lacking)
        assert {party for (questions, _), party in given.items() if questions == "ssa"} <= {"partner"}
        assert {party for (questions, _), party in given.items() if questions != "ssa"} <= {"chatter"}
    if dialogue.ending:
        assert not dialogue.due_0
        assert not dialogue.due_1
        assert dialogue.turns >= dialogue.min_turns


@sync_to_async
def two_people_study(make_study: MakeStudy) -> Study:
    return make_study(opening_speaker="human", opening_text="", min_turns=2, max_turns=6)


@settings(max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(steps=STEPS)
async def test_any_order_of_two_peoples_steps_is_legal(make_study: MakeStudy, steps: list[Any]) -> None:
    study = await Study.objects.afirst() or await two_people_study(make_study)
    seats = await seated(study)
    said: dict[int, UUID] = {}

    for who, what, position in steps:
        await take(seats[who], what, position, said)

    await is_legal(seats)


async def test_both_annotate_and_each_finishes_alone(make_study: MakeStudy) -> None:
    first, second = await seated(await two_people_study(make_study))

    async def say(seat: SeatContext) -> None:
        await open_exchange(seat, text="Well", key=uuid4())

    await say(first)
    assert await attempt(open_exchange(first, text="And", key=uuid4())) == "not_your_turn"
    # What the second has to answer about the first's turn holds up the second only.
    assert await attempt(open_exchange(second, text="Hm", key=uuid4())) == "label_first"
    await record(second, ask=0, position=0, answers=SENSIBLE)
    await say(second)
    await record(first, ask=0, position=1, answers=SENSIBLE)
    await record(first, ask=1, position=0, answers={"human_like": True})
    assert await attempt(sync_to_async(finish)(first)) == "rate_first"
    await record(first, ask=2, position=None, answers=RATING)
    await sync_to_async(finish)(first)

    assert await attempt(open_exchange(second, text="Bye", key=uuid4())) == "partner_finished"
    assert (await sync_to_async(progress_of)(second)).closing
    assert not (await Dialogue.objects.aget()).ending
    await record(second, ask=1, position=1, answers={"human_like": False})
    _, progress = await record(second, ask=2, position=None, answers=RATING)
    assert progress.closing  # an answer does not open the conversation again
    await sync_to_async(finish)(second)

    dialogue = await Dialogue.objects.aget()
    assert (dialogue.ending, dialogue.due_0, dialogue.due_1) == ("complete", [], [])
    assert await Assignment.objects.filter(outcome="complete").acount() == 2


async def test_a_person_cannot_answer_asks_of_the_partner_or_of_other_studies(make_study: MakeStudy) -> None:
    first, second = await seated(await two_people_study(make_study))
    await open_exchange(first, text="Well", key=uuid4())

    assert await attempt(record(first, ask=0, position=0, answers=SENSIBLE)) == "not_to_label"
    assert await attempt(record(second, ask=1, position=0, answers={"human_like": True})) == "not_to_label"
    assert await attempt(record(second, ask=7, position=0, answers=SENSIBLE)) == "no_such_ask"
    assert await attempt(record(second, ask=2, position=0, answers=RATING)) == "no_such_ask"
    assert await Label.objects.acount() == 0


@sync_to_async
def agree_again(seat: SeatContext, panel_id: str) -> str:
    """Somebody with the same panel id agrees in another browser: what becomes of it."""
    Worker.objects.filter(pk=seat.worker_id).update(panel="prolific", panel_id=panel_id)
    study = Dialogue.objects.get(pk=seat.dialogue_id).study
    try:
        enter(study, Arrival("prolific", panel_id))
    except EntryRefusedError as refusal:
        return refusal.reason
    return "begun anew"


async def test_a_second_consent_keeps_a_conversation_with_a_partner_who_has_spoken(
    make_study: MakeStudy,
) -> None:
    first, second = await seated(await two_people_study(make_study))
    await open_exchange(first, text="Hello there", key=uuid4())

    assert await agree_again(second, "willy") == "already_started"  # though willy has sent nothing

    assert await Turn.objects.aget() == await Turn.objects.aget(text="Hello there")
    assert await sync_to_async(progress_of)(first)


async def test_a_second_consent_before_the_first_message_starts_over(make_study: MakeStudy) -> None:
    first, second = await seated(await two_people_study(make_study))

    assert await agree_again(second, "willy") == "begun anew"

    assert not await Dialogue.objects.filter(pk=first.dialogue_id).aexists()
    assert await Participation.objects.acount() == 2
