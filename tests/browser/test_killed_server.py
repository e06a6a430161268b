"""The server is killed in the middle of sessions and started again: the workers just go on."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from asgiref.sync import sync_to_async
from playwright.async_api import expect

from tests.browser.conftest import Visit
from tests.browser.test_pairs import saved, sit_down
from tests.conftest import MakePairs
from tests.server import Server
from turnwise.dialogues.models import Dialogue, Fault, Turn
from turnwise.labels.models import Label
from turnwise.studies.models import Study

pytestmark = [pytest.mark.browser, pytest.mark.asyncio(loop_scope="session")]


@pytest.fixture
def own_server(collected: None, tmp_path: Path) -> Iterator[Server]:
    server = Server(tmp_path / "log")
    server.start()
    yield server
    server.end()


@pytest.fixture
def site(own_server: Server) -> str:
    return own_server.address


@pytest.fixture
def study(make_study: Callable[..., Study]) -> Study:
    script = {
        "replies": ["Quick.", "Slow.", "Done."],
        "hang_on": [2],
        "hang_seconds": 1.5,
        "load_seconds": 1.5,
    }
    return make_study({"thinker": 10}, script=script, min_turns=6)


async def test_a_chat_and_a_batch_outlive_a_killed_server(
    visit: Visit, own_server: Server, study: Study, make_pairs: MakePairs
) -> None:
    wanda, rita = await visit(), await visit()
    await sit_down(rita, await sync_to_async(make_pairs)(8, batch=4))
    await rita.press("1")
    await saved(1)
    await rita.keys_count()  # the next pair is there
    compared = await rita.page.locator(".side .turn__text").all_text_contents()
    await wanda.start(study)
    await wanda.exchange("First", "Yes", "No")
    await wanda.say("Killed while the bot thinks about this")
    await expect(wanda.page.locator("#thinking")).to_be_visible()

    own_server.end(kill=True)
    await rita.press("2")  # kept in the browser
    for worker in (wanda, rita):
        await expect(worker.page.locator("#connection")).to_contain_text("The connection is lost")
    own_server.start()

    await expect(wanda.page.locator("#thinking")).to_contain_text("is restarting. Your message is saved")
    await expect(wanda.bubbles).to_have_text(
        ["Hi!", "First", "Quick.", "Killed while the bot thinks about this", "Slow."]
    )
    await wanda.answer("No")
    await wanda.exchange("Third")
    await wanda.finish()
    await saved(2)
    await expect(rita.page.locator("#saved-text")).to_have_text("saved")
    await rita.page.reload()
    await rita.keys_count()
    await rita.page.keyboard.press("ArrowLeft")
    await expect(rita.page.locator(".side .turn__text")).to_have_text(compared)
    judged = Label.objects.filter(pair__isnull=False).order_by("pk")
    assert sorted([label.answers["better"] async for label in judged]) == ["first", "second"]
    assert [turn.position async for turn in Turn.objects.order_by("position")] == list(range(7))
    assert await Label.objects.filter(pair=None).acount() == 3
    assert not await Fault.objects.aexists()
    assert (await Dialogue.objects.aget()).ending == Dialogue.Ending.COMPLETE
