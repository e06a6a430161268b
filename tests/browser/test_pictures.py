"""Pictures with messages on the page: chosen, pasted, taken back, sent, kept through a reload, refused."""

import base64
from pathlib import Path
from typing import Any

import pytest
from asgiref.sync import sync_to_async
from playwright.async_api import expect

from tests.browser.conftest import Visit, Visitor
from tests.conftest import MakeQueue, MakeStudy
from tests.exports.test_pictures import sent
from tests.pictures import bomb, picture
from tests.planted import talked
from turnwise.accounts.models import User
from turnwise.dialogues.models import Dialogue, MessagePicture, Picture, Turn
from turnwise.judging.items import subjects
from turnwise.studies.models import Study

pytestmark = [pytest.mark.browser, pytest.mark.asyncio(loop_scope="session")]

SIZES: dict[str, dict[str, Any]] = {
    "desktop": {"viewport": {"width": 1280, "height": 800}},
    "phone": {"viewport": {"width": 320, "height": 568}, "has_touch": True, "is_mobile": True},
}
# What a browser does with Ctrl+V where the clipboard holds a screenshot.
PASTE = """async (data) => {
    const bytes = Uint8Array.from(atob(data), (letter) => letter.charCodeAt(0));
    const clipboard = new DataTransfer();
    clipboard.items.add(new File([bytes], "image.png", { type: "image/png" }));
    const event = new ClipboardEvent("paste", { clipboardData: clipboard, bubbles: true, cancelable: true });
    document.getElementById("message").dispatchEvent(event);
}"""


def file(content: bytes, name: str = "photo.jpg") -> Any:
    return {"name": name, "mimeType": "image/jpeg", "buffer": content}


async def opened(make_study: MakeStudy, visitor: Visitor, **fields: Any) -> Study:
    study = await sync_to_async(make_study)(takes_pictures=True, **fields)
    await visitor.start(study)
    return study


@pytest.mark.parametrize("size", sorted(SIZES))
async def test_a_picture_is_added_taken_back_and_sent(visit: Visit, make_study: MakeStudy, size: str) -> None:
    wanda = await visit(**SIZES[size])
    await opened(make_study, wanda)
    page = wanda.page
    add, preview = page.get_by_label("Add picture"), page.locator("#picture-preview img")

    await add.set_input_files(file(picture(size=(600, 400))))
    await expect(preview).to_be_visible()
    await page.get_by_role("button", name="Remove the picture").click()
    await expect(preview).to_have_count(0)
    await add.set_input_files(file(picture(size=(600, 400), colour="maroon")))
    await expect(preview).to_be_visible()
    await page.get_by_label("Describe the picture (optional)").fill("A maroon door")
    assert await wanda.fits()
    assert await wanda.flaws() == []

    await wanda.message.press("Enter")
    await expect(page.locator("#picture-status")).to_have_text(
        "Write a few words with your picture, then send both."
    )
    await wanda.say("My new door")

    shown = page.locator(".turn--human .turn__picture img")
    await expect(shown).to_be_visible()
    await expect(wanda.open_question).to_be_visible()
    await expect(preview).to_have_count(0)
    assert await shown.evaluate("(image) => image.naturalWidth") == 600
    assert await wanda.fits()
    assert await wanda.flaws() == []
    await page.reload()
    await expect(page.get_by_role("link", name="A maroon door")).to_be_visible()
    await expect(page.locator("#picture-about")).to_be_hidden()
    sent = await MessagePicture.objects.select_related("turn").aget()
    assert sent.turn.text == "My new door"


async def test_an_upload_outlasts_a_reload_and_goes_with_the_next_message(
    wanda: Visitor, make_study: MakeStudy
) -> None:
    await opened(make_study, wanda)
    preview = wanda.page.locator("#picture-preview img")
    await wanda.page.get_by_label("Add picture").set_input_files(file(picture()))
    await expect(preview).to_be_visible()
    await wanda.message.fill("Half a")

    await wanda.page.reload()

    await expect(preview).to_be_visible()
    await expect(wanda.message).to_have_value("Half a")
    await wanda.say("Half a sentence")
    await expect(wanda.page.locator(".turn--human .turn__picture img")).to_be_visible()
    assert await MessagePicture.objects.acount() == 1


