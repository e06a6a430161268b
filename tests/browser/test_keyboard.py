"""Everything by keyboard, from the welcome page to the completion code."""

import pytest
from playwright.async_api import Locator, Page, expect

from tests.browser.conftest import Visitor
from tests.conftest import MakeStudy
from turnwise.studies.asks import Moment
from turnwise.studies.models import Study

pytestmark = [pytest.mark.browser, pytest.mark.asyncio(loop_scope="session")]


async def tab_to(page: Page, target: Locator) -> None:
    for _ in range(60):
        await page.keyboard.press("Tab")
        if await target.evaluate("element => element === document.activeElement"):
            return
    raise AssertionError("Sixty presses of Tab did not lead there.")


async def test_the_whole_way_from_welcome_to_thanks(wanda: Visitor, study: Study) -> None:
    page, press = wanda.page, wanda.page.keyboard.press
    await wanda.go(study.get_entry_url())
    await tab_to(page, page.get_by_label("I agree to take part"))
    await press("Space")
    await tab_to(page, page.get_by_role("button", name="Continue"))
    await press("Enter")
    await page.wait_for_url("**/instructions/")
    await tab_to(page, page.get_by_role("button", name="Start the conversation"))
    await press("Enter")
    await expect(wanda.bubbles).to_have_count(1)
    for number in range(7):
        await wanda.ready()
        await expect(wanda.message).to_be_focused()
        await page.keyboard.type(f"Message {number}")
        await press("Enter")
        await expect(page.get_by_role("group", name="make sense")).to_be_focused()
        await wanda.press("y")
        await expect(page.get_by_role("group", name="specific")).to_be_focused()
        await wanda.press("n")
    await wanda.may_finish()
    await expect(wanda.message).to_be_focused()
    await press("Escape")
    await expect(page.get_by_role("button", name="Finish")).to_be_focused()
    await press("Enter")
    await press("Escape")
    await expect(page.get_by_role("dialog")).to_be_hidden()
    await expect(page.get_by_role("button", name="Finish")).to_be_focused()
    await press("Enter")
    await expect(page.get_by_role("button", name="Yes, finish")).to_be_focused()
    await press("Enter")

    await expect(page.get_by_label("Completion code")).to_be_visible()
    await tab_to(page, page.get_by_role("button", name="Copy"))


async def test_escape_moves_between_the_message_and_the_question(wanda: Visitor, study: Study) -> None:
    await wanda.start(study)
    await wanda.say("Hello")
    question = wanda.page.get_by_role("group", name="make sense")
    await expect(question).to_be_focused()
    await expect(wanda.message).to_be_hidden()

    await wanda.page.keyboard.press("Escape")
    await expect(wanda.message).to_be_focused()
    await wanda.page.keyboard.press("Escape")
    await expect(question).to_be_focused()
    await expect(wanda.message).to_be_hidden()


async def test_a_stray_enter_answers_nothing(wanda: Visitor, study: Study) -> None:
    await wanda.start(study)
    await wanda.say("Hello")
    await expect(wanda.page.get_by_role("group", name="make sense")).to_be_focused()
    await wanda.keys_count()

    await wanda.page.keyboard.press("Enter")

    await expect(wanda.page.get_by_role("group", name="make sense")).to_be_focused()


async def test_letters_in_a_message_answer_nothing(wanda: Visitor, study: Study) -> None:
    await wanda.start(study)
    await wanda.say("Hello")
    await expect(wanda.open_question).to_be_focused()
    await wanda.keys_count()
    await wanda.page.keyboard.press("Escape")

    await wanda.page.keyboard.type("yn")

    await expect(wanda.message).to_have_value("yn")
    await expect(wanda.page.get_by_role("group", name="make sense")).to_be_visible()


async def test_single_keys_can_be_turned_off(wanda: Visitor, study: Study) -> None:
    await wanda.start(study)
    for summary in ("Help", "Keyboard"):
        await wanda.page.get_by_text(summary, exact=True).click()
    await wanda.page.get_by_label("Answer with single keys").uncheck()
    await wanda.say("Hello")
    await expect(wanda.page.get_by_role("group", name="make sense")).to_be_focused()

    await wanda.press("y")

    await expect(wanda.page.get_by_role("group", name="make sense")).to_be_focused()
    await wanda.page.reload()
    await expect(wanda.page.locator("#single-keys")).not_to_be_checked()


async def test_shift_enter_starts_a_new_line(wanda: Visitor, study: Study) -> None:
    await wanda.start(study)
    await wanda.ready()
    await wanda.message.focus()
    await wanda.page.keyboard.type("First")
    await wanda.page.keyboard.press("Shift+Enter")
    await wanda.page.keyboard.type("second")
    await wanda.page.keyboard.press("Enter")

    await expect(wanda.bubbles.nth(1)).to_have_text("First\nsecond")


