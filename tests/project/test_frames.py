"""Every frame of every socket, from somebody admitted there who names what is another's in it.

The frames are those that the sockets themselves list: one without a rule here fails.
"""

import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any
from uuid import uuid4

import pytest
from asgiref.sync import sync_to_async
from django.conf import settings
from django.db.models import QuerySet
from django.test import Client
from django.utils import timezone

from tests.arenas import come, make_arena
from tests.conftest import (
    MakeMeeting,
    MakeQueue,
    MakeStudy,
    MakeWriting,
    OpenTab,
    Tab,
    enter,
    start_dialogue,
    worker_of,
)
from tests.operating.conftest import MakeWizard
from turnwise.accounts.models import User
from turnwise.bots import operators
from turnwise.crowd.entry.sessions import COOKIE, signed
from turnwise.crowd.models import Assignment, Participation, Waiting
from turnwise.crowd.places.assignment import admit
from turnwise.crowd.running import lobby_queue
from turnwise.dialogues.models import Battle, Dialogue, OperatorReply, Turn
from turnwise.judging.models import Batch, Slot
from turnwise.judging.queue import services as judging
from turnwise.labels.models import Label
from turnwise.project.sockets import websocket_urlpatterns
from turnwise.responses.models import Response, WritingPlace
from turnwise.tasks.writing import services as writing

pytestmark = pytest.mark.django_db(transaction=True)
make = sync_to_async

SECRET = "My sister lives in Leeds."
YES = {"sensible": True, "specific": True}
ONE_S_OWN = ""
"""Names nothing, or can only mean what is one's own: accepted or refused, it touches nobody else's."""

ANSWERED_BY_PONG = ("ping", "typing")

# By socket and frame: what has to be in it, from `Theirs.ids`, and the refusal of naming what is another's.
FRAMES: dict[str, dict[str, tuple[dict[str, Any], str]]] = {
    "dialogues": {
        "ping": ({}, ONE_S_OWN),
        "more_time": ({"of": "session"}, ONE_S_OWN),
        "here": ({}, ONE_S_OWN),
        "typing": ({}, ONE_S_OWN),
        "turn": ({"text": "This is mine.", "key": "<key>"}, ONE_S_OWN),
        "label": ({"position": "<position>", "answers": YES}, "unknown_turn"),
        "retry": ({}, ONE_S_OWN),
        "stop": ({"position": "<position>"}, ONE_S_OWN),
        "regenerate": ({"position": "<position>", "key": "<key>"}, "may_not_choose"),
        "keep_version": ({"position": "<position>", "number": 1}, "may_not_choose"),
        "finish": ({}, "unanswered"),
        "give_up": ({}, "may_not_give_up"),
        "end_alone": ({}, "unknown_type"),
    },
    "batches": {
        "ping": ({}, ONE_S_OWN),
        "more_time": ({"of": "session"}, ONE_S_OWN),
        "judge": ({"item": "<item>", "answers": YES}, "given_away"),
        "finish": ({}, "unjudged"),
    },
    "writing": {
        "ping": ({}, ONE_S_OWN),
        "more_time": ({"of": "session"}, ONE_S_OWN),
        "write": ({"item": "<item>", "text": "What a nice day it is in the garden."}, "given_away"),
        "finish": ({}, "unwritten"),
    },
    "arena": {
        "ping": ({}, ONE_S_OWN),
        "more_time": ({"of": "session"}, ONE_S_OWN),
        "turn": ({"battle": "<battle>", "text": "This is mine.", "key": "<key>"}, "battle_over"),
        "retry": ({"battle": "<battle>"}, ONE_S_OWN),
        "vote": (
            {"battle": "<battle>", "exchange": 1, "ask": 0, "answers": {"better": "first"}},
            ONE_S_OWN,
        ),
        "anew": ({"battle": "<battle>"}, ONE_S_OWN),
        "give_up": ({"battle": "<battle>"}, ONE_S_OWN),
        "finish": ({}, "unvoted"),
    },
    "lobby": {
        "ping": ({}, ONE_S_OWN),
        "more_time": ({"of": "session"}, ONE_S_OWN),
        "here": ({"meeting": "<meeting>"}, ONE_S_OWN),
    },
    "operating": {
        "ping": ({}, ONE_S_OWN),
        "here": ({}, ONE_S_OWN),
        "take_new": ({"wanted": True}, ONE_S_OWN),
        "open": ({"id": "<id>", "take": True}, "over"),
        "answer": ({"id": "<id>", "position": "<position>", "text": "Hello.", "key": "<key>"}, "over"),
    },
}


