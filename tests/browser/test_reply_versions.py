"""Another reply to the same message, on the page: asked for, gone through, kept and judged."""

from typing import Any

import pytest
from asgiref.sync import sync_to_async
from playwright.async_api import expect

from tests.browser.conftest import Visitor
from tests.conftest import MakeStudy
from turnwise.bots.models import Bot
from turnwise.dialogues.models import ReplyVersion, Turn
from turnwise.labels.models import Label
from turnwise.studies.models import ReplyDisplay

pytestmark = [pytest.mark.browser, pytest.mark.asyncio(loop_scope="session")]


@pytest.mark.parametrize("display", [ReplyDisplay.WHEN_DONE, ReplyDisplay.FIXED_PACE])
async def test_a_worker_asks_for_another_reply_goes_back_and_judges_the_kept_one(
    wanda: Visitor, make_study: MakeStudy, display: ReplyDisplay
) -> None:
    fields: dict[str, Any] = {"reply_display": display, "reply_pace": 200, "max_reply_versions": 3}
    study = await sync_to_async(make_study)(**fields)
    await Bot.objects.aupdate(adapter="eliza", configuration={})  # the seed decides what it answers
    await wanda.start(study)
    another = wanda.page.get_by_role("button", name="Another reply")
    await wanda.say("I need a long holiday by the sea")
    await expect(wanda.open_question).to_be_visible()
    await expect(another).to_be_visible()
    assert await wanda.fits()
    assert await wanda.flaws() == []

    await another.click()

    count = wanda.page.locator(".versions__count")
    await expect(count).to_have_text("2 of 2")
    await expect(wanda.open_question).to_be_visible()
    await another.click()
    await expect(count).to_have_text("3 of 3")
    await expect(another).to_be_hidden()
    earlier = wanda.page.get_by_role("button", name="Earlier reply")
    await earlier.click()
    await expect(count).to_have_text("2 of 3")
    await expect(earlier).to_be_focused()
    assert await wanda.fits()
    assert await wanda.flaws() == []
    await wanda.page.reload()
    await expect(count).to_have_text("2 of 3")
    await wanda.answer("No")
    await expect(wanda.page.locator(".versions")).to_have_count(0)

    kept = await ReplyVersion.objects.aget(is_kept=True)
    assert kept.number == 2
    assert await wanda.texts() == ["Hi!", "I need a long holiday by the sea", kept.text]
    assert await ReplyVersion.objects.acount() == 3
    assert await Turn.objects.acount() == 3
    await wanda.exchange("Go on", "No")  # until then an answer is held back
    assert await Label.objects.filter(turn__position=2).acount() == 1


async def test_there_is_no_button_where_the_study_does_not_allow_it(
    wanda: Visitor, make_study: MakeStudy
) -> None:
    await wanda.start(await sync_to_async(make_study)())
    await wanda.say("Hello")
    await expect(wanda.open_question).to_be_visible()

    await expect(wanda.page.get_by_role("button", name="Another reply")).to_have_count(0)
