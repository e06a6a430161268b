"""Pictures with messages: uploaded by the pages' server, sent through the socket, read by the bot."""

from collections.abc import Callable, Sequence
from datetime import timedelta
from typing import Any
from uuid import uuid4

import pytest
from asgiref.sync import sync_to_async
from django.core.exceptions import ValidationError
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client
from django.utils import timezone

from chatbots.base import Bot, BotConfiguration, Context
from chatbots.pictures import Picture as ContextPicture
from chatbots.registry import REGISTRY
from chatbots.replies import Response
from tests.conftest import MakeMeeting, MakeStudy, OpenTab, Tab, session_cookie, start_dialogue
from tests.pictures import bomb, browser_of, picture, upload
from tests.tasks.two_people.conftest import come
from turnwise.accounts.models import User
from turnwise.bots.models import Bot as BotRow
from turnwise.crowd.entry.sessions import COOKIE
from turnwise.crowd.models import Worker
from turnwise.crowd.worker_task import PreviewOptions
from turnwise.dialogues import picture_files
from turnwise.dialogues.models import Dialogue, MessagePicture, Picture, Turn
from turnwise.dialogues.pictures import MOST_UNSENT, remove_unsent
from turnwise.dialogues.services import SeatOccupant, create_dialogue
from turnwise.live.frames import Frame, RefusedError
from turnwise.privacy.withdrawal import withdraw
from turnwise.studies.models import Study
from turnwise.studies.opening_checks import checks
from turnwise.studies.services import OPENED, save_study
from turnwise.tasks.conversation.preview import TalkPreviewed

pytestmark = pytest.mark.django_db(transaction=True)

begin = sync_to_async(start_dialogue)
uploaded = sync_to_async(upload)


class SeeingBot(Bot):
    """Remembers what it was asked."""

    class Configuration(BotConfiguration):
        """Whether it sees pictures."""

        sees: bool = True

    @classmethod
    def sees_pictures(cls, configuration: BotConfiguration) -> bool:
        assert isinstance(configuration, cls.Configuration)
        return configuration.sees

    def respond(self, contexts: Sequence[Context]) -> list[Response]:
        ASKED.extend(contexts)
        return [Response("I see.") for _ in contexts]


ASKED: list[Context] = []


@pytest.fixture(autouse=True)
def _seeing_bot_is_registered(monkeypatch: pytest.MonkeyPatch) -> None:
    REGISTRY.registered_names()
    monkeypatch.setitem(REGISTRY._classes, "seeing", SeeingBot)
    monkeypatch.setattr(SeeingBot, "name", "seeing", raising=False)
    ASKED.clear()


async def conversation(make_study: MakeStudy, *, sees: bool = True, **fields: Any) -> Dialogue:
    study = await sync_to_async(make_study)(**{"takes_pictures": True} | fields)
    await BotRow.objects.aupdate(adapter="seeing", configuration={"sees": sees})
    dialogue = await begin(study)
    return await Dialogue.objects.select_related("study").aget(pk=dialogue.pk)


async def send(tab: Tab, text: str, sha256: str, key: str = "", **more: Any) -> Frame:
    await tab.send(type="turn", key=key or str(uuid4()), text=text, picture=sha256, **more)
    return await tab.receive("turn_saved", "refused")


async def test_a_picture_is_uploaded_sent_and_shown_to_its_participant(
    make_study: MakeStudy, open_tab: OpenTab
) -> None:
    dialogue = await conversation(make_study)
    tab = await open_tab(dialogue)
    answer = (await uploaded(dialogue, picture())).json()

    for odd in (7, "x" * 301):
        await tab.send(type="turn", key=str(uuid4()), text="Look", picture=answer["key"], description=odd)
        assert (await tab.receive("refused"))["reason"] == "malformed"
    await tab.send(type="turn", key=str(uuid4()), text="Look", description="Of nothing")
    assert (await tab.receive("refused"))["reason"] == "malformed"
    saved = await send(tab, "Look", answer["key"], description=" A teal \u202e wall \n")
    await tab.receive("bot_turn")

    assert saved["turn"]["picture"]["description"] == "A teal wall"
    shown = saved["turn"]["picture"]
    assert (shown["address"], shown["width"], shown["height"]) == (answer["address"], 64, 48)
    stored = await Picture.objects.aget()
    browser = await sync_to_async(browser_of)(dialogue)
    found = await sync_to_async(browser.get)(shown["address"])
    assert found.content == bytes(stored.content)
    assert found["Content-Type"] == "image/jpeg"
    assert found["X-Content-Type-Options"] == "nosniff"
    assert found["Cache-Control"] == "private, no-store"
    later = await open_tab(dialogue)
    assert [turn.get("picture") for turn in later.first["turns"]] == [None, shown, None]


