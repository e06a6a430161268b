"""What the socket and the database refuse: bad frames, foreign and forged sessions, broken rules."""

from uuid import uuid4

import pytest
from asgiref.sync import sync_to_async
from django.db import IntegrityError, transaction
from django.utils import timezone

from evaluation.texts.lengths import MAX_MESSAGE_CHARS
from tests.conftest import MakeStudy, OpenTab, session_cookie, start_dialogue, worker_of
from turnwise.crowd.entry.sessions import COOKIE, signed
from turnwise.crowd.panels import Arrival
from turnwise.dialogues.models import Dialogue, Turn
from turnwise.live.frames import REFUSALS
from turnwise.studies.models import Study

begin = sync_to_async(start_dialogue)
make = sync_to_async


async def texts(dialogue: Dialogue) -> list[str]:
    return [turn.text async for turn in Turn.objects.filter(dialogue=dialogue).order_by("position")]


@pytest.mark.parametrize(
    ("raw", "reason"),
    [
        ("{not json", "not_json"),
        ("[1, 2]", "not_json"),
        ("null", "not_json"),
        ("[" * 5000, "not_json"),
        ('{"type": "dance"}', "unknown_type"),
        ('{"type": ["turn"]}', "unknown_type"),
        ('{"type": "turn"}', "malformed"),
        ('{"type": "turn", "text": 7, "key": "x"}', "malformed"),
        ('{"type": "turn", "text": "Hi", "key": "not-a-uuid"}', "malformed"),
        ('{"type": "label", "position": true, "answers": {}}', "malformed"),
        (
            '{"type": "label", "position": 99999999999999999999, "answers": {"sensible": false}}',
            "unknown_turn",
        ),
        ('{"type": "label", "position": ' + "9" * 5000 + "}", "not_json"),
        ('{"type": "label", "position": -1, "answers": {"sensible": false}}', "unknown_turn"),
        ('{"type": "label", "position": 0, "answers": {"sensible": false}}', "not_to_label"),
        ('{"type": "finish"}', "too_early"),
        ('{"type": "turn", "text": "x", "key": "' + "k" * 120_000 + '"}', "too_long"),
    ],
)
async def test_a_bad_frame_is_refused_with_its_reason(
    dialogue: Dialogue, open_tab: OpenTab, raw: str, reason: str
) -> None:
    tab = await open_tab(dialogue)

    await tab.send_raw(text=raw)

    refused = await tab.receive("refused")
    assert refused["reason"] == reason
    assert refused["say"] == REFUSALS[reason]
    assert await texts(dialogue) == ["Hi!"]


@pytest.mark.parametrize(
    ("text", "reason"), [("", "empty"), (" \n\0 ", "empty"), ("x" * (MAX_MESSAGE_CHARS + 1), "too_long")]
)
async def test_a_message_without_fitting_text_is_refused(
    dialogue: Dialogue, open_tab: OpenTab, text: str, reason: str
) -> None:
    tab = await open_tab(dialogue)

    assert (await tab.say(text))["reason"] == reason
    assert await texts(dialogue) == ["Hi!"]


async def test_the_longest_message_of_emoji_fits(dialogue: Dialogue, open_tab: OpenTab) -> None:
    tab = await open_tab(dialogue)

    await tab.say("😀" * MAX_MESSAGE_CHARS)

    assert (await texts(dialogue))[1] == "😀" * MAX_MESSAGE_CHARS


@pytest.mark.parametrize(
    ("said", "kept"),
    [("Well \ud83d hello", "Well  hello"), (" One\r\nTwo \u202ethree\x07 ", "One\nTwo three")],
)
async def test_a_message_is_cleaned_as_replies_are(
    dialogue: Dialogue, open_tab: OpenTab, said: str, kept: str
) -> None:
    tab = await open_tab(dialogue)

    await tab.say(said)

    assert (await texts(dialogue))[1] == kept


