"""Imported conversations, in a real browser: a file imported, a conversation relayed."""

from pathlib import Path

import pytest
from asgiref.sync import sync_to_async
from playwright.async_api import expect

from tests.browser.conftest import Visit, Visitor
from tests.conftest import MakeStudy
from turnwise.accounts.models import User
from turnwise.dialogues.models import Dialogue, TranscriptImport
from turnwise.studies.models import Study
from turnwise.transcripts.storing import import_requested

pytestmark = [pytest.mark.browser, pytest.mark.asyncio(loop_scope="session")]

PASSWORD = "correct horse"
FILE = """\
Mitsuku Conversation 1
Human: Hi!
Mitsuku: Hi there.
Human: How are you?
Mitsuku: I am fine, and I have a word that is longer than most telephones are wide: {long}

Mitsuku Conversation 2
Human: Hi!

XiaoIce Conversation 1
Human: 你好
Mitsuku: 你比我好
"""


@pytest.fixture
def rex(rex: User) -> User:
    rex.set_password(PASSWORD)
    rex.save()
    return rex


@pytest.fixture
def short_study(make_study: MakeStudy) -> Study:
    return make_study(min_turns=2, max_turns=8)


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "mitsuku.txt"
    path.write_text(FILE.format(long="abcdefgh" * 12))
    return path


async def sign_in(visitor: Visitor, path: str) -> None:
    await visitor.sign_in(await User.objects.aget(username="rex"))
    await visitor.go(path)


async def fits(visitor: Visitor) -> bool:
    """Whether the page has no flaw and is no wider than its window, on a desk and on a phone."""
    return await visitor.flaws_at(1280, 320) == []


async def test_a_file_is_imported_and_taken_back(visit: Visit, short_study: Study, file: Path) -> None:
    rex = await visit()
    page = rex.page
    await sign_in(rex, f"/studies/{short_study.pk}/")
    await page.get_by_role("link", name="Import").click()
    await expect(page.get_by_text("No file has been imported into this study.")).to_be_visible()
    assert await fits(rex)

    await page.get_by_label("File with conversations").set_input_files(file)
    await page.get_by_role("button", name="Upload and preview").click()
    problem = page.get_by_role("region", name="Problems").get_by_role("row").nth(1)
    await expect(problem).to_have_text(
        "7A conversation has two speakers; here speaks: “Human”. Add the other's turns, or remove it."
    )
    await expect(page.get_by_label("Which system is “Human”?")).to_have_value("")
    await expect(page.get_by_label("Which system is “Mitsuku”?")).to_have_value("Mitsuku")
    await expect(page.get_by_label("Language of these conversations")).to_have_value("en")
    await expect(page.get_by_text("1 conversation is mostly in Chinese script")).to_be_visible()
    assert await fits(rex)

    await page.get_by_label("Which system is “Mitsuku”?").fill("Kuki")
    await page.get_by_role("button", name="Import 2 conversations").click()
    await expect(page.get_by_text("0 of 3 parts of the file are stored.")).to_be_visible()
    assert await fits(rex)
    record = await TranscriptImport.objects.aget()
    await sync_to_async(import_requested)(record.pk)  # as its process does: here no worker takes jobs
    await expect(page.get_by_text("Imported on")).to_be_visible()
    assert await fits(rex)
    await page.get_by_role("link", name="Read the conversations of this study").click()
    await expect(page.get_by_role("row", name="Kuki")).to_have_count(1)  # the Chinese one is left out
    assert await fits(rex)
    await page.get_by_role("row", name="Mitsuku Conversation 1").get_by_role("link").click()
    await expect(page.get_by_text("I am fine, and I have")).to_be_visible()
    assert await fits(rex)

    await page.get_by_role("link", name="mitsuku.txt").click()
    await page.get_by_text("Undo this import").click()
    await page.get_by_role("button", name="Delete the conversations").click()
    await expect(page.get_by_text("The import is undone: mitsuku.txt")).to_be_visible()
    assert await Dialogue.objects.acount() == 0


async def test_a_conversation_is_relayed_by_keyboard_and_survives_a_reload(
    visit: Visit, short_study: Study
) -> None:
    rex = await visit(viewport={"width": 320, "height": 800})
    page = rex.page
    await sign_in(rex, f"/studies/{short_study.pk}/imports/")
    await page.get_by_label("Name of the chatbot").fill("Mitsuku")
    await page.keyboard.press("Tab")
    await page.keyboard.press("Space")
    await page.keyboard.press("Tab")
    await page.keyboard.press("Enter")
    await expect(page.get_by_label("What Mitsuku answered")).to_be_focused()
    assert await fits(rex)

    await page.keyboard.type("Hi there.")
    await page.keyboard.press("Tab")
    await page.keyboard.press("Enter")
    await expect(page.get_by_label("What you wrote to Mitsuku")).to_be_focused()
    await page.reload()
    await expect(page.locator(".turn__text")).to_have_text(["Hi!", "Hi there."])

    await page.get_by_text("Paste a whole transcript").click()
    await page.get_by_label("Transcript, beginning with your opening").fill(
        "You: Hi!\nMitsuku: Hi.\nYou: Tea?\nMitsuku: I drink no tea."
    )
    await page.get_by_role("button", name="Read it").click()
    await expect(page.get_by_role("status")).to_contain_text("Not saved yet.")
    assert await fits(rex)
    await page.get_by_label("Text of turn 4").fill("I drink coffee.")
    await page.get_by_role("button", name="Save the turns").click()
    await expect(page.locator(".turn__text")).to_have_text(["Hi!", "Hi.", "Tea?", "I drink coffee."])
    assert await fits(rex)

    await page.get_by_role("button", name="Finish the conversation").click()
    await expect(page.get_by_text("Others can judge it now.")).to_be_visible()
    await expect(page.get_by_role("row", name="Mitsuku")).to_contain_text("Finished")
    assert await fits(rex)
    await rex.go(f"/studies/{short_study.pk}/")
    await expect(page.get_by_role("row", name="Mitsuku")).to_contain_text("Relayed by hand")
    assert await fits(rex)
