"""A bot that breaks down is shown as such, and never costs the worker anything."""

import pytest
from playwright.async_api import expect

from tests.browser.conftest import Visitor
from tests.conftest import MakeStudy
from turnwise.crowd.models import Assignment, Outcome
from turnwise.dialogues.models import Fault
from turnwise.studies.models import Study

pytestmark = [pytest.mark.browser, pytest.mark.asyncio(loop_scope="session")]


@pytest.fixture
def study_with_a_stumbling_bot(make_study: MakeStudy) -> Study:
    return make_study(script={"replies": ["Here I am."], "fail_on": [1], "fail_times": 1})


@pytest.fixture
def study_with_a_broken_bot(make_study: MakeStudy) -> Study:
    return make_study(script={"replies": ["Never said."], "fail_on": [1]})


async def test_a_failed_reply_is_asked_for_again_by_itself(
    wanda: Visitor, study_with_a_stumbling_bot: Study
) -> None:
    await wanda.start(study_with_a_stumbling_bot)
    await wanda.say("Are you there?")
    await expect(wanda.page.get_by_role("alert").get_by_text("could not answer")).to_be_visible()
    await expect(wanda.page.get_by_role("button", name="End here")).to_be_hidden()

    await expect(wanda.bubbles).to_have_text(["Hi!", "Are you there?", "Here I am."])
    await expect(wanda.page.get_by_role("button", name="Try again")).to_be_hidden()
    assert await Fault.objects.acount() == 1


async def test_a_failure_is_still_shown_after_a_reload(
    wanda: Visitor, study_with_a_broken_bot: Study
) -> None:
    await wanda.start(study_with_a_broken_bot)
    await wanda.say("Are you there?")
    await expect(wanda.page.get_by_role("button", name="Try again")).to_be_visible()

    await wanda.page.reload()

    await expect(wanda.page.get_by_role("button", name="Try again")).to_be_visible()


async def test_a_conversation_with_a_broken_bot_can_be_ended_with_full_pay_by_keyboard(
    wanda: Visitor, study_with_a_broken_bot: Study
) -> None:
    await wanda.start(study_with_a_broken_bot)
    await wanda.say("Are you there?")
    again = wanda.page.get_by_role("button", name="Try again")
    await again.focus()
    await expect(wanda.page.locator('#fault[data-attempts="2"]')).to_be_visible()  # asked again by itself
    await expect(again).to_be_focused()
    await wanda.page.keyboard.press("Enter")
    await expect(wanda.page.locator('#fault[data-attempts="3"]')).to_be_visible()
    await expect(again).to_be_focused()

    await wanda.page.get_by_role("button", name="End here (you will be paid in full)").click()
    await wanda.page.get_by_role("button", name="Yes, end here").click()

    await expect(wanda.page.get_by_text("you are paid in full")).to_be_visible()
    await expect(wanda.page.get_by_label("Completion code")).to_be_visible()
    assert (await Assignment.objects.aget()).outcome == Outcome.BOT_FAILED