async def test_a_message_that_waits_for_the_connection_keeps_its_picture(
    wanda: Visitor, make_study: MakeStudy
) -> None:
    await opened(make_study, wanda)
    page = wanda.page
    await page.get_by_label("Add picture").set_input_files(file(picture()))
    await expect(page.locator("#picture-preview img")).to_be_visible()
    await wanda.ready()
    await page.evaluate("(window.held = WebSocket.prototype.send, WebSocket.prototype.send = () => {})")

    await wanda.message.fill("Into the void")
    await wanda.message.press("Enter")

    await expect(page.locator(".turn--human .turn__picture img")).to_be_visible()
    await page.reload()
    await expect(wanda.open_question).to_be_visible()
    await expect(page.locator(".turn--human .turn__picture img")).to_be_visible()
    await expect(page.locator("#picture-preview img")).to_have_count(0)
    assert await Turn.objects.filter(text="Into the void").acount() == 1
    assert await MessagePicture.objects.acount() == 1


async def test_a_screenshot_is_pasted(wanda: Visitor, make_study: MakeStudy) -> None:
    await opened(make_study, wanda)

    await wanda.page.evaluate(PASTE, base64.b64encode(picture("PNG")).decode())

    await expect(wanda.page.locator("#picture-preview img")).to_be_visible()
    assert (await Picture.objects.aget()).media_type == "image/png"


async def test_what_is_no_picture_is_refused_in_words_and_the_draft_stays(
    wanda: Visitor, make_study: MakeStudy, tmp_path: Path
) -> None:
    await opened(make_study, wanda)
    await wanda.message.fill("My words")
    chosen = tmp_path / "photo.jpg"
    for content, says in (
        (bomb(30_000, 30_000), "This picture has too many pixels. Choose a smaller one."),
        (b"no picture at all", "This is not a JPEG, PNG or WebP picture. Choose another one."),
        (bytes(12_000_001), "This file is too large. Choose a smaller picture."),
    ):
        chosen.write_bytes(content)
        await wanda.page.get_by_label("Add picture").set_input_files(chosen)

        await expect(wanda.page.locator("#picture-status")).to_have_text(says)
        await expect(wanda.message).to_have_value("My words")
    assert await wanda.flaws() == []
    await wanda.say("My words")
    await expect(wanda.open_question).to_be_visible()
    assert not await Picture.objects.aexists()


async def test_the_button_is_reached_and_named_by_keyboard(wanda: Visitor, make_study: MakeStudy) -> None:
    await opened(make_study, wanda)
    await wanda.message.focus()

    await wanda.page.keyboard.press("Tab")

    assert await wanda.page.evaluate("document.activeElement.id") == "picture-file"
    label = wanda.page.locator(".picture__add")
    assert await label.evaluate("(element) => getComputedStyle(element).outlineStyle") == "solid"


async def test_there_is_no_button_where_the_study_takes_no_pictures(
    wanda: Visitor, make_study: MakeStudy
) -> None:
    await wanda.start(await sync_to_async(make_study)())

    await expect(wanda.page.get_by_label("Add picture")).to_have_count(0)


async def test_another_tab_shows_the_picture_at_once(wanda: Visitor, make_study: MakeStudy) -> None:
    await opened(make_study, wanda)
    other = await wanda.another_tab()
    await expect(other.bubbles).to_have_count(1)
    await wanda.page.get_by_label("Add picture").set_input_files(file(picture()))
    await expect(wanda.page.locator("#picture-preview img")).to_be_visible()

    await wanda.say("For both")

    await expect(other.page.locator(".turn--human .turn__picture img")).to_be_visible()


async def test_raters_and_the_team_see_the_picture_beside_its_message(
    wanda: Visitor, make_study: MakeStudy, make_queue: MakeQueue, rex: User
) -> None:
    def judged() -> tuple[Study, Dialogue]:
        dialogue = talked(make_study(min_turns=2, takes_pictures=True), [(True, True)])
        sent(dialogue)
        readers = make_queue()
        subjects.add_turns(readers, dialogue.study, language="en")
        return readers, dialogue

    readers, dialogue = await sync_to_async(judged)()
    page = wanda.page
    await wanda.work(readers)
    shown = page.locator(".turn__picture img")

    await expect(shown).to_be_visible()
    assert await shown.evaluate("(image) => image.complete && image.naturalWidth") == 64
    assert await wanda.flaws_at(1280, 320) == []

    await wanda.sign_in(rex)
    await wanda.go(f"/dialogues/{dialogue.public_id}/")
    await expect(shown).to_be_visible()
    assert await shown.evaluate("(image) => image.complete && image.naturalWidth") == 64
    assert await wanda.flaws_at(1280, 320) == []