async def test_a_refusal_logs_no_secrets(
    dialogue: Dialogue, open_tab: OpenTab, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("DEBUG")
    tab = await open_tab(dialogue, cookie="a-forged-cookie-0815")
    honest = await open_tab(dialogue)

    await honest.send_raw(text='{"type": "turn", "key": "k", "text": "my phone number is 555"')
    await honest.receive("refused")

    assert tab.first["reason"] == "no_session"
    assert "0815" not in caplog.text
    assert "555" not in caplog.text


async def test_an_expired_session_is_turned_away(
    dialogue: Dialogue, open_tab: OpenTab, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("turnwise.crowd.entry.sessions.LIFETIME", -1)

    tab = await open_tab(dialogue)

    assert tab.first["reason"] == "no_session"


async def test_a_binary_frame_is_refused(dialogue: Dialogue, open_tab: OpenTab) -> None:
    tab = await open_tab(dialogue)

    await tab.send_raw(data=b"\x00\x01")

    assert (await tab.receive("refused"))["reason"] == "not_json"


async def test_a_flood_of_frames_ends_the_connection(dialogue: Dialogue, open_tab: OpenTab) -> None:
    tab = await open_tab(dialogue)

    for _ in range(60):
        await tab.send(type="retry")
    reasons = set()
    while "too_fast" not in reasons:
        reasons.add((await tab.receive("refused"))["reason"])

    assert await tab.close_code() == 4429
    assert await tab.application.receive_nothing(), "no server can send after it has closed"


async def test_a_conversation_opens_in_a_bounded_number_of_tabs(
    dialogue: Dialogue, open_tab: OpenTab, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("turnwise.tasks.conversation.consumers.MAX_TABS", 2)
    first, second = await open_tab(dialogue), await open_tab(dialogue)

    third = await open_tab(dialogue)
    assert third.first["reason"] == "too_many_tabs"
    assert await third.close_code() == 4409

    await second.disconnect()
    assert (await open_tab(dialogue)).first["type"] == "state"
    assert (await first.say("Still here"))["type"] == "bot_turn"


async def test_a_worker_cannot_open_another_workers_dialogue(study: Study, open_tab: OpenTab) -> None:
    wandas, mallorys = await begin(study), await begin(study)
    mallory = await sync_to_async(lambda: mallorys.participation.worker)()

    tab = await open_tab(wandas, worker=mallory)

    assert tab.first["reason"] == "not_yours"
    assert await tab.close_code() == 4403


@pytest.mark.parametrize("cookie", ["", "forged", "eyJ3b3JrZXIiOjF9:1abc:def"])
async def test_a_forged_session_is_turned_away(dialogue: Dialogue, open_tab: OpenTab, cookie: str) -> None:
    tab = await open_tab(dialogue, cookie=cookie)

    assert tab.first["reason"] == "no_session"
    assert "resume code" in tab.first["say"]
    assert await tab.close_code() == 4401


async def test_cookies_of_other_parts_of_the_site_do_no_harm(dialogue: Dialogue, open_tab: OpenTab) -> None:
    mine = await sync_to_async(lambda: session_cookie(worker_of(dialogue)))()

    tab = await open_tab(dialogue, cookie=f'x; prefs={{"a": [1, 2]}}; {COOKIE}={mine}')

    assert tab.first["type"] == "state"


async def test_the_same_worker_in_another_browser_needs_the_resume_code(
    make_study: MakeStudy, open_tab: OpenTab
) -> None:
    """Whoever knows a panel's id can begin another study with it, but gets into nothing begun before."""
    first, second = [await make(make_study)(title=title) for title in ("One", "Two")]
    wandas = await begin(first, Arrival("url:pid", "wanda"))
    again = await begin(second, Arrival("url:pid", "wanda"))
    participation = await sync_to_async(lambda: again.participation)()
    assert participation
    cookie = signed(participation)

    tab = await open_tab(wandas, cookie=cookie)

    assert await sync_to_async(worker_of)(wandas) == await sync_to_async(worker_of)(again)
    assert tab.first["reason"] == "not_yours"
    assert (await open_tab(again, cookie=cookie)).first["type"] == "state"


async def test_an_unknown_dialogue_is_turned_away(dialogue: Dialogue, open_tab: OpenTab) -> None:
    worker = await sync_to_async(lambda: dialogue.participation.worker)()
    elsewhere = Dialogue(public_id=uuid4())

    tab = await open_tab(elsewhere, worker=worker)

    assert tab.first["reason"] == "unknown_dialogue"
    assert await tab.close_code() == 4404


def test_the_database_refuses_a_turn_after_the_end(dialogue: Dialogue) -> None:
    Dialogue.objects.filter(pk=dialogue.pk).update(ending="bot_failed", ended_at=timezone.now())

    with pytest.raises(IntegrityError, match="turn_only_in_open_dialogue"), transaction.atomic():
        Turn.objects.create(dialogue=dialogue, position=1, text="Too late", created_at=timezone.now())


def test_the_database_refuses_an_end_without_enough_labels(dialogue: Dialogue) -> None:
    with pytest.raises(IntegrityError, match="dialogue_complete_is_whole"), transaction.atomic():
        Dialogue.objects.filter(pk=dialogue.pk).update(ending="complete", ended_at=timezone.now())


async def test_a_worker_has_a_limit_of_open_sockets_and_closing_frees_them(
    study: Study, open_tab: OpenTab, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("turnwise.crowd.worker_socket.MOST_OF_A_WORKER", 2)
    mine, other = [await sync_to_async(start_dialogue)(study) for _ in range(2)]
    first, _ = await open_tab(mine), await open_tab(mine)

    third = await open_tab(mine)
    of_another = await open_tab(other)
    await first.disconnect()
    fourth = await open_tab(mine)

    assert third.first["reason"] == "too_many_tabs"
    assert (of_another.first["type"], fourth.first["type"]) == ("state", "state")


async def test_an_address_has_a_limit_of_open_sockets(
    study: Study, open_tab: OpenTab, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("turnwise.crowd.worker_socket.MOST_OF_AN_ADDRESS", 2)
    tabs = [await open_tab(await sync_to_async(start_dialogue)(study)) for _ in range(3)]

    assert [tab.first["type"] for tab in tabs] == ["state", "state", "refused"]


async def test_sockets_that_are_opened_too_often_are_refused(
    dialogue: Dialogue, open_tab: OpenTab, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("turnwise.crowd.worker_socket.OPENINGS_AT_ONCE", 3)
    monkeypatch.setattr("turnwise.crowd.worker_socket.OPENINGS_PER_SECOND", 0)
    seen = []
    for _ in range(4):
        tab = await open_tab(dialogue)
        seen.append(tab.first.get("reason"))
        await tab.disconnect()

    assert seen == [None, None, None, "too_fast"]
