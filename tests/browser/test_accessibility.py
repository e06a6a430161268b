"""What a screen reader needs, on every page: names, one heading, landmarks, a language."""

import pytest
from playwright.async_api import expect

from tests.browser.conftest import Visit, Visitor
from turnwise.studies.models import Study

pytestmark = [pytest.mark.browser, pytest.mark.asyncio(loop_scope="session")]


async def test_the_worker_pages(wanda: Visitor, study: Study) -> None:
    page = wanda.page
    await wanda.go(study.get_entry_url())
    await page.get_by_text("Continue with a resume code").click()
    assert await wanda.flaws() == []
    await page.get_by_label("I agree to take part").check()
    await page.get_by_role("button", name="Continue").click()
    await page.wait_for_url("**/instructions/")
    assert await wanda.flaws() == []
    await page.get_by_role("button", name="Start the conversation").click()
    for number in range(7):
        await wanda.exchange(f"Message {number}")
        if number == 0:
            assert await wanda.flaws() == []
    await wanda.may_finish()
    await page.get_by_role("button", name="Finish").click()
    assert await wanda.flaws() == []
    await page.get_by_role("button", name="Yes, finish").click()
    await expect(page.get_by_label("Completion code")).to_be_visible()
    assert await wanda.flaws() == []


async def test_the_pages_that_turn_people_away(wanda: Visitor, study: Study) -> None:
    for path in ("/s/nosuchstudy/", f"/s/{study.code}/thanks/", "/no/such/page/", "/sign-in/"):
        await wanda.go(path)
        assert await wanda.flaws() == []


async def test_a_question_speaks_with_the_reply_it_is_about(wanda: Visitor, study: Study) -> None:
    await wanda.start(study)
    await wanda.say("Hello")

    question = wanda.page.get_by_role("group", name="Does it make sense?")
    await expect(question).to_have_accessible_description("Go on.")
    await expect(question.get_by_role("button", name="Yes")).to_have_accessible_name("Yes")
    await expect(question.get_by_role("button", name="Yes")).to_have_attribute("aria-pressed", "false")


async def test_the_reason_for_a_locked_send_button_is_read_with_it(wanda: Visitor, study: Study) -> None:
    await wanda.start(study)
    await wanda.say("Hello")
    await expect(wanda.open_question).to_be_focused()
    await wanda.page.keyboard.press("Escape")

    send = wanda.page.get_by_role("button", name="Send")
    await expect(send).to_have_accessible_description("Answer the question first: Esc goes to it.")
    await expect(send).to_have_attribute("aria-disabled", "true")


async def test_nothing_moves_for_those_who_asked_for_stillness(visit: Visit, study: Study) -> None:
    visitor = await visit(reduced_motion="reduce")
    await visitor.start(study)

    moves = (
        "elements => elements.filter(element => getComputedStyle(element).animationName !== 'none').length"
    )
    assert await visitor.page.locator("*").evaluate_all(moves) == 0


async def test_without_javascript_the_chat_says_what_it_needs(visit: Visit, study: Study) -> None:
    visitor = await visit(java_script_enabled=False)
    page = visitor.page
    await visitor.go(study.get_entry_url())
    await page.get_by_label("I agree to take part").check()
    await page.get_by_role("button", name="Continue").click()
    await page.get_by_role("button", name="Start the conversation").click()

    await expect(page.get_by_text("This page needs JavaScript")).to_be_visible()
