"""A researcher registers a bot and talks with it."""

import os
import re

import pytest
from playwright.async_api import expect

from tests.browser.conftest import Visit
from tests.browser.test_staff_pages import PASSWORD, sign_in
from turnwise.accounts.models import User
from turnwise.bots.models import Bot

pytestmark = [pytest.mark.browser, pytest.mark.asyncio(loop_scope="session")]


@pytest.fixture
def rex(rex: User) -> User:
    rex.set_password(PASSWORD)
    rex.save()
    return rex


async def test_from_the_empty_list_to_a_reply(visit: Visit, rex: User) -> None:
    visitor = await visit(viewport={"width": 320, "height": 800})
    page = visitor.page
    await sign_in(visitor, "/bots/")
    await page.get_by_role("link", name="Register the first bot").click()
    await page.get_by_text("All kinds").click()
    await page.get_by_role("link", name="scripted").click()
    await page.get_by_label("Name", exact=True).fill("two words")
    await page.get_by_role("button", name="Register").click()
    await expect(page.get_by_label("Name", exact=True)).to_have_accessible_description(
        re.compile("Use letters, digits, - and _ only")
    )
    assert await visitor.flaws_at(1280, 320) == []

    await page.get_by_label("Name", exact=True).fill("parrot")
    await page.get_by_label("Title").fill("Parrot")
    await page.get_by_label("Replies").fill("Squawk <b>!\nBye.")
    await page.get_by_role("button", name="Register").click()
    await expect(page.get_by_text("is registered")).to_be_visible()
    assert await visitor.flaws_at(1280, 320) == []

    await page.get_by_role("link", name="Try it").click()
    await expect(page.get_by_role("button", name="Send")).to_be_enabled()
    await page.get_by_label("Your message").fill("Hello")
    await page.keyboard.press("Enter")
    await expect(page.locator("#turns li.is-bot p").first).to_have_text("Squawk <b>!")
    await page.get_by_label("Your message").fill("And now?")
    await page.keyboard.press("Enter")
    await expect(page.locator("#turns li.is-bot p.small")).to_have_count(2)
    assert await visitor.flaws_at(1280, 320) == []
    await page.get_by_role("button", name="Start over").click()
    await expect(page.locator("#turns li")).to_have_count(0)
    assert await Bot.objects.acount() == 1


async def test_a_bot_that_fails_says_why_and_keeps_the_message(visit: Visit, rex: User) -> None:
    await Bot.objects.acreate(
        name="broken", title="Broken", adapter="scripted", configuration={"fail_on": [1]}, owner=rex
    )
    visitor = await visit()
    await sign_in(visitor, "/bots/broken/try/")

    await expect(visitor.page.get_by_role("button", name="Send")).to_be_enabled()
    await visitor.page.get_by_label("Your message").fill("Hello")
    await visitor.page.keyboard.press("Enter")

    await expect(visitor.page.get_by_role("alert")).to_contain_text("Turn 1 was configured to fail")
    await expect(visitor.page.get_by_label("Your message")).to_have_value("Hello")


async def test_two_bots_get_the_same_message_and_a_failure_is_shown_in_its_column(
    visit: Visit, rex: User
) -> None:
    for name, settings in (
        ("well", {"replies": ["One.", "Two."]}),
        ("ill", {"replies": ["Once."], "fail_on": [2]}),
    ):
        await Bot.objects.acreate(
            name=name, title=name.title(), adapter="scripted", configuration=settings, owner=rex
        )
    visitor = await visit(viewport={"width": 390, "height": 844})
    page = visitor.page
    await sign_in(visitor, "/bots/side-by-side/")
    await page.get_by_label("Well").check()
    await page.get_by_label("Ill").check()
    await page.get_by_role("button", name="Ask these").click()

    for text in ("Hello", "And now?"):
        await expect(page.get_by_role("button", name="Send")).to_be_enabled()
        await page.get_by_label("Your message to all of them").fill(text)
        await page.keyboard.press("Enter")

    well, ill = page.get_by_role("region", name="Well"), page.get_by_role("region", name="Ill")
    await expect(well.locator("li.is-bot p:not(.small)")).to_have_text(["One.", "Two."])
    await expect(ill.locator("li.is-bot").first).to_contain_text("Once.")
    await expect(ill.locator("li.is-error")).to_contain_text("Turn 2 was configured to fail")
    assert await visitor.flaws() == []
    await page.get_by_role("button", name="Start over").click()
    await expect(page.locator("li.is-bot")).to_have_count(0)


async def test_the_messages_of_a_chat_service_are_previewed(visit: Visit, rex: User) -> None:
    visitor = await visit(viewport={"width": 390, "height": 800}, color_scheme="dark")
    page = visitor.page
    await sign_in(visitor, "/bots/new/openai-chat/")
    await page.get_by_label("Base URL").fill("https://api.example.org/v1")
    await page.get_by_label("Model", exact=True).fill("tiny")
    await page.get_by_label("System prompt").fill("You are kind.\nAnswer in one sentence.")
    await page.get_by_role("button", name="Preview the messages").click()

    await expect(page.locator("pre")).to_contain_text("You are kind.\\nAnswer in one sentence.")
    await expect(page.get_by_label("System prompt")).to_have_value("You are kind.\nAnswer in one sentence.")
    assert await visitor.flaws_at(1280, 320) == []
    if folder := os.environ.get("TURNWISE_SHOTS"):
        await page.screenshot(path=f"{folder}/form.png", full_page=True)
