"""A person answers in a bot's place: who is admitted, who answers, what is stored, what if nobody does."""

from collections.abc import Callable
from datetime import timedelta
from typing import Any
from uuid import uuid4

import pytest
from asgiref.sync import sync_to_async
from django.core.exceptions import ValidationError
from django.test import Client
from django.utils import timezone

from chatbots.base import Context
from chatbots.errors import BotFailedError
from tests.conftest import OpenTab, enter, start_dialogue
from tests.operating.conftest import MakeWizard, OpenPage, wizard
from tests.rewriting import rewrite
from turnwise.accounts.models import User
from turnwise.audits.services import start
from turnwise.bots import operators
from turnwise.bots.hosting import client as bots
from turnwise.bots.hosting import presence
from turnwise.bots.models import OperatorPresence
from turnwise.crowd.entry.sessions import COOKIE, signed
from turnwise.crowd.models import Assignment, Outcome, PayEntry
from turnwise.crowd.places.assignment import assign
from turnwise.crowd.places.ending import end
from turnwise.crowd.refusals import EntryRefusedError
from turnwise.dialogues import operator_replies
from turnwise.dialogues.models import Dialogue, Fault, OperatorReply, Seat, Turn
from turnwise.studies.models import Study

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def rose(db: None) -> User:
    return User.objects.create_user("rose")


async def is_refused(study: Study) -> str:
    try:
        await sync_to_async(lambda: assign(enter(study).pk))()
    except EntryRefusedError as refusal:
        return refusal.reason
    return ""


async def test_operator_answers_as_the_bot(
    make_wizard: MakeWizard, rex: User, open_page: OpenPage, open_tab: OpenTab
) -> None:
    study = await sync_to_async(make_wizard)()
    page = await open_page(rex)
    dialogue = await sync_to_async(start_dialogue)(study)
    worker = await open_tab(dialogue)

    await worker.send(type="turn", key=str(uuid4()), text="Are you there?")
    saved = await worker.receive("turn_saved")
    listed = await page.sees(dialogue, waits=True, mine=True)
    key = str(uuid4())
    answered = await page.answer(dialogue, 2, "  I am. ", key)
    reply = await worker.receive("bot_turn")
    again = await page.answer(dialogue, 2, "I am.", key)
    labelled = await worker.label(2, sensible=True, specific=False)
    await worker.send(type="finish")
    while not (end := await worker.receive("state"))["finished"]:
        pass

    assert saved["progress"]["thinking"]
    assert (listed["said"], listed["operator"]) == ("Are you there?", "rex")
    assert answered == {"type": "answer_saved", "id": str(dialogue.public_id), "key": key}
    assert again == answered
    assert (reply["turn"]["text"], reply["turn"]["speaker"]) == ("I am.", "bot")
    assert labelled["type"] == "label_saved"
    assert end["progress"]["turns"] == 2
    turn = await Turn.objects.select_related("bot_version").aget(position=2)
    assert turn.bot_version
    assert turn.bot_version.details["adapter"] == "operator"
    assert turn.latency_ms is not None
    seat = await Seat.objects.select_related("operator", "bot").aget(bot__isnull=False)
    assert (str(seat.operator), seat.bot.name) == ("rex", "wizard")
    assert (await Dialogue.objects.aget()).ending == "complete"
    assert await Turn.objects.acount() == 3


async def test_people_are_admitted_while_an_operator_is_present_and_has_capacity(
    make_wizard: MakeWizard, rex: User, rose: User, open_page: OpenPage
) -> None:
    study = await sync_to_async(make_wizard)(rose, settings={"at_once": 2})

    assert await is_refused(study) == "no_bot"
    page = await open_page(rex)
    assert [await is_refused(study) for _ in range(3)] == ["", "", "no_bot"]
    await open_page(rose)
    assert [await is_refused(study) for _ in range(3)] == ["", "", "no_bot"]

    await Assignment.objects.all().aupdate(active_at=timezone.now() - timedelta(minutes=6))
    await page.send(type="take_new", wanted=False)
    await page.receive("takes_new")
    assert [await is_refused(study) for _ in range(3)] == ["", "", "no_bot"]
    await OperatorPresence.objects.aupdate(seen_at=timezone.now() - timedelta(seconds=20))
    await Assignment.objects.all().aupdate(active_at=timezone.now() - timedelta(minutes=6))
    assert await is_refused(study) == "no_bot"


async def test_an_operator_accepts_new_conversations_again_after_reopening_the_page(
    make_wizard: MakeWizard, rex: User, open_page: OpenPage
) -> None:
    study = await sync_to_async(make_wizard)()
    page = await open_page(rex)
    await page.send(type="take_new", wanted=False)
    await page.receive("takes_new")

    await page.disconnect()
    reloaded = await open_page(rex)
    assert not reloaded.first["takes_new"]
    assert await is_refused(study) == "no_bot"

    await reloaded.disconnect()
    await OperatorPresence.objects.aupdate(seen_at=timezone.now() - operators.GONE)
    another_day = await open_page(rex)
    assert another_day.first["takes_new"]
    assert await is_refused(study) == ""


