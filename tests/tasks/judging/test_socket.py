"""The socket of a worker who judges, as the page uses it."""

import json
import random
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
from asgiref.sync import sync_to_async
from asgiref.testing import ApplicationCommunicator
from channels.routing import URLRouter
from django.core.management import call_command

from tests.conftest import PATIENCE, MakeContexts, MakeQueue, MakeStudy, enter
from tests.desks import OPEN
from turnwise.accounts.models import User
from turnwise.crowd.entry.sessions import COOKIE, signed
from turnwise.crowd.models import Assignment, Participation
from turnwise.judging.items import subjects
from turnwise.judging.items.item_selection import select_contexts
from turnwise.judging.models import Batch, Item, Slot
from turnwise.judging.queue import services as judging
from turnwise.labels.models import Label
from turnwise.project.sockets import websocket_urlpatterns
from turnwise.questions.services import create_set
from turnwise.reports.services import build_report, queue_report
from turnwise.studies.asks import About, AskSpec
from turnwise.studies.models import Study

YES = {"sensible": True, "specific": True}


class Seat:
    """A worker's tab at the queue."""

    def __init__(self, batch: object, cookie: str) -> None:
        scope = {
            "type": "websocket",
            "path": f"/ws/batches/{batch}/",
            "headers": [(b"cookie", f"{COOKIE}={cookie}".encode())],
            "subprotocols": [],
        }
        self.application = ApplicationCommunicator(URLRouter(websocket_urlpatterns), scope)

    async def connect(self) -> dict[str, Any]:
        await self.application.send_input({"type": "websocket.connect"})
        assert (await self.application.receive_output(timeout=PATIENCE))["type"] == "websocket.accept"
        return await self.receive()

    async def send(self, text: str | None = None, **frame: Any) -> None:
        text = json.dumps(frame) if text is None else text
        await self.application.send_input({"type": "websocket.receive", "text": text})

    async def receive(self) -> dict[str, Any]:
        message = await self.application.receive_output(timeout=PATIENCE)
        assert message["type"] == "websocket.send", message
        frame: dict[str, Any] = json.loads(message["text"])
        return frame

    async def judge(self, item: str, **answers: bool) -> dict[str, Any]:
        await self.send(type="judge", item=item, answers=answers)
        return await self.receive()

    async def close_code(self) -> int:
        message = await self.application.receive_output(timeout=PATIENCE)
        assert message["type"] == "websocket.close", message
        return int(message["code"])


OpenSeat = Callable[..., Awaitable[tuple[Seat, dict[str, Any]]]]


@pytest.fixture
async def sit(transactional_db: None) -> AsyncIterator[OpenSeat]:
    """Let somebody new sit down at a study's queue; the tab and its first frame."""
    seats: list[Seat] = []

    async def one(study: Study, language: str = "en") -> tuple[Seat, dict[str, Any]]:
        batch, cookie = await sync_to_async(new_batch)(study, language)
        seats.append(Seat(batch.public_id, cookie))
        return seats[-1], await seats[-1].connect()

    yield one
    for seat in seats:
        if not seat.application.future.done():
            await seat.application.send_input({"type": "websocket.disconnect", "code": 1005})
            await seat.application.wait(timeout=PATIENCE)


def new_batch(study: Study, language: str = "en") -> tuple[Batch, str]:
    participation = enter(study)
    return judging.begin(participation, language=language), signed(participation)


@pytest.fixture
def queue(transactional_db: None, make_queue: MakeQueue) -> Study:
    return make_queue(5, batch=3)


async def test_each_item_is_asked_its_own_questions_one_set_after_the_other(
    sit: OpenSeat, make_queue: MakeQueue
) -> None:
    asks = [AskSpec("ssa", About.RESPONSE), AskSpec("human-likeness", About.RESPONSE)]
    study = await sync_to_async(make_queue)(3, batch=6, asks=asks)
    seat, state = await sit(study)
    waiting, order = list(state["items"]), []

    while waiting:
        item = waiting.pop(0)
        order.append(item["ask"])
        wrong = await seat.judge(item["key"], **({"human_like": True} if item["ask"] == 0 else YES))
        assert wrong["type"] == "refused"
        right = await seat.judge(item["key"], **(YES if item["ask"] == 0 else {"human_like": True}))
        assert right["type"] == "judged"
        waiting += right["leased"]

    assert order in ([0] * 3 + [1] * 3, [1] * 3 + [0] * 3)
    given = [label.question_set async for label in Label.objects.order_by("pk")]
    assert given == [asks[number].question_set for number in order]


