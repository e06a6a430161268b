"""Passkeys in a real browser, under the house's Content-Security-Policy."""

import os
from typing import Any

import pytest
from asgiref.sync import sync_to_async
from playwright.async_api import Browser, Page, expect

from tests.browser.conftest import Visitor
from turnwise.accounts.models import User

pytestmark = [pytest.mark.browser, pytest.mark.asyncio(loop_scope="session")]
PASSWORD = "correct horse battery"


@pytest.fixture
def rex(transactional_db: None, rex: User) -> User:
    rex.set_password(PASSWORD)
    rex.save()
    return rex


async def pictures(page: Page, name: str) -> None:
    """For people who look at the pages: at three widths, light and dark."""
    folder = os.environ.get("TURNWISE_PICTURES")
    for scheme in ("light", "dark") if folder else ():
        await page.emulate_media(color_scheme=scheme)  # type: ignore[arg-type]  # a literal
        for width in (1280, 390, 320):
            await page.set_viewport_size({"width": width, "height": 900})
            await page.screenshot(path=f"{folder}/{name}-{width}-{scheme}.png", full_page=True)


async def give_authenticator(page: Page) -> None:
    """A security key that the browser itself plays."""
    browser = await page.context.new_cdp_session(page)
    await browser.send("WebAuthn.enable")
    options: dict[str, Any] = {
        "protocol": "ctap2", "transport": "internal", "hasResidentKey": True,
        "hasUserVerification": True, "isUserVerified": True, "automaticPresenceSimulation": True,
    }  # fmt: skip
    await browser.send("WebAuthn.addVirtualAuthenticator", {"options": options})


async def test_a_person_adds_a_passkey_and_signs_in_with_it_alone(
    browser: Browser, site: str, transactional_db: None, rex: User
) -> None:
    context = await browser.new_context()
    # A passkey belongs to a name, not to an address of the network.
    visitor = Visitor(await context.new_page(), site.replace("127.0.0.1", "localhost"))
    page = visitor.page
    await give_authenticator(page)
    await visitor.go("/sign-in/")
    assert await visitor.flaws() == []
    await pictures(page, "sign-in")
    await page.get_by_label("Username").fill("rex")
    await page.get_by_label("Password").fill(PASSWORD)
    await page.get_by_role("button", name="Sign in", exact=True).click()
    await expect(page.get_by_label("Signed in as rex")).to_be_visible()
    for path in (
        "/account/",
        "/account/second-factor/",
        "/account/mails/",
        "/account/sessions/",
        "/account/e-mail/",
    ):
        await visitor.go(path)
        assert await visitor.flaws() == [], path
        await pictures(page, path.strip("/").replace("/", "-"))

    await visitor.go("/account/passkeys/new/")
    if await page.get_by_role("heading", name="Is it you?").is_visible():
        await pictures(page, "confirm")
        await page.get_by_label("Password").fill(PASSWORD)
        await page.get_by_role("button", name="Go on").click()
    await expect(page.get_by_role("heading", name="Add a passkey")).to_be_visible()
    assert await visitor.flaws() == []
    await pictures(page, "add-passkey")
    await page.get_by_label("It also lets me in without my password").check()
    await page.get_by_role("button", name="Add it").click()
    await expect(page.get_by_role("heading", name="Recovery codes")).to_be_visible()
    await pictures(page, "codes")
    await visitor.go("/account/second-factor/app/")
    assert await visitor.flaws() == []
    await pictures(page, "app")

    await page.context.clear_cookies()
    await visitor.go("/sign-in/")
    await page.get_by_role("button", name="Sign in with a passkey").click()
    await expect(page.get_by_label("Signed in as rex")).to_be_visible()
    assert await sync_to_async(User.objects.filter(authenticator__type="webauthn").count)() == 1
    await context.close()