async def test_a_bot_that_sees_pictures_gets_them_and_another_one_the_text(
    make_study: MakeStudy, open_tab: OpenTab
) -> None:
    dialogue = await conversation(make_study)
    tab = await open_tab(dialogue)
    key = (await uploaded(dialogue, picture())).json()["key"]
    await send(tab, "Look", key)
    await tab.receive("bot_turn")
    await tab.label(2, sensible=True, specific=True)
    await tab.say("And now?")

    stored = bytes((await Picture.objects.aget()).content)
    seen = [[turn.picture and turn.picture.content for turn in context.turns] for context in ASKED]
    assert seen == [[None, stored], [None, stored, None, None]]


async def test_the_preview_sends_a_picture_to_its_bot_and_stores_nothing(
    make_study: MakeStudy, rex: User, mallory: User, sign_in: Callable[[User], Client]
) -> None:
    study = await sync_to_async(make_study)(takes_pictures=True, opening_text="Hi!")
    await BotRow.objects.aupdate(adapter="seeing", configuration={})
    bot = await BotRow.objects.aget()
    client, other = await sync_to_async(sign_in)(rex), await sync_to_async(sign_in)(mallory)
    previewed = await sync_to_async(TalkPreviewed)(study, "work", PreviewOptions("en", bot.pk), then="")
    page = previewed.template_and_context()[1]["settings"]["pictures"]["upload"]

    async def posted(browser: Client, data: bytes) -> Any:
        return await sync_to_async(browser.post)(page, {"picture": SimpleUploadedFile("photo.jpg", data)})

    async def say(key: str) -> list[Frame]:
        frame = {"type": "turn", "key": str(uuid4()), "text": "Look", "picture": key}
        return [each async for each in previewed.turn(frame)]

    refused = await posted(client, b"no picture at all")
    assert (refused.status_code, refused.json()["reason"]) == (422, "unknown_format")
    assert (await posted(other, picture())).status_code == 404
    answer = (await posted(client, picture())).json()
    with pytest.raises(RefusedError, match="malformed"):
        await say("no hash")
    with pytest.raises(RefusedError, match="unknown_picture"):
        await say("0" * 64)

    saved, reply = await say(answer["key"])

    shown_size = {name: answer[name] for name in ("address", "width", "height")}
    assert saved["turn"]["picture"] == shown_size | {"description": ""}
    assert reply["turn"]["text"] == "I see."
    shown = await sync_to_async(client.get)(answer["address"])
    assert ASKED[0].turns[-1].picture == ContextPicture("image/jpeg", shown.content)
    assert (await sync_to_async(other.get)(answer["address"])).status_code == 404
    assert not await Picture.objects.aexists()
    assert not await Dialogue.objects.aexists()

    uploads = [
        (await posted(client, picture(colour=colour))).json()
        for colour in ("red", "blue", "lime", "navy", "pink")
    ]
    found = [(await sync_to_async(client.get)(each["address"])).status_code for each in (answer, *uploads)]
    assert found == [404, 200, 200, 200, 200, 200]


async def test_a_bot_without_eyes_gets_the_text_alone(make_study: MakeStudy, open_tab: OpenTab) -> None:
    dialogue = await conversation(make_study, sees=False)
    tab = await open_tab(dialogue)
    await send(tab, "Look", (await uploaded(dialogue, picture())).json()["key"])
    await tab.receive("bot_turn")

    assert [turn.picture for turn in ASKED[0].turns] == [None, None]
    assert ASKED[0].turns[-1].text == "Look"


async def test_a_resent_message_is_saved_once_with_its_picture(
    make_study: MakeStudy, open_tab: OpenTab
) -> None:
    dialogue = await conversation(make_study)
    tab = await open_tab(dialogue)
    sha256, key = (await uploaded(dialogue, picture())).json()["key"], str(uuid4())
    other = (await uploaded(dialogue, picture(colour="red"))).json()["key"]
    first = await send(tab, "Look", sha256, key)
    await tab.receive("bot_turn")

    second = await send(tab, "Look", sha256, key)
    changed = await send(tab, "Look", other, key)
    await tab.send(type="turn", key=key, text="Look")
    bare = await tab.receive("turn_saved", "refused")
    await Picture.objects.filter(sha256=sha256).adelete()
    late = await send(tab, "Look", sha256, key)  # its picture was removed before the answer arrived

    assert second["turn"] == first["turn"]
    assert [changed["reason"], bare["reason"]] == ["key_reused", "key_reused"]
    erased = {"address": "", "width": 0, "height": 0, "description": ""}
    assert late["turn"] == first["turn"] | {"picture": erased}
    assert await MessagePicture.objects.acount() == 1
    assert await Turn.objects.filter(dialogue=dialogue).acount() == 3


