"""Somebody begins a study with what they want to know, or from the list of all kinds of studies."""

import pytest
from playwright.async_api import expect

from tests.browser.conftest import Visit
from tests.browser.test_staff_pages import PASSWORD, sign_in
from turnwise.accounts.models import User
from turnwise.bots.models import Bot
from turnwise.studies.models import Study

pytestmark = [pytest.mark.browser, pytest.mark.asyncio(loop_scope="session")]


@pytest.fixture
def rex(rex: User) -> User:
    rex.set_password(PASSWORD)
    rex.save()
    return rex


@pytest.fixture
def bot(rex: User) -> Bot:
    return Bot.objects.create(
        name="scripty", title="Scripty", adapter="scripted", configuration={"replies": ["Hm."]}, owner=rex
    )


async def test_a_study_begins_with_an_intention_and_a_protocol(visit: Visit, rex: User, bot: Bot) -> None:
    visitor = await visit(viewport={"width": 390, "height": 800}, color_scheme="dark")
    page = visitor.page
    await sign_in(visitor, "/studies/new/")
    # What somebody wants to know is kept in the address, and leads on without a mouse.
    await page.get_by_role("link", name="What people say to each other").focus()
    await page.keyboard.press("Enter")
    await expect(page.get_by_role("link", name="Two people who talk")).to_be_visible()
    await expect(page.get_by_role("link", name="Live conversations with bots")).to_have_count(0)
    await page.get_by_role("link", name="How sensible").press("Enter")
    await page.get_by_text("What is this? context, response").click()
    await expect(page.get_by_text("The dialogue so far, to which a response is given.")).to_be_visible()
    assert await visitor.flaws_at(1280, 320) == []

    await page.get_by_role("link", name="Invited people").click()
    await page.get_by_role("link", name="neural.chat, interactive").click()
    await expect(page.get_by_label("Compare the report with")).to_have_value("neural-chat-interactive")
    await expect(page.get_by_text("no pay · 15 minutes")).to_be_visible()
    assert await visitor.flaws_at(1280, 320) == []

    await page.get_by_role("link", name="Change").click()
    await expect(page.get_by_role("link", name="Invited people")).to_have_attribute("aria-current", "true")
    await page.get_by_text("All kinds of studies").click()
    await page.get_by_role("link", name="Talk with chatbots", exact=True).click()
    await page.get_by_label("Title").fill("Ours")
    await page.get_by_text("Languages and protocol").click()
    await page.get_by_label("Compare the report with").select_option("Meena, interactive")
    await page.get_by_role("button", name="Save").click()
    await expect(page.get_by_text("“Ours” is saved.")).to_be_visible()
    assert (await Study.objects.aget()).protocol == "meena-interactive"
