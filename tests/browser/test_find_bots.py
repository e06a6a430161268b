"""A bot that a form does not list is found by a part of its name, by keyboard alone."""

import pytest
from asgiref.sync import sync_to_async
from playwright.async_api import expect

from tests.browser.conftest import Visit
from tests.browser.test_staff_pages import PASSWORD, sign_in
from turnwise.accounts.models import User
from turnwise.bots.models import Bot, BotRevision
from turnwise.bots.search import MOST_OFFERED
from turnwise.bots.services import register_bot
from turnwise.studies.models import StudyBot

pytestmark = [pytest.mark.browser, pytest.mark.asyncio(loop_scope="session")]

REPLIES = {"replies": ["Well."]}


@pytest.fixture
def rex(rex: User) -> User:
    rex.set_password(PASSWORD)
    rex.save()
    return rex


@pytest.fixture
def many(rex: User) -> list[Bot]:
    """The oldest of them is in no list."""
    bots = Bot.objects.bulk_create(
        Bot(name=f"bot-{n:02}", title=f"Bot {n:02}", adapter="scripted", configuration=REPLIES, owner=rex)
        for n in range(MOST_OFFERED + 5)
    )
    BotRevision.objects.bulk_create(BotRevision(bot=bot, number=1, configuration=REPLIES) for bot in bots)
    return bots


async def test_a_bot_behind_a_service_has_its_markdown_shown_formatted(visit: Visit, rex: User) -> None:
    service = {"base_url": "https://api.example.org/v1", "model": "m", "api_key": "sesame"}
    for name, adapter, configuration in (("plain", "scripted", REPLIES), ("served", "openai-chat", service)):
        await sync_to_async(register_bot)(
            name=name, title=name.title(), adapter=adapter, configuration=configuration, owner=rex
        )
    visitor = await visit()
    page = visitor.page
    await sign_in(visitor, "/studies/new/?task=conversation")
    formatted = page.locator("#id_markdown")

    await page.get_by_label("Plain", exact=True).check()
    await expect(formatted).not_to_be_checked()
    await page.get_by_label("Served", exact=True).check()
    await expect(formatted).to_be_checked()
    await expect(page.locator("#markdown-told")).to_be_visible()
    await page.get_by_label("Served", exact=True).uncheck()
    await expect(formatted).not_to_be_checked()


async def test_a_study_gets_a_row_for_a_bot_that_was_found(visit: Visit, many: list[Bot]) -> None:
    visitor = await visit(viewport={"width": 320, "height": 800}, color_scheme="dark")
    page = visitor.page
    await sign_in(visitor, "/studies/new/?task=conversation")
    await expect(page.get_by_label("Bot 00", exact=True)).to_have_count(0)

    await page.get_by_label("Find another bot").fill("ot 0")
    await expect(page.get_by_role("status").filter(has_text="8 bots found. 2 more match")).to_be_visible()
    assert await visitor.flaws_at(320, 1280) == []
    await page.get_by_label("Find another bot").fill("bot-00")
    await expect(page.get_by_role("status").filter(has_text="1 bot found.")).to_be_visible()
    await page.keyboard.press("Enter")

    await expect(page.get_by_label("Bot 00", exact=True)).to_be_checked()
    await page.get_by_label("Conversations with Bot 00").fill("7")
    await page.get_by_label("Title").fill("Found")
    await page.get_by_role("button", name="Save").click()
    await expect(page.get_by_text("“Found” is saved.")).to_be_visible()
    assert [row async for row in StudyBot.objects.values_list("bot__name", "target")] == [("bot-00", 7)]


async def test_lists_of_one_and_of_several_take_what_is_found(visit: Visit, many: list[Bot]) -> None:
    visitor = await visit()
    page = visitor.page
    await sign_in(visitor, "/bots/new/repetition-filter/")
    await page.get_by_label("Find another bot").fill("bot-0")
    await expect(page.locator(".find-bots__found button")).to_have_count(8)
    await page.keyboard.press("ArrowDown")
    await page.keyboard.press("ArrowDown")
    await expect(page.locator(".find-bots__found button").nth(1)).to_be_focused()
    await page.keyboard.press("Escape")
    await expect(page.locator(".find-bots__found button")).to_have_count(0)
    await page.get_by_label("Find another bot").fill("bot-00")
    await page.get_by_role("button", name="Bot 00").click()
    await expect(page.locator("select[name=setting-bot]")).to_have_value("bot-00")

    await visitor.go("/bots/side-by-side/")
    for name in ("bot-00", "bot-16"):  # in no list, and listed
        await page.get_by_label("Find another bot").fill(name)
        await page.get_by_role("button", name=name).click()
    assert await visitor.flaws() == []
    await page.get_by_role("button", name="Ask these").click()
    await expect(page.get_by_role("heading", name="Bot 00")).to_be_visible()
    await expect(page.get_by_role("heading", name="Bot 16")).to_be_visible()