async def test_the_same_file_is_stored_once(make_study: MakeStudy) -> None:
    dialogue = await conversation(make_study)
    answers = [(await uploaded(dialogue, picture())).json() for _ in range(2)]

    assert answers[0] == answers[1]
    assert await Picture.objects.acount() == 1


async def test_a_message_needs_words(make_study: MakeStudy, open_tab: OpenTab) -> None:
    dialogue = await conversation(make_study)
    tab = await open_tab(dialogue)
    key = (await uploaded(dialogue, picture())).json()["key"]

    assert (await send(tab, " ", key))["reason"] == "empty"


async def test_a_picture_of_somebody_else_cannot_be_sent_or_seen(
    make_study: MakeStudy, open_tab: OpenTab
) -> None:
    dialogue = await conversation(make_study)
    other = await Dialogue.objects.select_related("study").aget(pk=(await begin(dialogue.study)).pk)
    answer = (await uploaded(other, picture())).json()
    tab = await open_tab(dialogue)

    refused = await send(tab, "Look", answer["key"])

    assert refused["reason"] == "unknown_picture"
    assert "add the picture once more" in refused["say"]
    assert await Turn.objects.filter(dialogue=dialogue).acount() == 1
    client = await sync_to_async(browser_of)(dialogue)
    assert (await sync_to_async(client.get)(answer["address"])).status_code == 404
    assert (await sync_to_async(Client().get)(answer["address"])).status_code == 404
    forged = answer["address"].replace("/pictures/", "/pictures/x")
    owner = await sync_to_async(browser_of)(other)
    assert (await sync_to_async(owner.get)(forged)).status_code == 404
    assert (await sync_to_async(owner.get)(answer["address"])).status_code == 200


@pytest.mark.parametrize("named", ["x", "A" * 64, 5, ["a"], "0" * 63])
async def test_a_malformed_name_is_refused(make_study: MakeStudy, open_tab: OpenTab, named: Any) -> None:
    tab = await open_tab(await conversation(make_study))
    await tab.send(type="turn", key=str(uuid4()), text="Look", picture=named)

    assert (await tab.receive("turn_saved", "refused"))["reason"] == "malformed"


async def test_a_study_without_pictures_takes_none(make_study: MakeStudy, open_tab: OpenTab) -> None:
    dialogue = await conversation(make_study, takes_pictures=False)
    tab = await open_tab(dialogue)

    refused = await uploaded(dialogue, picture())

    assert (refused.status_code, refused.json()["reason"]) == (422, "not_allowed")
    assert (await send(tab, "Look", "0" * 64))["reason"] == "malformed"


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (bomb(30_000, 30_000), "too_many_pixels"),
        (b"#!/bin/sh\necho a script with the ending of a picture", "unknown_format"),
        (picture("PNG")[:70], "damaged"),
    ],
)
async def test_unfit_files_are_refused_in_words_and_nothing_is_stored(
    make_study: MakeStudy, data: bytes, reason: str
) -> None:
    dialogue = await conversation(make_study)

    refused = await uploaded(dialogue, data)

    assert (refused.status_code, refused.json()["reason"]) == (422, reason)
    assert refused.json()["say"]
    assert not await Picture.objects.aexists()


async def test_the_size_is_checked_before_decoding(
    make_study: MakeStudy, monkeypatch: pytest.MonkeyPatch
) -> None:
    dialogue = await conversation(make_study)
    monkeypatch.setattr(picture_files, "MAX_UPLOAD_BYTES", 100)

    assert (await uploaded(dialogue, picture())).json()["reason"] == "too_large"


async def test_uploads_are_limited(make_study: MakeStudy, one_minute: None) -> None:
    dialogue = await conversation(make_study)
    client = await sync_to_async(browser_of)(dialogue)
    for _ in range(20):
        await sync_to_async(client.post)(f"/s/{dialogue.study.code}/picture/")

    assert (await uploaded(dialogue, picture())).json()["reason"] == "too_often"


async def test_nothing_is_stored_after_the_end(make_study: MakeStudy) -> None:
    dialogue = await conversation(make_study)
    await Dialogue.objects.filter(pk=dialogue.pk).aupdate(ending="bot_failed", ended_at=timezone.now())

    assert (await uploaded(dialogue, picture())).json()["reason"] == "ended"


