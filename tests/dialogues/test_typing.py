"""How messages were written: two numbers for each, only where the study says so."""

from typing import Any
from uuid import uuid4

import pytest
from asgiref.sync import sync_to_async
from django.test import Client

from evaluation.quality.signs import Message, pasted
from tests.conftest import MakeStudy, OpenTab, start_dialogue
from turnwise.accounts.models import User
from turnwise.crowd.models import Participation
from turnwise.dialogues.models import Typing
from turnwise.dialogues.turn_taking import TypingMeasurement
from turnwise.privacy.stored_data import stored_data_of
from turnwise.quality.flagging import update_flags, work_by_worker
from turnwise.quality.models import Flag
from turnwise.studies.models import Study


@pytest.mark.parametrize(
    "told",
    [None, 7, {}, {"pasted": 1}, {"pasted": -1, "ms": 2}, {"pasted": True, "ms": 2}, {"pasted": "1", "ms": 2},
     {"pasted": float("inf"), "ms": 2}],
)  # fmt: skip
def test_a_malformed_measurement_counts_as_unknown(told: Any) -> None:
    assert TypingMeasurement.of({"typed": told}) is None


@pytest.mark.django_db(transaction=True)
async def test_typing_is_stored_once_flagged_shown_and_withdrawn(
    make_study: MakeStudy, open_tab: OpenTab
) -> None:
    study = await sync_to_async(make_study)(notes_typing=True, min_turns=2)
    dialogue = await sync_to_async(start_dialogue)(study)
    tab = await open_tab(dialogue)
    for number in range(3):
        frame = {"type": "turn", "key": str(uuid4()), "text": f"A text of thirty characters. {number}"}
        for typed in ({"pasted": 30, "ms": 100.4}, {"pasted": 0, "ms": 0}):  # resent, it changes nothing
            await tab.send(**frame, typed=typed)
            reply = await tab.receive("bot_turn")
        await tab.label(reply["turn"]["position"], sensible=True, specific=True)
    assert [row async for row in Typing.objects.values_list("pasted", "typing_ms")] == [(30, 100)] * 3

    (work,) = (await sync_to_async(work_by_worker)(study)).values()
    assert list(work.typed) == [Message(30, 30, 100)] * 3
    await sync_to_async(update_flags)(study)
    flag = await Flag.objects.aget(kind="pasted")
    assert flag.figures == {"pasted": 3, "messages": 3, "seconds": 0.3}
    own = await Participation.objects.select_related("study", "worker", "consent", "assignment").aget()
    told = (await sync_to_async(stored_data_of)(own))["conversation"]["turns"][1]
    assert (told["pasted_characters"], told["typing_milliseconds"]) == (30, 100)


@pytest.mark.django_db(transaction=True)
async def test_typing_is_not_stored_unless_the_study_announces_it(study: Study, open_tab: OpenTab) -> None:
    tab = await open_tab(await sync_to_async(start_dialogue)(study))

    await tab.send(type="turn", key=str(uuid4()), text="Hello", typed={"pasted": 5, "ms": 1})
    await tab.receive("bot_turn")

    assert not await Typing.objects.aexists()


def test_recording_of_typing_cannot_be_turned_on_after_consent(study: Study, rex: User) -> None:
    client = Client()
    client.force_login(rex)
    sent = {"message_minutes": 0, "session_minutes": 0, "extensions": 10, "notes_typing": "on"}

    page = client.post(f"/studies/{study.pk}/limits/", sent)

    assert "People have agreed without being told of it." in page.text
    study.refresh_from_db()
    assert not study.notes_typing


def test_a_message_is_pasted_if_half_of_it_was() -> None:
    short, half, less = Message(19, 19, 0), Message(20, 10, 500), Message(20, 9, 1500)

    assert [each.is_pasted for each in (short, half, less)] == [False, True, False]
    assert pasted([short, half, less, half]).pasted == 2
    assert not pasted([half] * 2).is_sign
    assert pasted([half] * 3 + [less] * 7).is_sign
    assert not pasted([half] * 3 + [less] * 8).is_sign
    assert pasted([half, less]).seconds == 2