@dataclass
class Theirs:
    """What is another's, and the socket of somebody who is admitted beside them."""

    path: str
    cookie: str
    ids: dict[str, Any]
    rows: Callable[[], list[QuerySet[Any]]]

    def stored(self) -> list[list[dict[str, Any]]]:
        return [list(each.order_by("pk").values()) for each in self.rows()]

    def frame(self, kind: str, given: dict[str, Any]) -> dict[str, Any]:
        """With all that is another's under every name that any frame might read."""
        fields = {name: self.ids[value[1:-1]] if _is_named(value) else value for name, value in given.items()}
        return self.ids | {"type": kind} | fields


def _is_named(value: object) -> bool:
    return isinstance(value, str) and value.startswith("<")


def own_cookie(participation: Participation) -> str:
    return f"{COOKIE}={signed(participation)}"


class OfSomebody(Tab):
    """The tab of somebody with this cookie at this address."""

    def __init__(self, theirs: Theirs) -> None:
        super().__init__(Dialogue(), "")
        self.application.scope |= {
            "path": theirs.path, "headers": [(b"cookie", theirs.cookie.encode())],
        }  # fmt: skip

    async def heard_after(self, frame: dict[str, Any]) -> list[dict[str, Any]]:
        """All that is said until a ping after it is answered."""
        await self.send(**frame)
        await self.send(type="ping")
        pongs = 1 + (frame["type"] in ANSWERED_BY_PONG)
        heard: list[dict[str, Any]] = []
        while sum(each["type"] == "pong" for each in heard) < pongs:
            heard.append(await self.receive())
        return heard


MakeTheirs = Callable[[], Any]