async def test_uploads_that_no_message_sends_are_removed(make_study: MakeStudy, open_tab: OpenTab) -> None:
    dialogue = await conversation(make_study)
    tab = await open_tab(dialogue)
    sent = (await uploaded(dialogue, picture())).json()["key"]
    await send(tab, "Look", sent)
    unsent = (await uploaded(dialogue, picture(colour="red"))).json()["key"]
    now = timezone.now()

    assert await sync_to_async(remove_unsent)(now=now + timedelta(hours=23)) == 0
    assert await sync_to_async(remove_unsent)(now=now + timedelta(hours=25)) == 1

    assert [each.sha256 async for each in Picture.objects.all()] == [sent]
    await tab.receive("bot_turn")
    await tab.label(2, sensible=True, specific=True)
    assert (await send(tab, "Look", unsent))["reason"] == "unknown_picture"
    again = (await uploaded(dialogue, picture(colour="red"))).json()["key"]
    assert (await send(tab, "Look", again))["type"] == "turn_saved"


async def test_a_seat_has_few_unsent_uploads(make_study: MakeStudy) -> None:
    dialogue = await conversation(make_study)
    colours = ("red", "green", "blue", "white", "black", "gray", "pink")
    keys = [(await uploaded(dialogue, picture(colour=colour))).json()["key"] for colour in colours]

    stored = [each.sha256 async for each in Picture.objects.order_by("uploaded_at")]
    assert stored == keys[-MOST_UNSENT:]


async def test_another_reply_sees_the_picture_too(make_study: MakeStudy, open_tab: OpenTab) -> None:
    dialogue = await conversation(make_study, max_reply_versions=3)
    tab = await open_tab(dialogue)
    await send(tab, "Look", (await uploaded(dialogue, picture())).json()["key"])
    await tab.receive("bot_turn")

    await tab.send(type="regenerate", position=2, key=str(uuid4()))
    await tab.receive("bot_turn")

    assert [context.turns[-1].picture is not None for context in ASKED] == [True, True]


def test_the_setting_is_fixed_once_a_study_is_open(make_study: MakeStudy, rex: Any) -> None:
    study = make_study()
    study.takes_pictures = True

    with pytest.raises(ValidationError) as refused:
        save_study(study, owner=rex, consent_text="You talk to a machine.", targets={})

    assert refused.value.message_dict == {"takes_pictures": [OPENED]}


async def test_two_people_see_it_each_by_their_own_address_until_one_withdraws(
    make_meeting: MakeMeeting, open_tab: OpenTab
) -> None:
    dialogue, workers, participations = await sync_to_async(
        lambda: two_talk(make_meeting(takes_pictures=True))
    )()
    first, second = [await open_tab(dialogue, worker=worker) for worker in workers]
    key = (await uploaded(dialogue, picture(), client=await sync_to_async(client_of)(workers[0]))).json()[
        "key"
    ]

    await first.send(type="turn", key=str(uuid4()), text="Look", picture=key)
    own = (await first.receive("turn_saved"))["turn"]["picture"]["address"]
    partners = (await second.receive("partner_turn"))["turn"]["picture"]["address"]

    get = sync_to_async(lambda worker, address: client_of(worker).get(address).status_code)
    assert [await get(workers[0], own), await get(workers[1], partners)] == [200, 200]
    assert [await get(workers[0], partners), await get(workers[1], own)] == [404, 404]
    await sync_to_async(withdraw)(participations[0])
    assert await Dialogue.objects.filter(pk=dialogue.pk).aexists()
    assert await get(workers[1], partners) == 404
    assert not await Picture.objects.aexists()
    assert not await MessagePicture.objects.aexists()


def two_talk(study: Study) -> tuple[Dialogue, list[Worker], list[int]]:
    """A new conversation of two people, with their workers and participations, who speaks first first."""
    first, second = come(study), come(study)
    occupants = SeatOccupant(assignment=first), SeatOccupant(assignment=second)
    made = create_dialogue(study, *occupants, now=timezone.now())
    dialogue = Dialogue.objects.select_related("study").get(pk=made.pk)
    workers = [each.participation.worker for each in (first, second)]
    return dialogue, workers, [each.participation_id for each in (first, second)]


def client_of(worker: Worker) -> Client:
    client = Client()
    client.cookies[COOKIE] = session_cookie(worker)
    return client


def test_the_page_before_opening_names_bots_that_see_no_pictures(make_study: MakeStudy) -> None:
    study = make_study({"seer": 5, "reader": 5}, takes_pictures=True)
    without = make_study({"other": 5})
    BotRow.objects.filter(name="seer").update(adapter="seeing", configuration={"sees": True})
    found = [each for each in checks(study) if each.title == "Pictures"]

    assert [each.holds for each in found] == [False]
    assert "these bots get the text alone: Reader." in found[0].says
    assert not found[0].cure  # it may open all the same
    assert not [each for each in checks(without) if each.title == "Pictures"]
    BotRow.objects.filter(name="reader").update(adapter="seeing", configuration={"sees": True})
    assert [each.holds for each in checks(study) if each.title == "Pictures"] == [True]
