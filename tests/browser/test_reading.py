"""Texts beside a conversation: a column on a wide screen, a drawer on a phone, searched by keyboard alone."""

import pytest
from asgiref.sync import sync_to_async
from playwright.async_api import expect

from tests.browser.conftest import Visit
from tests.browser.test_judging import sit_down
from tests.conftest import MakeQueue, MakeStudy
from tests.planted import talked
from turnwise.judging.items import subjects
from turnwise.judging.models import JudgingPlan
from turnwise.studies.models import Study

pytestmark = [pytest.mark.browser, pytest.mark.asyncio(loop_scope="session")]

TEXTS = (
    "# Bees\n"
    + "They dance, and say where the flowers are. " * 60
    + "\n# Wasps\nPaper nests; they dance not."
)


async def test_the_texts_are_next_to_the_chat_and_in_a_drawer(visit: Visit, make_study: MakeStudy) -> None:
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
    await expect(found).to_have_text("1 of 61. Enter: next")
    await find.press("Shift+Enter")
    await expect(found).to_have_text("61 of 61. Enter: next")
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
    assert await wanda.fits()
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


async def test_the_texts_are_next_to_an_item_too(
    visit: Visit, make_study: MakeStudy, make_queue: MakeQueue
) -> None:
    queue = await sync_to_async(queue_with_texts)(make_study, make_queue)
    rita = await visit()
    page = await sit_down(rita, queue)
    column, find = page.locator("aside#reading"), page.get_by_label("Search the texts")
    headings = column.get_by_role("heading", level=2)
    titles = {await headings.first.inner_text()}
    await expect(headings).to_have_text([titles.copy().pop(), "Rules"])
    assert await rita.flaws() == []

    await find.fill("yn")  # letters that answer elsewhere
    await expect(page.locator("#found")).to_have_text("Not found")
    await expect(page.locator("#done-text")).to_have_text("Item 1 of 2")
    await page.keyboard.press("Escape")
    await page.keyboard.press("Escape")
    await page.get_by_role("button", name="No", exact=True).click()
    await expect(page.locator("#done-text")).to_have_text("Item 2 of 2")
    titles.add(await headings.first.inner_text())
    assert titles == {"Bees", "Wasps"}
    await expect(find).to_have_value("")

    await page.set_viewport_size({"width": 320, "height": 640})
    await expect(column).to_be_hidden()
    assert await rita.fits()
    await page.get_by_role("button", name="Texts", exact=True).press("Enter")
    drawer = page.get_by_role("dialog", name="Texts to read")
    await drawer.get_by_role("button", name="Rules").click()
    await expect(drawer.get_by_role("heading", name="Rules")).to_be_in_viewport()
    assert await rita.flaws() == []


def queue_with_texts(make_study: MakeStudy, make_queue: MakeQueue) -> Study:
    """Two turns to judge, each of a conversation with a text of its own, and one text for both."""
    for title in ("Bees", "Wasps"):
        chats = make_study(code=title.lower(), material=f"# {title}\nThey sting.", min_turns=2, max_turns=8)
        talked(chats, [(True, True)])
    queue = make_queue(raters=1, batch=2, material="# Rules\nBe kind.")
    JudgingPlan.objects.filter(study=queue).update(shows_reading=True)
    for chats in Study.objects.filter(code__in=("bees", "wasps")):
        subjects.add_turns(queue, chats, language="en")
    return queue
