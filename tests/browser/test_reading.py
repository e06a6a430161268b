"""Texts beside a conversation: a column on a wide screen, a drawer on a phone, searched by keyboard alone."""

import pytest
from asgiref.sync import sync_to_async
from playwright.async_api import expect

from tests.browser.conftest import Visit
from tests.conftest import MakeStudy

pytestmark = [pytest.mark.browser, pytest.mark.asyncio(loop_scope="session")]

TEXTS = (
    "# Bees\n"
    + "They dance, and say where the flowers are. " * 60
    + "\n# Wasps\nPaper nests; they dance not."
)


async def test_the_texts_stand_beside_the_chat_and_in_a_drawer(visit: Visit, make_study: MakeStudy) -> None:
    study = await sync_to_async(make_study)(material=TEXTS, question_set="human-likeness")
    wanda = await visit()
    page = wanda.page
    await wanda.start(study)
    column, find, found = (
        page.locator("aside#reading"),
        page.get_by_label("Search the texts"),
        page.locator("#found"),
    )
    await expect(column.get_by_role("heading", name="Bees")).to_be_visible()
    assert await wanda.flaws() == []

    await find.fill("DANCE")  # typed letters stay in the search
    await expect(found).to_have_text("1 of 61. Enter: the next")
    await find.press("Shift+Enter")
    await expect(found).to_have_text("61 of 61. Enter: the next")
    await expect(column.locator("mark.is-here")).to_be_in_viewport()
    await expect(column.get_by_role("button", name="Wasps")).to_have_attribute("aria-current", "true")
    await find.press("Escape")
    await expect(column.locator("mark")).to_have_count(0)
    await expect(find).to_be_focused()
    await find.fill("hornets")
    await expect(found).to_have_text("Not found")

    await page.set_viewport_size({"width": 320, "height": 640})
    await expect(column).to_be_hidden()
    await wanda.say("Do bees sleep?")
    await expect(wanda.bubbles).to_have_count(3)
    assert await page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    await page.get_by_role("button", name="Texts", exact=True).press("Enter")
    drawer = page.get_by_role("dialog", name="Texts to read")
    await expect(drawer.get_by_role("heading", name="Bees")).to_be_visible()
    assert await wanda.flaws() == []
    await drawer.get_by_role("button", name="Wasps").click()
    await expect(drawer.get_by_role("heading", name="Wasps")).to_be_in_viewport()
    await page.keyboard.press("Escape")
    await expect(drawer).to_be_hidden()
    await expect(page.get_by_role("button", name="Texts", exact=True)).to_be_focused()

    await page.set_viewport_size({"width": 1280, "height": 800})
    await expect(column.get_by_role("heading", name="Wasps")).to_be_visible()
    await wanda.answer("No")
    await wanda.saved(1, "Not human like")
