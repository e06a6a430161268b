"""Somebody begins a study as a publication has it, or as a design of their own."""

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


async def test_a_protocol_is_chosen_before_and_in_the_form(visit: Visit, rex: User, bot: Bot) -> None:
    visitor = await visit(viewport={"width": 390, "height": 800}, color_scheme="dark")
    page = visitor.page
    await sign_in(visitor, "/studies/new/")
    chosen = page.locator(".presets [aria-current]")
    await expect(chosen).to_have_text("Your own design")
    ours, others = (
        page.locator(".presets").all_inner_texts,
        page.get_by_text("Published studies of other kinds:"),
    )
    assert "Meena, static" not in (await ours())[0]
    await expect(others.get_by_role("link", name="Meena, static")).to_be_visible()
    await expect(page.get_by_label("Published protocol")).to_have_value("")

    await page.get_by_role("link", name="neural.chat, interactive").click()
    await expect(chosen).to_have_text("neural.chat, interactive")
    await expect(page.get_by_label("Published protocol")).to_have_value("neural-chat-interactive")
    assert await visitor.flaws_at(1280, 390, 320) == []

    await page.get_by_role("link", name="Your own design").click()
    await page.get_by_label("Title").fill("Ours")
    await page.get_by_label("Published protocol").select_option("Meena, interactive")
    await page.get_by_role("button", name="Save").click()
    await expect(page.get_by_text("“Ours” is saved.")).to_be_visible()
    assert (await Study.objects.aget()).protocol == "meena-interactive"