async def test_new_conversations_go_to_the_operator_with_the_fewest(
    make_wizard: MakeWizard, rex: User, rose: User, open_page: OpenPage
) -> None:
    study = await sync_to_async(make_wizard)(rose)
    await open_page(rex)
    await sync_to_async(start_dialogue)(study)
    await open_page(rose)

    for _ in range(3):
        await sync_to_async(start_dialogue)(study)

    assert [
        name
        async for name in Seat.objects.filter(bot__isnull=False)
        .order_by("pk")
        .values_list("operator__username", flat=True)
    ] == ["rex", "rose", "rex", "rose"]


async def test_a_reply_is_delayed_by_its_length_and_outlives_the_waiting_process(
    make_wizard: MakeWizard, rex: User, open_page: OpenPage, open_tab: OpenTab
) -> None:
    held = {"seconds": 3, "seconds_per_character": 1, "most_seconds": 8}
    study = await sync_to_async(make_wizard)(settings=held)
    page = await open_page(rex)
    dialogue = await sync_to_async(start_dialogue)(study)
    worker = await open_tab(dialogue)
    await worker.send(type="turn", key=str(uuid4()), text="Hi")
    await worker.receive("turn_saved")

    await page.answer(dialogue, 2, "Well")
    again = await page.answer(dialogue, 2, "Something else")

    asked = await Turn.objects.aget(position=1)
    written = await OperatorReply.objects.aget()
    # 3 seconds, and 1 for each of 4 characters
    assert written.due_at - asked.created_at == timedelta(seconds=7)
    await page.send(type="open", id=str(dialogue.public_id))
    assert (await page.receive("conversation"))["held"] == {"position": 2, "text": "Well"}
    assert not await Turn.objects.filter(position=2).aexists()
    assert again["reason"] == "answered"
    # As after a restart: nobody waits for it any more, and the worker's next tab shows it.
    await worker.disconnect()
    await OperatorReply.objects.aupdate(due_at=timezone.now())
    operator_replies.wake(dialogue.pk)
    tab = await open_tab(dialogue)
    shown = [turn["text"] for turn in tab.first["turns"][2:]]
    assert (shown or [(await tab.receive("bot_turn"))["turn"]["text"]]) == ["Well"]


async def test_without_an_operator_the_worker_is_informed_and_paid_or_another_operator_takes_over(
    make_wizard: MakeWizard, rex: User, rose: User, open_page: OpenPage, open_tab: OpenTab
) -> None:
    study = await sync_to_async(make_wizard)(rose, pay_amount=2)
    page = await open_page(rex)
    mine, other = [await sync_to_async(start_dialogue)(study) for _ in range(2)]
    tabs = [await open_tab(dialogue) for dialogue in (mine, other)]
    for tab in tabs:
        await tab.send(type="turn", key=str(uuid4()), text="Hello?")
        await tab.receive("turn_saved")

    await page.disconnect()
    long_ago = timezone.now() - operators.GONE
    await OperatorPresence.objects.aupdate(seen_at=long_ago)
    await rewrite(Turn.objects, created_at=long_ago)
    for dialogue, tab in zip((mine, other), tabs, strict=True):
        operator_replies.wake(dialogue.pk)
        assert (await tab.receive("bot_failed"))["fault"]["may_give_up"]
    await tabs[0].send(type="give_up")
    assert (await tabs[0].receive("state"))["finished"]

    assert (await Dialogue.objects.aget(pk=mine.pk)).ending == "bot_failed"
    assert (await Fault.objects.afirst()).kind == "OperatorAway"
    earned = PayEntry.objects.filter(reason="earned").values_list("amount", flat=True)
    assert [each async for each in earned] == [2]

    page = await open_page(rose)
    [listed] = page.first["conversations"]
    assert (listed["mine"], listed["free"], listed["waits"], listed["operator"]) == (False, True, True, "rex")
    assert (await page.answer(other, 2, "Sorry, here I am."))["type"] == "answer_saved"
    assert (await tabs[1].receive("bot_turn"))["turn"]["text"] == "Sorry, here I am."
    assert (
        await Seat.objects.select_related("operator").aget(dialogue=other, bot__isnull=False)
    ).operator == rose
    assert await is_refused(study) == ""


async def test_a_slow_operator_does_not_block_a_worker_for_ever(
    make_wizard: MakeWizard, rex: User, open_page: OpenPage, open_tab: OpenTab
) -> None:
    study = await sync_to_async(make_wizard)(settings={"patience": 60})
    await open_page(rex)
    dialogue = await sync_to_async(start_dialogue)(study)
    worker = await open_tab(dialogue)
    await worker.send(type="turn", key=str(uuid4()), text="Hello?")
    await worker.receive("turn_saved")

    await worker.send(type="give_up")
    assert (await worker.receive("refused"))["reason"] == "may_not_give_up"
    await rewrite(Turn.objects, created_at=timezone.now() - timedelta(seconds=61))
    operator_replies.wake(dialogue.pk)
    assert (await worker.receive("bot_failed"))["fault"]["may_give_up"]
    await worker.send(type="retry")  # asked for once more, it is waited for as long again
    assert (await worker.receive("state"))["progress"]["thinking"]
    assert [each.kind async for each in Fault.objects.all()] == ["OperatorLate"]