async def test_a_batch_from_the_first_item_to_the_end(sit: OpenSeat, queue: Study) -> None:
    seat, state = await sit(queue)
    items = [item["key"] for item in state["items"]]
    assert state["progress"] == {"done": 0, "size": 3, "may_finish": False}
    for number, item in enumerate(items, 1):
        judged = await seat.judge(item, **YES)
        assert judged["progress"] == {"done": number, "size": 3, "may_finish": number == 3}
    await seat.send(type="finish")

    assert (await seat.receive())["finished"] == f"/s/{queue.code}/thanks/"
    assert await Assignment.objects.filter(outcome="complete").acount() == 1


async def test_the_next_item_comes_with_the_answer_to_the_last(sit: OpenSeat, make_queue: MakeQueue) -> None:
    seat, state = await sit(await sync_to_async(make_queue)(5))

    judged = await seat.judge(state["items"][0]["key"], **YES)

    assert len(judged["leased"]) == 1
    assert judged["leased"][0]["key"] not in [item["key"] for item in state["items"]]


NOWHERE = "00000000-0000-4000-8000-000000000000"


@pytest.mark.parametrize(
    ("frame", "reason"),
    [
        ('{"type":"judge","item":7,"answers":{}}', "malformed"),
        ('{"type":"judge","item":"no uuid","answers":{}}', "malformed"),
        (f'{{"type":"judge","item":"{NOWHERE}","answers":[]}}', "malformed"),
        (f'{{"type":"judge","item":"{NOWHERE}","answers":{{"sensible":1}}}}', "wrong_value"),
        (f'{{"type":"judge","item":"{NOWHERE}","answers":{{}}}}', "missing_answer"),
        ('{"type":"steal"}', "unknown_type"),
        ("[", "not_json"),
        ('{"type":"finish"}', "unjudged"),
    ],
)
async def test_a_frame_that_is_not_right_is_refused(
    sit: OpenSeat, queue: Study, frame: str, reason: str
) -> None:
    seat, _ = await sit(queue)

    await seat.send(frame)

    assert (await seat.receive())["reason"] == reason
    assert not await Label.objects.aexists()


async def test_an_item_that_is_not_before_the_worker_cannot_be_judged(sit: OpenSeat, queue: Study) -> None:
    seat, state = await sit(queue)
    other = await Item.objects.exclude(key__in=[item["key"] for item in state["items"]]).afirst()
    assert other

    refused = await seat.judge(str(other.key), **YES)

    assert refused["reason"] == "given_away"
    assert refused["item"] == str(other.key)
    assert (await seat.receive())["items"] == state["items"]


async def test_a_batch_of_somebody_else_is_refused(sit: OpenSeat, queue: Study) -> None:
    batch, _ = await sync_to_async(new_batch)(queue)
    _, cookie = await sync_to_async(new_batch)(queue)
    seat = Seat(batch.public_id, cookie)

    assert (await seat.connect())["reason"] == "not_yours"
    assert await seat.close_code() == 4403


async def test_a_batch_that_this_browser_did_not_begin_is_refused(sit: OpenSeat, queue: Study) -> None:
    """The same worker, known by their panel, in a browser that entered another study only."""
    batch, _ = await sync_to_async(new_batch)(queue)
    elsewhere = await Participation.objects.select_related("worker").aget(assignment__batch=batch)
    elsewhere.pk += 1
    seat = Seat(batch.public_id, signed(elsewhere))

    assert (await seat.connect())["reason"] == "not_yours"