@pytest.fixture
def beside(
    make_study: MakeStudy,
    make_queue: MakeQueue,
    make_writing: MakeWriting,
    make_meeting: MakeMeeting,
    make_wizard: MakeWizard,
    open_tab: OpenTab,
    rex: User,
    mallory: User,
) -> dict[str, MakeTheirs]:
    async def in_dialogues() -> Theirs:
        study = await make(make_study)()
        own, other = [await make(start_dialogue)(study) for _ in range(2)]
        tab = await open_tab(other)
        for _ in range(2):
            await tab.exchange(SECRET, **YES)
        await tab.disconnect()
        said = await Turn.objects.filter(dialogue=other, text=SECRET).order_by("-position").afirst()
        assert said
        participation = await Participation.objects.aget(worker=await make(worker_of)(own))
        ids = {
            "dialogue": str(other.public_id), "key": str(said.key), "position": said.position + 1,
            "worker": (await make(worker_of)(other)).pk, "seat": 0, "ask": 0, "assignment": other.pk,
        }  # fmt: skip
        return Theirs(
            f"/ws/dialogues/{own.public_id}/",
            own_cookie(participation),
            ids,
            lambda: [
                Turn.objects.filter(dialogue=other),
                Label.objects.filter(turn__dialogue=other),
                Dialogue.objects.filter(pk=other.pk),
                Assignment.objects.filter(seat__dialogue=other),
            ],
        )

    def in_batches() -> Theirs:
        study = make_queue(60, raters=1)
        own, other = enter(study), enter(study)
        batch = judging.begin(own, language="en")
        theirs = judging.begin(other, language="en")
        leased = Slot.objects.filter(batch=theirs).first()
        assert leased
        ids = {"item": str(leased.key), "batch": str(theirs.public_id), "worker": other.worker_id}
        return Theirs(
            f"/ws/batches/{batch.public_id}/",
            own_cookie(own),
            ids,
            lambda: [
                Slot.objects.filter(batch=theirs),
                Batch.objects.filter(pk=theirs.pk),
                Label.objects.all(),
                Assignment.objects.filter(batch=theirs),
            ],
        )

    def in_writing() -> Theirs:
        study = make_writing(6)
        own, other = enter(study), enter(study)
        writing.begin(own.pk)
        writing.begin(other.pk)
        place = WritingPlace.objects.select_related("context").get(participation=other)
        ids = {"item": place.context.key, "participation": other.pk, "worker": other.worker_id}
        return Theirs(
            f"/ws/writing/{study.code}/",
            own_cookie(own),
            ids,
            lambda: [
                WritingPlace.objects.filter(participation=other),
                Response.objects.all(),
                Assignment.objects.filter(participation=other),
            ],
        )

    def in_arena() -> Theirs:
        study = make_arena(rex)
        own, other = come(study), come(study)
        battle = Battle.objects.get(assignment=other.assignment)
        Battle.objects.filter(pk=battle.pk).update(number=7)
        ids = {
            "battle": 7, "key": str(uuid4()), "participation": other.pk, "worker": other.worker_id,
            "id": battle.pk, "dialogue": str(battle.left.public_id),
        }  # fmt: skip
        sides = [battle.left_id, battle.right_id]
        return Theirs(
            f"/ws/arena/{study.code}/",
            own_cookie(own),
            ids,
            lambda: [
                Dialogue.objects.filter(pk__in=sides),
                Turn.objects.filter(dialogue__in=sides),
                Label.objects.all(),
                Assignment.objects.filter(participation=other),
            ],
        )

    def in_lobby() -> Theirs:
        study, elsewhere = make_meeting(), make_meeting(bots={"elsewhere": 1})
        own = enter(study)
        admit(own.pk)
        now = timezone.now()
        for _ in range(2):
            lobby_queue.enter(admit(enter(elsewhere).pk), tab=uuid4(), now=now)
        asked = lobby_queue.match(elsewhere.pk, now=now)
        ids = {"meeting": str(asked[0].meeting), "code": elsewhere.code, "assignment": asked[0].assignment_id}
        return Theirs(
            f"/ws/lobby/{study.code}/",
            own_cookie(own),
            ids,
            lambda: [Waiting.objects.filter(study=elsewhere), Dialogue.objects.filter(study=elsewhere)],
        )

    async def in_operating() -> Theirs:
        study = await make(make_wizard)(opening_speaker="human", opening_text="")
        bot = (await make(study.study_bots.select_related("bot").get)()).bot
        await make(operators.open_tab)(bot, rex, uuid4(), now=timezone.now())
        other = await make(start_dialogue)(study)
        tab = await open_tab(other)
        await tab.send(type="turn", key=str(uuid4()), text=SECRET)
        await tab.receive("turn_saved")
        await tab.disconnect()
        own_bot = await make(_another_wizard)(mallory)
        client = Client()
        await make(client.force_login)(mallory)
        ids = {
            "id": str(other.public_id), "position": 1, "key": str(uuid4()), "name": "wizard", "bot": bot.pk,
        }  # fmt: skip
        return Theirs(
            f"/ws/operating/{own_bot}/",
            f"{settings.SESSION_COOKIE_NAME}={client.cookies[settings.SESSION_COOKIE_NAME].value}",
            ids,
            lambda: [
                Turn.objects.filter(dialogue=other),
                OperatorReply.objects.all(),
                Dialogue.objects.filter(pk=other.pk),
            ],
        )

    return {
        "dialogues": in_dialogues,
        "batches": make(in_batches),
        "writing": make(in_writing),
        "arena": make(in_arena),
        "lobby": make(in_lobby),
        "operating": in_operating,
    }


