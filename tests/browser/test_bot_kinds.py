"""The kind of a new bot is found by keyboard, and the page fits a phone."""

import pytest
from asgiref.sync import sync_to_async
from playwright.async_api import expect

from tests.browser.conftest import Visit
from tests.conftest import MakeStudy
from turnwise.accounts.models import User

pytestmark = [pytest.mark.browser, pytest.mark.asyncio(loop_scope="session")]


async def test_a_kind_is_found_by_typing_a_word(visit: Visit, rex: User) -> None:
    visitor = await visit(viewport={"width": 320, "height": 640})
    await visitor.sign_in(rex)
    page = visitor.page
    await visitor.go("/bots/new/")
    shown = page.locator(".tiles a:visible")
    await expect(shown).to_have_count(5)
    assert await visitor.fits()

    await page.locator("#all-kinds summary").focus()
    await page.keyboard.press("Enter")
    assert await shown.count() > 25
    await page.keyboard.press("Tab")
    await page.keyboard.type("beam sampling")
    await expect(page.locator(".kinds .tiles a:visible")).to_have_count(1)
    await expect(page.locator(".kinds h2:visible")).to_have_count(1)
    assert await visitor.fits()
    assert await visitor.flaws() == []

    await page.keyboard.type(" zeppelin")
    await expect(page.locator("#kinds-found")).to_have_text("No kind of bot has these words.")
    await page.get_by_role("searchbox").fill("beam")
    await page.keyboard.press("Tab")
    await page.keyboard.press("Enter")
    await expect(page.get_by_role("heading", name="New bot")).to_be_visible()
    assert page.url.endswith("/bots/new/meena-beam/")


@pytest.mark.parametrize("width", [320, 1280])
async def test_the_document_for_an_ethics_board_fits_and_prints_alone(
    visit: Visit, rex: User, make_study: MakeStudy, width: int
) -> None:
    study = await sync_to_async(make_study)(title="W" * 100, instructions="x" * 300)
    visitor = await visit(viewport={"width": width, "height": 800})
    await visitor.sign_in(rex)

    await visitor.go(f"/studies/{study.pk}/privacy/ethics/")

    assert await visitor.fits()
    assert await visitor.flaws() == []
    await visitor.page.emulate_media(media="print")
    await expect(visitor.page.get_by_role("link", name="PDF")).to_be_hidden()
    await expect(visitor.page.get_by_role("heading", name="Data flow")).to_be_visible()