async def test_without_a_session_nothing_is_shown(sit: OpenSeat, queue: Study) -> None:
    seat = Seat(uuid4(), "forged")

    assert (await seat.connect())["reason"] == "no_session"
    assert await seat.close_code() == 4401


async def test_a_loop_that_sends_is_cut_off(sit: OpenSeat, queue: Study) -> None:
    seat, _ = await sit(queue)
    for _ in range(60):
        await seat.send(type="ping")

    frames = [await seat.receive() for _ in range(41)]

    assert frames[-1]["reason"] == "too_fast"
    assert await seat.close_code() == 4429


async def test_planted_rates_are_in_the_report(sit: OpenSeat, make_queue: MakeQueue) -> None:
    """Forty items, five raters: on 30 items a majority is told to say sensible, on 12 of these specific."""
    study = await sync_to_async(make_queue)(40, batch=40)
    keys = [str(key) async for key in Item.objects.order_by("pk").values_list("key", flat=True)]
    rng = random.Random(1)
    votes = {key: plan(number, rng) for number, key in enumerate(keys)}
    for rater in range(5):
        seat, state = await sit(study)
        items = [item["key"] for item in state["items"]]
        while items:
            key = items.pop()
            judged = await seat.judge(key, **votes[key][rater])
            items += [item["key"] for item in judged["leased"]]
        await seat.send(type="finish")
        await seat.receive()

    (found,) = (await sync_to_async(report_of)(study))["majority"]

    assert [cell["value"] for cell in found["cells"]] == [75, 30, 52.5]


def plan(number: int, rng: random.Random) -> list[dict[str, bool]]:
    """Five answers in random order: three or more of the planted one, the others different."""
    if number >= 30:
        answers = [{"sensible": False}] * 3 + [YES] * 2
    elif number >= 12:
        answers = [{"sensible": True, "specific": False}] * 3 + [YES] * 2
    else:
        answers = [YES] * 3 + [{"sensible": False}] * 2
    rng.shuffle(answers)
    return answers


def report_of(study: Study) -> dict[str, Any]:
    study.refresh_from_db()
    report = queue_report(study)
    build_report(report.pk)
    report.refresh_from_db()
    assert report.result
    return report.result


# --- the published conversations ---------------------------------------------------------------------

PUBLISHED = Path(__file__).parents[4] / "shared" / "data" / "meena"
# Shares of votes that are planted: sensible, and specific among these.
RATES = {"Human": (0.95, 0.8), "Meena": (0.85, 0.75), "Mitsuku": (0.7, 0.5), "XiaoIce": (0.4, 0.3)}
TURNS_OF_EACH = 50
Votes = dict[str, list[tuple[bool, bool]]]


def published_turns(make_study: MakeStudy, make_queue: MakeQueue) -> Study:
    """The four files, imported; fifty turns of each system wait to be judged by five raters."""
    queue: Study = make_queue(raters=5, batch=30, languages=["en", "zh"])
    for system in RATES:
        language = "zh" if system == "XiaoIce" else "en"
        source = make_study({f"beside-{system.lower()}": 1}, languages=[language])
        call_command("import_dialogues", str(PUBLISHED / f"{system.lower()}.txt"), study=source.code)
        subjects.add_turns(queue, source, language=language, conversations=12)
        more = queue.items.filter(turn__bot_version__bot__title=system).order_by("pk")[TURNS_OF_EACH:]
        queue.items.filter(pk__in=list(more.values_list("pk", flat=True))).delete()
    return queue


def planted(study: Study) -> tuple[dict[str, str], Votes]:
    """By item its system, and the votes of five raters as (sensible, specific)."""
    rng = random.Random(7)
    systems = {str(i.key): i.turn.bot_version.bot.title for i in study.items.order_by("pk") if i.turn}
    votes: Votes = {}
    for key, system in systems.items():
        sensible, specific = RATES[system]
        votes[key] = [(rng.random() < sensible, rng.random() < specific) for _ in range(5)]
        votes[key] = [(makes_sense, makes_sense and fits) for makes_sense, fits in votes[key]]
    return systems, votes


