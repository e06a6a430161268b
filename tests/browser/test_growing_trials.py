"""*Try it* and *Ask several the same thing* show replies while the bots write them."""

import pytest
from playwright.async_api import expect

from chatbots.hosting.response_checks import clean_text
from tests.browser.conftest import Visit
from tests.browser.test_staff_pages import PASSWORD, sign_in
from tests.chatbots.growing import LONG
from turnwise.accounts.models import User
from turnwise.bots.models import Bot

pytestmark = [pytest.mark.browser, pytest.mark.asyncio(loop_scope="session")]
WHOLE = clean_text(LONG[:2000]).strip()


@pytest.fixture
def rex(rex: User) -> User:
    rex.set_password(PASSWORD)
    rex.save()
    return rex


async def test_a_reply_grows_while_the_bot_writes(visit: Visit, rex: User) -> None:
    script = {"replies": [WHOLE], "characters_per_second": len(WHOLE) / 4}
    for name in ("writer", "other"):
        await Bot.objects.acreate(
            name=name, title=name.title(), adapter="scripted", configuration=script, owner=rex
        )
    visitor = await visit()
    page = visitor.page
    for address, growing in (
        ("/bots/writer/try/", "#turns li.is-bot[aria-busy] p"),
        ("/bots/side-by-side/?bot=writer&bot=other", ".asked-bot li.is-bot[aria-busy] p"),
    ):
        await (sign_in(visitor, address) if address.endswith("try/") else visitor.go(address))
        await expect(page.get_by_role("button", name="Send")).to_be_enabled()
        await page.get_by_label("Your message").fill("Tell me a story")
        await page.keyboard.press("Enter")

        await page.wait_for_function(
            "selector => document.querySelector(selector)?.textContent.length > 100", arg=growing
        )
        assert WHOLE.startswith(((await page.locator(growing).first.text_content()) or "").strip())
        for reply in await page.locator("li.is-bot p:first-of-type").all():
            await expect(reply).to_have_text(WHOLE)
        await expect(page.locator(growing)).to_have_count(0)
        assert await visitor.flaws() == []
