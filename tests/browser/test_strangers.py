"""What strangers stumbled over on the chat page, in a real browser."""

import pytest
from asgiref.sync import sync_to_async
from playwright.async_api import expect

from tests.browser.conftest import Visit
from tests.conftest import MakeStudy

pytestmark = [pytest.mark.browser, pytest.mark.asyncio(loop_scope="session")]


async def test_nothing_is_called_saved_before_it_is_and_removed_marks_are_named(
    visit: Visit, make_study: MakeStudy
) -> None:
    wanda = await visit()
    await wanda.start(await sync_to_async(make_study)(min_turns=2, max_turns=8))
    page = wanda.page
    await expect(page.locator("#saved-text")).to_have_text("")

    await wanda.say("One \u202etwo\u202c three")

    await expect(page.locator("#hint")).to_have_text(
        "Invisible direction marks were removed from your message."
    )
    await expect(wanda.bubbles.nth(1)).to_have_text("One two three")
    await expect(page.locator("#saved-text")).to_have_text("saved")


async def test_a_reply_stands_once_in_the_accessibility_tree(visit: Visit, make_study: MakeStudy) -> None:
    wanda = await visit()
    script = {"replies": ["Only once here."]}
    await wanda.start(await sync_to_async(make_study)(script=script, min_turns=2, max_turns=8))
    await wanda.say("Hello")
    await expect(wanda.open_question).to_be_visible()

    tree = await wanda.page.locator("body").aria_snapshot()

    assert tree.count("Only once here.") == 1


async def test_finish_says_how_far_it_is_at_the_first_reply(visit: Visit, make_study: MakeStudy) -> None:
    wanda = await visit()
    await wanda.start(await sync_to_async(make_study)(min_turns=14, max_turns=28))
    await wanda.say("Hello")
    await expect(wanda.open_question).to_be_visible()

    await expect(wanda.page.locator("#why-not")).to_have_text(
        "Keep talking: 7 more replies to judge, then finish."
    )