def answers_of(vote: tuple[bool, bool]) -> dict[str, bool]:
    return {"sensible": True, "specific": vote[1]} if vote[0] else {"sensible": False}


@pytest.mark.shared_data
@pytest.mark.skipif(not PUBLISHED.exists(), reason=f"{PUBLISHED} is absent")
async def test_planted_rates_of_the_published_conversations_are_in_the_report(
    sit: OpenSeat, make_study: MakeStudy, make_queue: MakeQueue
) -> None:
    study = await sync_to_async(published_turns)(make_study, make_queue)
    systems, votes = await sync_to_async(planted)(study)
    assert Counter(systems.values()) == dict.fromkeys(RATES, TURNS_OF_EACH)
    waiting = {key: list(given) for key, given in votes.items()}

    for language in ("en", "zh"):
        while await Slot.objects.filter(study=study, language=language, label=None).aexists():
            seat, state = await sit(study, language)
            items = [item["key"] for item in state["items"]]
            while items:
                key = items.pop()
                judged = await seat.judge(key, **answers_of(waiting[key].pop()))
                items += [item["key"] for item in judged["leased"]]
            await seat.send(type="finish")
            assert (await seat.receive())["finished"]

    result = await sync_to_async(report_of)(study)
    for system in RATES:
        of_system = [votes[key] for key in systems if systems[key] == system]
        # An item is a yes by majority if three of its five raters say so; a mean is over all 250 votes.
        majority = [100 * sum(sum(v[n] for v in five) >= 3 for five in of_system) / 50 for n in (0, 1)]
        mean = [100 * sum(v[n] for five in of_system for v in five) / 250 for n in (0, 1)]
        for rows, (sensible, specific) in (("majority", majority), ("bots", mean)):
            (row,) = [each for each in result[rows] if each["bot"] == system]
            expected = [sensible, specific, (sensible + specific) / 2]
            assert [cell["value"] for cell in row["cells"]] == pytest.approx(expected, abs=1e-9)
    assert result["raters_per_item"] == [{"raters": 5, "items": 4 * TURNS_OF_EACH}]


@pytest.mark.django_db(transaction=True)
async def test_each_judgment_has_its_time(make_queue: MakeQueue, sit: OpenSeat) -> None:
    study = await sync_to_async(make_queue)(2, message_minutes=1)
    seat, first = await sit(study)
    (clock,) = (await seat.receive())["clocks"]
    assert (clock["of"], clock["more"]) == ("message", 10)

    place = await Assignment.objects.aget()
    before = place.step_due_at
    assert (await seat.judge(first["items"][0]["key"], **YES))["type"] == "judged"

    assert (await seat.receive())["type"] == "standing"
    await place.arefresh_from_db()
    assert place.step_due_at > before


@pytest.fixture
def of_contexts(
    transactional_db: None, make_queue: MakeQueue, make_contexts: MakeContexts, rex: User
) -> Study:
    """Two contexts are judged themselves, without a response."""
    study = make_queue(raters=1, question_set=create_set(OPEN, owner=rex).key, protocol="")
    subjects.add_selection(select_contexts(study, make_contexts(2)))
    return study


async def test_contexts_come_without_a_response_and_their_labels_are_of_them(
    sit: OpenSeat, of_contexts: Study
) -> None:
    seat, state = await sit(of_contexts)
    said = {item["key"]: (item["context"], item["text"]) for item in state["items"]}
    assert sorted(said.values()) == [(["Question 1?"], None), (["Question 2?"], None)]

    for key, answer in zip(said, (True, False), strict=True):
        assert (await seat.judge(key, open=answer))["type"] == "judged"
    again = await seat.judge(next(iter(said)), open=False)
    assert (again["type"], again["progress"]["done"]) == ("judged", 2)  # changed, not given twice

    labels = {
        label.context.turns[0]: (label.answers["open"], label.changes)
        async for label in Label.objects.select_related("context")
        if label.context
    }
    first, second = (context[0] for context, _text in said.values())
    assert labels == {first: (False, 1), second: (False, 0)}