async def test_a_reply_does_not_take_the_focus_from_somebody_who_is_writing(
    wanda: Visitor, slow_study: Study
) -> None:
    await wanda.start(slow_study)
    await wanda.say("Hello")
    await wanda.message.fill("Meanwhile")

    await expect(wanda.bubbles).to_have_count(3)
    await expect(wanda.message).to_be_focused()
    await expect(wanda.message).to_have_value("Meanwhile")


@pytest.fixture
def slow_study(make_study: MakeStudy) -> Study:
    return make_study(script={"replies": ["Well."], "seconds": 0.5})


async def test_a_new_reply_is_announced_once_and_alone(wanda: Visitor, study: Study) -> None:
    await wanda.start(study)
    await wanda.say("Hello")

    # The list itself is the live region: a copy of the reply would be met twice.
    await expect(wanda.page.get_by_text("Go on.")).to_have_count(1)
    await expect(wanda.page.locator("#turns")).to_have_attribute("aria-live", "polite")
    await expect(wanda.page.locator(".turn--human")).to_have_attribute("aria-live", "off")


@pytest.fixture
def study_judged_at_the_end(make_study: MakeStudy) -> Study:
    script = {"replies": ["A long story. " * 20]}
    return make_study(min_turns=4, max_turns=4, moment=Moment.BEFORE_FINISH, script=script)


async def test_replies_can_be_judged_one_after_the_other_at_the_end(
    wanda: Visitor, study_judged_at_the_end: Study
) -> None:
    await wanda.start(study_judged_at_the_end)
    await wanda.say("One")
    await expect(wanda.bubbles).to_have_count(3)
    await wanda.say("Two")
    for reply in (1, 2):
        await expect(wanda.page.locator(".is-asked .turn__text")).to_have_id(f"turn-{2 * reply}")
        await expect(wanda.page.locator(".is-asked")).to_be_in_viewport()
        await expect(wanda.page.get_by_role("group", name="make sense")).to_be_focused()
        await wanda.press("y")
        await wanda.press("n")
    await expect(wanda.page.get_by_role("button", name="Finish")).to_be_focused()

    await wanda.finish()


async def test_a_key_answers_nothing_about_a_reply_that_is_out_of_sight(
    wanda: Visitor, chatty_study: Study
) -> None:
    await wanda.start(chatty_study)
    for text in ("One", "Two"):
        await wanda.exchange(text, "No")
    await wanda.say("Three")
    await wanda.keys_count()
    await wanda.page.evaluate("scrollTo(0, 0)")
    await expect(wanda.page.locator(".is-asked")).not_to_be_in_viewport()

    await wanda.page.keyboard.press("y")

    await expect(wanda.page.locator(".is-asked")).to_be_in_viewport()
    await expect(wanda.page.get_by_role("group", name="make sense")).to_be_visible()


@pytest.fixture
def chatty_study(make_study: MakeStudy) -> Study:
    return make_study(script={"replies": ["A long story. " * 100]})


async def test_the_box_has_the_focus_when_the_chat_opens(wanda: Visitor, study: Study) -> None:
    await wanda.start(study)

    await expect(wanda.message).to_be_focused()


async def test_finish_says_why_not_yet(wanda: Visitor, study: Study) -> None:
    await wanda.start(study)
    await wanda.exchange("One", "No")
    await wanda.saved(1, "Not sensible")
    await expect(wanda.message).to_be_focused()  # else the focus moves there after it was set on the button
    finish = wanda.page.get_by_role("button", name="Finish")

    await expect(finish).to_have_accessible_description("Keep talking: 6 more replies to judge, then finish.")
    await finish.press("Enter")

    await expect(wanda.page.locator("#hint")).to_have_text(
        "Keep talking: 6 more replies to judge, then finish."
    )
    await expect(wanda.page.get_by_role("dialog")).to_be_hidden()


async def test_escape_closes_the_help_and_nothing_else(wanda: Visitor, study: Study) -> None:
    await wanda.start(study)
    await wanda.exchange("One", "No")
    await wanda.saved(1, "Not sensible")
    await wanda.chip(1).click()
    await wanda.page.get_by_text("Help", exact=True).click()
    await expect(wanda.page.get_by_text("Keyboard", exact=True)).to_be_visible()

    await wanda.page.keyboard.press("Escape")

    await expect(wanda.page.get_by_text("Keyboard", exact=True)).to_be_hidden()
    await expect(wanda.page.get_by_role("button", name="Keep it as it was")).to_be_visible()