@pytest.mark.parametrize(
    ("frame", "reason"),
    [
        ({"position": 1}, "not_due"),
        ({"position": 0}, "answered"),
        ({"text": "   "}, "empty"),
        ({"text": "x" * 8001}, "too_long"),
        ({"text": 5}, "malformed"),
        ({"key": "no key"}, "malformed"),
        ({"id": "00000000-0000-0000-0000-000000000000"}, "over"),
        ({"type": "give_up"}, "unknown_type"),
    ],
)
async def test_an_impossible_answer_is_refused_with_a_message_and_changes_nothing(
    frame: dict[str, Any], reason: str, make_wizard: MakeWizard, rex: User, open_page: OpenPage
) -> None:
    study = await sync_to_async(make_wizard)()
    page = await open_page(rex)
    dialogue = await sync_to_async(start_dialogue)(study)
    right = {
        "type": "answer",
        "id": str(dialogue.public_id),
        "position": 1,
        "text": "Hi",
        "key": str(uuid4()),
    }

    await page.send(**right | frame)

    refused = await page.receive("refused")
    assert refused["reason"] == reason
    assert refused["say"]
    assert not await OperatorReply.objects.aexists()


async def test_the_conversation_of_a_present_operator_cannot_be_taken_over(
    make_wizard: MakeWizard, rex: User, rose: User, mallory: User, open_page: OpenPage
) -> None:
    study = await sync_to_async(make_wizard)(rose)
    await open_page(rex)
    dialogue = await sync_to_async(start_dialogue)(study)
    page = await open_page(rose)

    assert (await page.answer(dialogue, 2, "Mine now"))["reason"] == "with_another"
    assert (await open_page(mallory)).first["reason"] == "not_operable"
    # Who may no longer answer hears so with whatever they do next.
    await sync_to_async(lambda: wizard().operators.clear())()
    assert (await page.answer(dialogue, 2, "Mine now"))["reason"] == "not_operable"
    assert await page.close_code() == 4404
    # The newest tab of a person counts.
    first = await open_page(rex)
    await open_page(rex)
    assert (await first.receive("refused"))["reason"] == "other_tab"


async def test_an_operated_bot_is_used_only_in_live_conversations(make_wizard: MakeWizard, rex: User) -> None:
    await sync_to_async(make_wizard)()
    bot = await sync_to_async(wizard)()

    assert not await sync_to_async(presence.available)([bot])
    assert (await sync_to_async(presence.bot_states)())["wizard"] == "no operator"
    with pytest.raises(BotFailedError, match="A person answers in place of Wizard"):
        await bots.reply(bot.pk, Context.from_texts(["Hi"]))
    with pytest.raises(ValidationError, match="A person answers"):
        await sync_to_async(start)(bot, by=rex)


@pytest.mark.django_db
def test_owner_names_operators_who_see_the_page_and_nobody_else(
    make_wizard: MakeWizard, rex: User, rose: User, mallory: User, client: Client
) -> None:
    client.force_login(rex)
    sent = {"name": "oz", "title": "Oz", "operators": "rose", "setting-at_once": "2",
            "setting-prepared": "Hello!\nI will look.", "setting-instructions": "Be kind."}  # fmt: skip
    sent |= {f"setting-{name}": "1" for name in ("seconds", "seconds_per_character", "most_seconds")}
    unknown = client.post("/bots/new/operator/", sent | {"setting-patience": "60", "operators": "nobody"})
    assert "Nobody signs in here as “nobody”" in unknown.content.decode()
    assert client.post("/bots/new/operator/", sent | {"setting-patience": "60"}).status_code == 302

    seen = {}
    for user in (rex, rose, mallory):
        client.force_login(user)
        page = client.get("/bots/oz/operate/")
        seen[user.username] = page.status_code
        if page.status_code == 200:
            assert "I will look." in page.content.decode()
            assert "Be kind." in page.content.decode()
    assert seen == {"rex": 200, "rose": 200, "mallory": 404}


@pytest.mark.django_db
def test_the_last_page_reveals_that_the_bot_was_a_person(make_study: Callable[..., Study]) -> None:
    study = make_study(debriefing="A person <b>answered</b> you.")
    participation = assign(enter(study).pk).participation
    end(participation.pk, Outcome.WITHDRAWN)
    worker = Client()
    worker.cookies[COOKIE] = signed(participation)

    assert (
        "A person &lt;b&gt;answered&lt;/b&gt; you." in worker.get(f"/s/{study.code}/thanks/").content.decode()
    )
