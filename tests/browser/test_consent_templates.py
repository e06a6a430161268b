"""A consent text is chosen to begin with, what stood there can be had back, and none is stored in part."""

import pytest
from asgiref.sync import sync_to_async
from django.conf import settings
from django.test import Client
from playwright.async_api import expect

from tests.browser.conftest import Visit
from turnwise.accounts.models import User
from turnwise.studies.consent import BOARD, DECEPTION, GDPR

pytestmark = [pytest.mark.browser, pytest.mark.asyncio(loop_scope="session")]


async def test_one_is_chosen_and_taken_back(visit: Visit, rex: User) -> None:
    visitor = await visit()
    client = Client()
    await sync_to_async(client.force_login)(rex)
    cookie = client.cookies[settings.SESSION_COOKIE_NAME].value
    session = {"name": settings.SESSION_COOKIE_NAME, "value": cookie, "url": visitor.site}
    await visitor.page.context.add_cookies([session])  # type: ignore[list-item]  # a dictionary will do
    page = visitor.page
    await visitor.go("/studies/new/?task=conversation")
    choice, consent = page.get_by_label("Start from the text for"), page.locator("#id_consent_text")
    debriefing = page.locator("#id_debriefing")
    await expect(choice).to_have_value("board")
    await expect(consent).to_have_value(BOARD.text)

    await choice.select_option("deception")
    await expect(consent).to_have_value(DECEPTION.text)
    await expect(debriefing).to_have_value(DECEPTION.debriefing)
    await choice.select_option("gdpr")
    await expect(consent).to_have_value(GDPR.text)
    await expect(debriefing).to_have_value("")  # it was that of the other

    await consent.fill("Our own text.")
    await debriefing.fill("Our own end.")
    await choice.select_option("deception")
    await expect(debriefing).to_have_value("Our own end.")
    await page.get_by_role("button", name="Have it back").click()
    await expect(consent).to_have_value("Our own text.")
    await expect(choice).to_have_value("")
    assert await visitor.flaws() == []

    await page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    await page.evaluate("text => navigator.clipboard.writeText(text)", "Agree. " * 4000)
    await consent.press("Control+a")
    await consent.press("Control+v")
    told: str = await consent.evaluate("field => field.validationMessage")
    assert told.startswith("What you pasted has 27,999 characters; there is room for 20,000.")
    await expect(consent).to_have_value("Our own text.")
    await consent.press("End")
    await consent.press("!")
    await expect(consent).to_have_value("Our own text.!")
    assert await consent.evaluate("field => field.validity.valid")
