"""A researcher walks the whole way of their workers, by the pages' own scripts, and nothing is stored."""

import os
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest
from asgiref.sync import sync_to_async
from django.conf import settings
from django.test import Client
from playwright.async_api import FrameLocator, Page, expect

from tests.browser.conftest import Visit, Visitor
from tests.conftest import MakeMeeting, MakePairs, MakeQueue, MakeStudy, MakeWriting
from tests.pictures import picture
from turnwise.accounts.models import User
from turnwise.crowd.models import Participation
from turnwise.dialogues.models import Dialogue
from turnwise.studies.asks import About, AskSpec, Moment
from turnwise.studies.models import Study

pytestmark = [pytest.mark.browser, pytest.mark.asyncio(loop_scope="session")]

Desk = Callable[..., Awaitable[Visitor]]
PICTURES = os.environ.get("TURNWISE_PICTURES")  # a folder, for who wants to look


@pytest.fixture
def desk(visit: Visit, rex: User) -> Desk:
    async def opened(**options: Any) -> Visitor:
        visitor = await visit(**options)
        client = Client()
        await sync_to_async(client.force_login)(rex)
        cookie = client.cookies[settings.SESSION_COOKIE_NAME].value
        session = {"name": settings.SESSION_COOKIE_NAME, "value": cookie, "url": visitor.site}
        await visitor.page.context.add_cookies([session])  # type: ignore[list-item]  # a dictionary will do
        return visitor

    return opened


async def shot(page: Page, name: str) -> None:
    if PICTURES:
        await page.screenshot(path=Path(PICTURES) / f"{name}.png", full_page=True)


def frame_of(page: Page) -> FrameLocator:
    return page.frame_locator("iframe")


async def stored() -> tuple[int, int]:
    return await Participation.objects.acount(), await Dialogue.objects.acount()


async def test_the_whole_way_of_a_conversation(desk: Desk, make_study: MakeStudy) -> None:
    asks = [
        AskSpec("ssa", About.PARTNER_TURN, Moment.EACH_TURN),
        AskSpec("demographics", About.PERSON, Moment.BEFORE_WORK, required=False),
    ]
    study: Study = await sync_to_async(make_study)(
        asks=asks, practice=False, min_turns=2, max_turns=4, opening_text="Hi! How are you?"
    )
    rex = await desk()
    page, frame = rex.page, frame_of(rex.page)

    await rex.go(f"/studies/{study.pk}/")
    await page.get_by_role("link", name="Preview", exact=True).first.click()
    assert await rex.flaws() == []
    await shot(page, "consent")
    await frame.get_by_label("I agree to take part").check()
    await frame.get_by_role("button", name="Continue to the instructions").click()
    here = page.locator(".previews__way [aria-current]")
    await expect(here).to_have_text("Instructions")
    await page.get_by_role("link", name="Dark").click()  # it stays where one walked to
    await expect(page.locator("iframe.is-dark")).to_have_attribute("title", "Instructions, as workers see it")
    await frame.get_by_role("button", name="Start the conversation").click()
    await expect(here).to_have_text("Questions before")
    await frame.get_by_role("button", name="Skip these questions").click()
    await frame.get_by_role("link", name="Continue").click()

    await expect(frame.locator(".turn__text")).to_have_text(["Hi! How are you?"])
    await frame.get_by_role("textbox", name="Your message").fill("Fine, and you?")
    await frame.get_by_role("textbox", name="Your message").press("Enter")
    await expect(frame.locator(".turn__text")).to_have_count(3)
    await shot(page, "work")
    for _ in range(2):
        await frame.locator("#ask:not([inert]) fieldset").get_by_role("button", name="Yes").click()
    await expect(frame.locator("#finish")).to_have_attribute("aria-disabled", "false")
    await frame.get_by_role("button", name="Finish").click()
    await frame.get_by_role("button", name="Yes, finish").click()
    await expect(frame.get_by_role("heading", name="Thank you")).to_be_visible()
    await expect(frame.locator("#completion-code")).to_have_value("EXAMPLE-CODE")
    await expect(here).to_have_text("Complete")
    assert "page=end-complete" in page.url
    await shot(page, "end")
    assert await stored() == (0, 0)


