"""The way of a study from home to the transcripts: by mouse on a desk, by touch on a phone."""

import pytest
from asgiref.sync import sync_to_async
from django.utils import timezone
from playwright.async_api import expect

from tests.browser.conftest import Visit, Visitor
from tests.conftest import MakeStudy, start_dialogue
from tests.planted import talked
from turnwise.accounts.models import User
from turnwise.dialogues.models import Dialogue, Fault
from turnwise.reports.services import build_report, queue_report
from turnwise.studies.models import Study

pytestmark = [pytest.mark.browser, pytest.mark.asyncio(loop_scope="session")]

PASSWORD = "correct horse"


@pytest.fixture
def walked(make_study: MakeStudy, rex: User) -> Study:
    """A draft with conversations: three finished, one under way whose bot failed."""
    rex.set_password(PASSWORD)
    rex.save()
    study = make_study({"ann": 9}, min_turns=2, max_turns=4, title="Weekends")
    for text in ("I like tea", "No", "More tea?"):
        talked(study, [(True, False)], text=text)
    Fault.objects.create(dialogue=start_dialogue(study), position=2, kind="Slow", at=timezone.now())
    build_report(queue_report(study).pk)
    Study.objects.filter(pk=study.pk).update(state="draft")
    return study


async def fits(visitor: Visitor) -> None:
    """The page has no flaw and is no wider than the window."""
    assert await visitor.flaws() == []
    assert await visitor.fits()


async def test_the_way_of_a_study_by_mouse(visit: Visit, walked: Study) -> None:
    rex = await visit()
    page = rex.page
    await rex.go("/")
    await page.get_by_label("Username").fill("rex")
    await page.get_by_label("Password").fill(PASSWORD)
    await page.get_by_role("button", name="Sign in", exact=True).click()
    await expect(page.get_by_role("heading", name="Home")).to_be_visible()
    await fits(rex)

    await page.get_by_role("link", name="Weekends").first.click()
    await page.get_by_role("link", name="Rehearse").click()
    await expect(page.get_by_label("Simulated workers")).to_have_value("30")
    await fits(rex)
    await page.get_by_role("link", name="Study", exact=True).click()
    await page.get_by_role("link", name="Check before opening").click()
    await page.get_by_role("button", name="Greet the bots").click()
    await expect(page.get_by_text("Answered in")).to_be_visible()
    await fits(rex)
    await page.get_by_role("button", name="Open the study").click()
    await expect(page.get_by_role("button", name="Close the study")).to_be_visible()

    await page.get_by_role("list", name="The way of this study").get_by_role("link", name="Monitor").click()
    stages = page.locator(".funnel__n")
    await expect(stages).to_have_text(["4", "4", "4", "3", "3"])
    await fits(rex)
    await sync_to_async(start_dialogue)(walked)  # the page learns of it by itself
    await expect(stages).to_have_text(["5", "5", "5", "3", "3"])

    await page.get_by_role("link", name="Conversations", exact=True).click()
    await expect(page.get_by_role("heading", level=1, name="Conversations")).to_be_visible()
    await fits(rex)
    await page.get_by_label("Text contains").fill("tea")
    await page.get_by_role("button", name="Show", exact=True).click()
    rows = page.get_by_role("row", name="Complete")
    await expect(rows).to_have_count(2)
    await rows.first.get_by_role("link").first.click()
    await expect(page.locator(":target .turn__text")).to_have_text("More tea?")
    await fits(rex)
    await page.keyboard.press("j")
    await expect(page.get_by_text("I like tea").first).to_be_visible()
    await page.get_by_label("Reason for excluding this worker").fill("jk")  # keys type in fields
    await page.get_by_role("button", name="Exclude").click()
    await expect(page.get_by_role("button", name="Undo")).to_be_visible()
    await page.get_by_role("button", name="Undo").click()
    await expect(page.get_by_label("Reason for excluding this worker")).to_be_visible()
    await page.wait_for_load_state()  # else the script that hears the key may not be there yet
    await page.keyboard.press("ArrowLeft")
    await expect(page.get_by_text("More tea?").first).to_be_visible()
    assert await Dialogue.objects.acount() == 5


async def test_the_way_of_a_study_by_touch(visit: Visit, walked: Study) -> None:
    rex = await visit(viewport={"width": 390, "height": 844}, has_touch=True, is_mobile=True)
    page = rex.page
    await rex.go("/")
    await page.get_by_label("Username").fill("rex")
    await page.get_by_label("Password").fill(PASSWORD)
    await page.get_by_role("button", name="Sign in", exact=True).tap()
    await expect(page.get_by_role("heading", name="Home")).to_be_visible()
    await fits(rex)
    menu = page.get_by_role("navigation", name="Main")
    await expect(menu).to_be_hidden()
    await page.get_by_text("Menu", exact=True).tap()
    await fits(rex)
    await menu.get_by_role("link", name="Compare").tap()
    await expect(page.get_by_role("heading", level=1)).not_to_have_text("Home")
    await page.get_by_text("Menu", exact=True).tap()
    await menu.get_by_role("link", name="Home").tap()

    await page.get_by_role("link", name="Weekends").first.tap()
    await expect(page.get_by_role("heading", level=1, name="Weekends")).to_be_visible()
    await fits(rex)
    await page.get_by_role("button", name="Open the study").tap()
    await expect(page.get_by_role("button", name="Close the study")).to_be_visible()
    await page.get_by_role("list", name="The way of this study").get_by_role("link", name="Monitor").tap()
    await expect(page.locator(".funnel__n").first).to_have_text("4")
    await fits(rex)
    await page.get_by_role("link", name="All conversations in which a reply failed").tap()
    await expect(page.get_by_label("A reply failed")).to_be_checked()
    await fits(rex)
    await page.get_by_role("row", name="Under way").get_by_role("link").first.tap()
    await expect(page.get_by_text("failed 1 time")).to_be_visible()
    await fits(rex)
    await page.get_by_role("link", name="Study", exact=True).tap()
    await page.get_by_role("button", name="Close the study").tap()
    await page.get_by_role("button", name="Archive").tap()
    await expect(page.get_by_text("it no longer appears in lists")).to_be_visible()
    await fits(rex)
    await page.get_by_role("button", name="Restore").tap()
    await expect(page.get_by_role("button", name="Archive")).to_be_visible()
    await page.get_by_role("button", name="Make a copy").tap()
    await expect(page.get_by_role("heading", name="Copy of Weekends")).to_be_visible()
    await fits(rex)
