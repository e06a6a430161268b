"""A bot that is loading, as all are after a restart: no deadline runs, and the page says what goes on."""

from typing import Any

from asgiref.sync import sync_to_async

from tests.conftest import MakeStudy, OpenTab, start_dialogue
from turnwise.dialogues.models import Fault


async def test_the_deadline_does_not_run_while_a_bot_loads(
    make_study: MakeStudy, open_tab: OpenTab, settings: Any
) -> None:
    settings.BOT_DEADLINE_SECONDS = 0.5
    study = await sync_to_async(make_study)(script={"replies": ["Here I am."], "load_seconds": 2})
    dialogue = await sync_to_async(start_dialogue)(study)
    tab = await open_tab(dialogue)
    assert tab.first["starting"] is False

    await tab.send(type="turn", key="6b1e1c6e-7d6a-4b0e-9c40-7a40b5b1f001", text="Are you there?")
    assert (await tab.receive("bot_starting", "bot_turn", "bot_failed"))["type"] == "bot_starting"
    another = await open_tab(dialogue)
    assert another.first["starting"] is True

    reply = await tab.receive("bot_starting", "bot_turn", "bot_failed")
    assert (reply["type"], reply["turn"]["text"]) == ("bot_turn", "Here I am.")
    assert (await another.receive("bot_turn"))["turn"]["text"] == "Here I am."
    assert not await Fault.objects.aexists()


async def test_a_loaded_bot_still_has_its_deadline(
    make_study: MakeStudy, open_tab: OpenTab, settings: Any
) -> None:
    settings.BOT_DEADLINE_SECONDS = 0.5
    study = await sync_to_async(make_study)(script={"replies": ["Late."], "seconds": 2, "load_seconds": 1})
    tab = await open_tab(await sync_to_async(start_dialogue)(study))

    await tab.send(type="turn", key="6b1e1c6e-7d6a-4b0e-9c40-7a40b5b1f002", text="Are you there?")

    await tab.receive("bot_failed")
    assert [fault.kind async for fault in Fault.objects.all()] == ["BotLate"]
