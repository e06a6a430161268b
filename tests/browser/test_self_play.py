"""A researcher lets two chatbots talk: from the empty form to the transcripts, wide and narrow."""

import asyncio
import threading

import pytest
from django.db import connection
from playwright.async_api import expect

from tests.browser.conftest import Visit, Visitor
from turnwise.accounts.models import User
from turnwise.bots.hosting import resident_bots
from turnwise.bots.models import Bot
from turnwise.tasks.self_play.jobs import play_slice
from turnwise.tasks.self_play.models import SelfPlayPlan

pytestmark = [pytest.mark.browser, pytest.mark.asyncio(loop_scope="session")]

PASSWORD = "correct horse"


def play(seconds: float) -> None:
    """In a thread of its own, as in a job worker."""
    play_slice(SelfPlayPlan.objects.get().pk, seconds=seconds)
    connection.close()


async def looks_right(visitor: Visitor) -> None:
    """On a desktop and on a phone."""
    for width in (320, 1280):
        await visitor.page.set_viewport_size({"width": width, "height": 800})
        assert await visitor.flaws() == []
        assert await visitor.fits()


async def test_two_chatbots_talk_while_their_page_is_open(
    visit: Visit, transactional_db: None, rex: User
) -> None:
    rex.set_password(PASSWORD)
    await rex.asave()
    for name in ("Ann", "Bob"):
        script = {"replies": [f"{name} says so."], "seconds": 0.02}
        await Bot.objects.acreate(
            name=name.lower(), title=name, adapter="scripted", configuration=script, owner=rex
        )
    visitor = await visit()
    page = visitor.page
    await visitor.go("/studies/new/?task=self_play")
    await page.get_by_label("Username").fill("rex")
    await page.get_by_label("Password").fill(PASSWORD)
    await page.get_by_role("button", name="Sign in", exact=True).click()

    await looks_right(visitor)
    await page.get_by_label("Title").fill("Ann meets Bob")
    await page.get_by_label("Talks with").select_option("Bob")
    await page.get_by_label("Conversations", exact=True).fill("6")
    await page.get_by_role("button", name="Save").click()
    await expect(page.get_by_text("0 of 6")).to_be_visible()
    await looks_right(visitor)
    await page.get_by_role("button", name="Start").click()
    await expect(page.get_by_role("button", name="Stop")).to_be_visible()

    jobs = threading.Thread(target=play, args=(60,))
    jobs.start()
    await expect(page.get_by_text("6 of 6")).to_be_visible()  # without a reload
    await asyncio.to_thread(jobs.join)
    resident_bots.close()
    await page.reload()
    await expect(page.get_by_role("button", name="Stop")).to_have_count(0)
    await expect(page.get_by_role("button", name="Continue")).to_have_count(0)  # nothing is left
    await looks_right(visitor)

    await page.get_by_role("link", name="Conversations Transcripts").click()
    await expect(page.get_by_text("Ann, Bob").first).to_be_visible()
    await page.locator("tbody a").first.click()
    await expect(page.locator(".turn__text")).to_have_count(10)
    await expect(page.get_by_text("Not labelled")).to_have_count(0)
    await looks_right(visitor)