def _another_wizard(operator: User) -> str:
    from turnwise.bots.services import register_bot

    return register_bot(name="own", title="Own", adapter="operator", owner=operator).name


def sockets() -> dict[str, Any]:
    """The consumers by the first word of their address, as the configuration has them."""
    return {
        str(each.pattern).split("/")[1]: each.callback.consumer_class
        for each in websocket_urlpatterns
        if hasattr(each.callback, "consumer_class")
    }


def test_every_frame_of_every_socket_has_a_rule() -> None:
    # The preview's keeps nothing and names one study, its own: tests/crowd/test_preview.py counts every row.
    kept = {kind: consumer for kind, consumer in sockets().items() if kind != "previews"}
    listed = {kind: set(consumer().frame_handlers()) for kind, consumer in kept.items()}

    assert listed == {kind: set(frames) for kind, frames in FRAMES.items()}, (
        "Say in FRAMES what each frame may name, and what refuses it to whom that does not belong."
    )


@pytest.mark.parametrize("kind", FRAMES)
async def test_nothing_of_another_s_is_touched_or_told_whatever_a_frame_names(
    kind: str, beside: dict[str, MakeTheirs]
) -> None:
    theirs: Theirs = await beside[kind]()
    before = await make(theirs.stored)()
    assert before[0]
    tab = OfSomebody(theirs)
    await tab.connect()
    assert tab.first["type"] == "state", tab.first

    for name, (given, refusal) in FRAMES[kind].items():
        heard = await tab.heard_after(theirs.frame(name, given))

        refused = {each["reason"] for each in heard if each["type"] == "refused"}
        assert not refusal or refused == {refusal}, (name, heard)
        assert SECRET not in json.dumps(heard), name
        assert await make(theirs.stored)() == before, name
    await tab.disconnect()


HOSTILE: tuple[Any, ...] = (
    "\x00", "Nice \x00 day", "\ud800", "half \udc00 of it", "x" * 50_000, " " * 50_000, "\u202e" * 100,
    "a" + " " * 40_000 + "b", "[" * 3000, -1, 2**31, 2**63, 10**400, 0.5, float("nan"), float("inf"), True,
    None, [], [[]], {}, {"\x00": "\ud800"}, {"sensible": float("nan")}, {"sensible": "\x00"},
    {"shown_ms": 1e308, "answer_ms": -5}, {"pasted": float("nan"), "ms": 10**400},
)  # fmt: skip
OPTIONAL = (
    "timing",
    "typed",
    "position",
    "ask",
    "meeting",
    "item",
    "key",
    "answers",
    "text",
    "of",
    "id",
    "take",
    "version",
    "number",
)


@pytest.mark.timeout(300)
@pytest.mark.parametrize("kind", FRAMES)
async def test_a_socket_outlives_whatever_stands_in_any_field_of_a_frame(
    kind: str, beside: dict[str, MakeTheirs], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each is refused or taken; none ends in an error, which would end the line without a word."""
    monkeypatch.setattr("turnwise.crowd.worker_socket.BURST", 1_000_000)
    monkeypatch.setattr("turnwise.operating.operator_page.BURST", 1_000_000)
    tab = OfSomebody(await beside[kind]())
    await tab.connect()

    for name, (given, _) in FRAMES[kind].items():
        own = given | _own(tab.first)
        for field in {*given, *OPTIONAL}:
            for value in HOSTILE:
                heard = await tab.heard_after({"type": name} | own | {"key": str(uuid4())} | {field: value})
                assert heard[-1]["type"] == "pong"
    await tab.disconnect()


def _own(state: dict[str, Any]) -> dict[str, Any]:
    """What the page of the one who sends has been shown: the first item, the first turn."""
    items = state.get("items") or [{}]
    return {"item": items[0]["key"]} if "key" in items[0] else {"position": 0}
