"""A worker's page while the study is steered: the time left, a pause, a message, and how it was written."""

import pytest
from asgiref.sync import sync_to_async
from playwright.async_api import expect

from tests.browser.conftest import Visitor
from tests.conftest import MakeStudy
from turnwise.crowd.models import Assignment
from turnwise.crowd.running import pausing
from turnwise.dialogues.models import Turn, Typing

pytestmark = [pytest.mark.browser, pytest.mark.asyncio(loop_scope="session")]

PASTE = """(text) => {
  const data = new DataTransfer();
  data.setData("text", text);
  document.getElementById("message").dispatchEvent(new ClipboardEvent("paste", { clipboardData: data }));
}"""


async def test_a_worker_is_warned_gets_more_time_is_paused_and_continues(
    wanda: Visitor, make_study: MakeStudy
) -> None:
    study = await sync_to_async(make_study)(message_minutes=1, notes_typing=True)
    page = wanda.page
    await wanda.go(study.get_entry_url())
    await expect(page.get_by_text("how many characters you paste")).to_be_visible()
    await wanda.start(study)
    await expect(page.get_by_text("left for this step")).to_be_visible()

    await page.evaluate("performance.now = ((now) => () => now.call(performance) + 35_000)(performance.now)")
    await expect(page.get_by_role("alert").filter(has_text="seconds are left for this step")).to_have_count(1)
    await page.get_by_role("button", name="I need more time").press("Enter")
    await expect(page.get_by_role("alert").filter(has_text="You have more time.")).to_have_count(1)
    assert (await Assignment.objects.aget()).extensions == 1
    await expect(page.locator(".standing__time")).to_be_focused()  # the button is gone, their place is not

    await sync_to_async(pausing.pause)(study.pk, holds=True, by="rex")
    await expect(page.get_by_text("Your work is safe, and nothing is sent")).to_be_visible()
    await page.evaluate(PASTE, "A pasted greeting")
    await wanda.message.press_sequentially("A pasted greeting", delay=30)
    await wanda.message.press("Enter")
    assert not await Turn.objects.filter(text="A pasted greeting").aexists()
    await sync_to_async(pausing.publish_notice)(study.pk, "We go on now.", by="rex")
    await sync_to_async(pausing.resume)(study.pk, by="rex")

    await expect(page.get_by_text("Message from the research team: We go on now.")).to_be_visible()
    await expect(page.locator("#turns").get_by_text("Go on.")).to_be_visible()
    typed = await Typing.objects.select_related("turn").aget()
    assert typed.turn.text == "A pasted greeting"
    assert typed.pasted == 17
    assert typed.typing_ms >= 16 * 30


async def test_two_clocks_that_run_out_at_once_are_both_announced(
    wanda: Visitor, make_study: MakeStudy
) -> None:
    study = await sync_to_async(make_study)(message_minutes=1, session_minutes=3)
    page = wanda.page
    await wanda.start(study)
    await expect(page.get_by_text("left in total")).to_be_visible()

    await page.evaluate("performance.now = ((now) => () => now.call(performance) + 61_000)(performance.now)")

    warning = page.get_by_role("alert").filter(has_text="left for this step")
    await expect(warning).to_contain_text("left for all of your work")
    for of in ("this step", "in total"):
        more = page.get_by_role("button", name="I need more time", description=of)
        await expect(more).to_have_count(1)
