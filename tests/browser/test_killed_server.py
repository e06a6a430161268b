"""The server is killed in the middle of a session and started again: the worker just goes on."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from playwright.async_api import expect

from tests.browser.conftest import Server, Visitor
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


async def test_a_session_outlives_a_killed_server(wanda: Visitor, own_server: Server, study: Study) -> None:
    await wanda.start(study)
    await wanda.exchange("First", "Yes", "No")
    await wanda.say("Killed while the bot thinks about this")
    await expect(wanda.page.locator("#thinking")).to_be_visible()

    own_server.end(kill=True)
    await expect(wanda.page.locator("#connection")).to_contain_text("The connection is lost")
    own_server.start()

    await expect(wanda.page.locator("#thinking")).to_contain_text("is restarting. Your message is saved")
    await expect(wanda.bubbles).to_have_text(
        ["Hi!", "First", "Quick.", "Killed while the bot thinks about this", "Slow."]
    )
    await wanda.answer("No")
    await wanda.exchange("Third")
    await wanda.finish()
    assert [turn.position async for turn in Turn.objects.order_by("position")] == list(range(7))
    assert await Label.objects.acount() == 3
    assert not await Fault.objects.aexists()
    assert (await Dialogue.objects.aget()).ending == Dialogue.Ending.COMPLETE
