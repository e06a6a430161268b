"""The search for flaws finds what it must, although it computes contrast only of colours it does not know."""

import pytest
from playwright.async_api import Page

from tests.browser.conftest import READABLE, Visitor

pytestmark = [pytest.mark.browser, pytest.mark.asyncio(loop_scope="session")]

ADD_TEXT = """([colour, ground]) => {
  const text = document.createElement("p");
  text.textContent = "Can you read this?";
  text.style.color = colour;
  text.style.background = ground;
  document.querySelector("main").append(text);
}"""


async def contrast_flaws(visitor: Visitor) -> int:
    return sum(flaw.startswith("axe color-contrast") for flaw in await visitor.flaws())


async def reloaded(page: Page) -> Page:
    await page.reload()
    return page


async def test_faint_text_is_found_on_every_page_that_has_it(wanda: Visitor) -> None:
    await wanda.go("/sign-in/")
    assert await wanda.flaws() == []
    assert READABLE.all()

    for _ in range(2):
        page = await reloaded(wanda.page)
        await page.evaluate(ADD_TEXT, ["#777", "#888"])
        assert await contrast_flaws(wanda) == 2  # in the light and in the dark scheme
    page = await reloaded(wanda.page)
    await page.evaluate(ADD_TEXT, ["#000", "#fff"])
    assert await contrast_flaws(wanda) == 0
    await page.evaluate(ADD_TEXT, ["#000", "#111"])
    assert await contrast_flaws(wanda) == 2


async def test_other_flaws_are_found_where_all_colours_are_known(wanda: Visitor) -> None:
    await wanda.go("/sign-in/")
    assert await wanda.flaws() == []

    await wanda.page.evaluate("document.querySelector('main').setAttribute('role', 'nothing')")

    assert any(flaw.startswith("axe aria-roles") for flaw in await wanda.flaws())
