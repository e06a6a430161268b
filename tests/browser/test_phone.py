"""At 320 px, with a finger: nothing to scroll sideways, nothing too small, nothing out of reach."""

from pathlib import Path

import pytest
import pytest_asyncio
from playwright.async_api import expect

from tests.browser.conftest import Visit, Visitor
from tests.conftest import MakeStudy
from turnwise.studies.models import Study

pytestmark = [pytest.mark.browser, pytest.mark.asyncio(loop_scope="session")]

CRAMPED = (Path(__file__).parent / "cramped.js").read_text()


@pytest_asyncio.fixture(loop_scope="session")
async def phone(visit: Visit) -> Visitor:
    return await visit(viewport={"width": 320, "height": 568}, has_touch=True, is_mobile=True)


@pytest.fixture
def short_study(make_study: MakeStudy) -> Study:
    long_word = "Donaudampfschifffahrtsgesellschaftskapitän" * 3
    return make_study(
        min_turns=2, max_turns=500, title=long_word[:120], instructions=long_word,
        script={"replies": [long_word], "fail_on": [2]},
    )  # fmt: skip


async def test_every_worker_page_fits(phone: Visitor, short_study: Study) -> None:
    page = phone.page
    await phone.go(short_study.get_entry_url())
    await page.get_by_text("Continue with a resume code").click()
    assert await phone.page.evaluate(CRAMPED) == []
    await page.get_by_label("I agree to take part").check()
    await page.get_by_role("button", name="Continue").click()
    await page.wait_for_url("**/instructions/")
    await page.get_by_text("Working by keyboard").click()
    assert await phone.page.evaluate(CRAMPED) == []
    await page.get_by_role("button", name="Start the conversation").click()
    await expect(phone.bubbles).to_have_count(1)
    assert await phone.page.evaluate(CRAMPED) == []
    await phone.say("Supercalifragilisticexpialidocious" * 3)
    await phone.open_question.get_by_text("What does this mean?").click()
    assert await phone.page.evaluate(CRAMPED) == []
    await phone.answer("Yes", "Yes")
    await phone.say("Now break")
    for _ in range(2):
        await page.get_by_role("button", name="Try again").click()
    await expect(page.get_by_role("button", name="End here")).to_be_visible()
    for summary in ("Help", "The questions", "Keyboard", "Resume code"):
        await page.get_by_text(summary, exact=True).click()
    assert await phone.page.evaluate(CRAMPED) == []
    await page.keyboard.press("Escape")
    await page.get_by_role("button", name="End here").click()
    assert await phone.page.evaluate(CRAMPED) == []
    await page.get_by_role("button", name="Yes, end here").click()
    await expect(page.get_by_label("Completion code")).to_be_visible()
    assert await phone.page.evaluate(CRAMPED) == []


async def test_the_reply_that_is_judged_is_not_hidden_behind_the_dock(
    phone: Visitor, short_study: Study
) -> None:
    await phone.start(short_study)
    await phone.say("Hello")
    await expect(phone.open_question.get_by_role("button", name="Yes")).to_be_in_viewport(ratio=1)

    dock = await phone.page.locator("#dock").bounding_box()
    reply = await phone.bubbles.last.bounding_box()
    assert dock
    assert reply
    assert reply["y"] + reply["height"] <= dock["y"]


async def test_on_a_touch_screen_answering_does_not_open_the_keyboard(
    phone: Visitor, short_study: Study
) -> None:
    await phone.start(short_study)
    await phone.say("Hello")
    await phone.open_question.get_by_role("button", name="No").tap()
    await phone.ready()

    await expect(phone.message).not_to_be_focused()


async def test_a_page_enlarged_to_400_percent_scrolls_past_the_dock(visit: Visit, study: Study) -> None:
    visitor = await visit(viewport={"width": 320, "height": 200}, forced_colors="active")
    await visitor.start(study)
    await visitor.say("Hello")
    await visitor.open_question.scroll_into_view_if_needed()
    await expect(visitor.open_question).to_be_in_viewport(ratio=0.5)
    await visitor.press("y")
    await expect(visitor.page.get_by_role("group", name="specific")).to_be_in_viewport()
    await visitor.press("n")
    await visitor.ready()

    assert await visitor.page.locator("#dock").evaluate("dock => getComputedStyle(dock).position") != "sticky"
    assert await visitor.page.evaluate("document.documentElement.scrollWidth") == 320