async def test_a_real_reply_if_a_bot_is_chosen(desk: Desk, make_study: MakeStudy) -> None:
    study = await sync_to_async(make_study)(
        opening_text="Hi!", script={"replies": ["From the bot itself."]}, practice=False, takes_pictures=True
    )
    rex = await desk()
    frame = frame_of(rex.page)

    await rex.go(f"/studies/{study.pk}/preview/?page=work")
    chosen = rex.page.get_by_role("link", name="Scripty")
    await chosen.click()
    await expect(chosen).to_have_attribute("aria-current", "true")
    await expect(frame.locator(".turn__text")).to_have_text(["Hi!"])
    add = frame.get_by_label("Add picture")
    await add.set_input_files({"name": "a.jpg", "mimeType": "image/jpeg", "buffer": b"no picture at all"})
    await expect(frame.locator("#picture-status")).to_have_text(
        "This is not a JPEG, PNG or WebP picture. Choose another one."
    )
    await add.set_input_files({"name": "a.jpg", "mimeType": "image/jpeg", "buffer": picture()})
    await expect(frame.locator("#picture-preview img")).to_be_visible()
    await frame.get_by_role("textbox", name="Your message").fill("Hello.")
    await frame.get_by_role("textbox", name="Your message").press("Enter")

    await expect(frame.locator(".turn__text").last).to_have_text("From the bot itself.")
    shown = frame.locator(".turn--human .turn__picture img")
    await expect(shown).to_have_js_property("naturalWidth", 64)
    await expect(frame.locator("#picture-preview img")).to_have_count(0)
    await shot(rex.page, "picture")
    assert await stored() == (0, 0)


async def test_widths_colours_and_languages(desk: Desk, make_study: MakeStudy) -> None:
    study = await sync_to_async(make_study)(languages=["en", "zh"], practice=False, opening_text="Hi!")
    rex = await desk(color_scheme="null")  # as it comes: what tests set would hold in the frame, too
    page, frame = rex.page, frame_of(rex.page)
    dark = "matchMedia('(prefers-color-scheme: dark)').matches"

    await rex.go(f"/studies/{study.pk}/preview/?page=work")
    await expect(frame.locator("#chat")).to_be_visible()
    shown = page.frames[1]
    assert await shown.evaluate("innerWidth") == 390
    assert await shown.evaluate(dark) is False
    await page.get_by_role("link", name="Dark").click()
    await page.wait_for_url("**scheme=dark**")
    await page.get_by_role("link", name="Desktop").click()
    await page.wait_for_url("**size=desktop**")  # before, the frame of the last page may still be there
    await expect(frame.locator("#chat")).to_be_visible()
    assert await page.frames[1].evaluate("innerWidth") == 1280
    assert await page.frames[1].evaluate(dark) is True
    await shot(page, "work-desktop-dark")
    await page.get_by_role("link", name="Chinese").click()
    await expect(frame.locator("html")).to_have_attribute("lang", "zh-hans")
    assert await rex.flaws() == []
    await shot(page, "work-chinese")


async def test_the_work_of_the_other_tasks(
    desk: Desk,
    make_queue: MakeQueue,
    make_pairs: MakePairs,
    make_writing: MakeWriting,
    make_meeting: MakeMeeting,
) -> None:
    rex = await desk()
    page, frame = rex.page, frame_of(rex.page)

    judging = await sync_to_async(make_queue)(2)
    await rex.go(f"/studies/{judging.pk}/preview/?page=work")
    await expect(frame.locator("#ask:not([inert]) fieldset")).to_be_visible()
    await shot(page, "judging")

    pairs = await sync_to_async(make_pairs)()
    await rex.go(f"/studies/{pairs.pk}/preview/?page=work&size=desktop")
    await expect(frame.locator("#ask fieldset")).to_be_visible()
    await shot(page, "pairs")

    writing = await sync_to_async(make_writing)()
    await rex.go(f"/studies/{writing.pk}/preview/?page=work")
    # What it answers has come: before that, nothing is sent.
    await page.wait_for_load_state("networkidle")
    await expect(frame.get_by_role("button", name="Send")).to_be_enabled()
    await frame.get_by_role("textbox", name="Your response").fill("Tell me more about it, please.")
    await frame.get_by_role("button", name="Send").click()
    await expect(frame.locator("#back")).to_be_enabled()
    await shot(page, "writing")

    meeting = await sync_to_async(make_meeting)()
    await rex.go(f"/studies/{meeting.pk}/preview/?page=lobby")
    await expect(frame.get_by_role("heading", name="Waiting for your partner")).to_be_visible()
    await rex.go(f"/studies/{meeting.pk}/preview/?page=work")
    await expect(frame.locator("#chat")).to_be_visible()
    await shot(page, "two_people")
    assert await stored() == (0, 0)


async def test_on_a_small_phone(desk: Desk, study: Study) -> None:
    rex = await desk(viewport={"width": 320, "height": 640})

    await rex.go(f"/studies/{study.pk}/preview/")

    assert await rex.fits()
    assert await rex.flaws() == []
    await shot(rex.page, "phone-320")
