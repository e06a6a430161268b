"""A researcher's first minutes: sign in, make a study, watch it fill, read the report."""

import asyncio

import pytest
from asgiref.sync import sync_to_async
from playwright.async_api import expect

from tests.browser.conftest import Visit, Visitor
from tests.conftest import MakeStudy
from turnwise.accounts.models import User
from turnwise.bots.models import Bot
from turnwise.bots.services import register_bot
from turnwise.dialogues.models import Dialogue
from turnwise.reports.services import build_report, queue_report
from turnwise.studies.models import Study

pytestmark = [pytest.mark.browser, pytest.mark.asyncio(loop_scope="session")]

PASSWORD = "correct horse"


@pytest.fixture
def rex(rex: User) -> User:
    rex.set_password(PASSWORD)
    rex.save()
    return rex


@pytest.fixture
def registered_bot(transactional_db: None) -> Bot:
    return register_bot(name="scripty", title="Scripty", adapter="scripted", configuration={})


@pytest.fixture
def short_study(make_study: MakeStudy) -> Study:
    return make_study(min_turns=2, max_turns=4)


async def sign_in(visitor: Visitor, path: str = "/") -> None:
    await visitor.sign_in(await User.objects.aget(username="rex"))
    await visitor.go(path)
    await expect(visitor.page.get_by_label("Signed in as rex")).to_be_visible()


async def test_signing_in_and_out(visit: Visit, rex: User) -> None:
    visitor = await visit()
    await visitor.go("/")
    await visitor.page.get_by_label("Username").fill("rex")
    await visitor.page.get_by_label("Password").fill("wrong")
    await visitor.page.get_by_role("button", name="Sign in", exact=True).click()
    await expect(visitor.page.get_by_role("alert")).to_contain_text("correct username and password")

    await visitor.page.get_by_label("Username").fill("rex")
    await visitor.page.get_by_label("Password").fill(PASSWORD)
    await visitor.page.get_by_role("button", name="Sign in", exact=True).click()
    await visitor.page.get_by_label("Signed in as rex").click()
    await visitor.page.get_by_role("button", name="Sign out").click()

    await expect(visitor.page.get_by_role("heading", name="Sign in")).to_be_visible()


async def test_a_study_from_the_empty_list_to_the_link_for_workers(
    visit: Visit, rex: User, registered_bot: Bot
) -> None:
    visitor = await visit()
    page = visitor.page
    await sign_in(visitor)
    await expect(page.get_by_text("No studies yet.")).to_be_visible()
    assert await visitor.flaws() == []
    await page.get_by_role("link", name="Create the first study").click()
    await page.get_by_role("link", name="A design of your own.").first.click()
    await page.get_by_role("button", name="Save").click()
    await expect(page.get_by_role("alert")).to_contain_text("Not saved yet")
    await expect(page.get_by_label("Title")).to_have_accessible_description("This field is required.")
    assert await visitor.flaws() == []

    await page.get_by_label("Title").fill("Small talk")
    await page.get_by_label("Consent text").fill("You talk to a machine.")
    await page.get_by_label("Scripty", exact=True).check()
    await page.get_by_role("button", name="Save").click()
    await expect(page.get_by_text("The study is a draft")).to_be_visible()
    await page.get_by_role("button", name="Open the study").click()
    await expect(page.get_by_text("0 of 100", exact=True)).to_be_visible()
    assert await visitor.flaws() == []

    link = await page.get_by_label("Link for workers").input_value()
    await page.goto(link)
    await expect(page.get_by_text("You will talk to an experimental chatbot")).to_be_visible()


async def test_the_report_shows_what_workers_judged_and_stays_up_to_date(
    visit: Visit, short_study: Study
) -> None:
    worker, rex = await visit(), await visit()
    await worker.start(short_study)
    await worker.exchange("One", "Yes", "No")
    await worker.finish()
    await sign_in(rex, f"/studies/{short_study.pk}/report/")
    await expect(rex.page.get_by_text("No results yet.")).to_be_visible()

    await rex.page.get_by_role("button", name="Compute again").click()
    await expect(rex.page.get_by_text("The first report is being computed.")).to_be_visible()
    await sync_to_async(build_report)((await sync_to_async(queue_report)(short_study)).pk)

    # The page notices by itself. Sensible: 1 of 1. Specific: none. SSA: (100 + 0) / 2.
    row = rex.page.get_by_role("region", name="Scores of each system").get_by_role("row", name="Scripty")
    scores = row.locator("strong")
    await expect(scores).to_have_text(["100.0", "0.0", "50.0"])
    await expect(rex.page.get_by_role("group", name="Chart of scores.")).to_be_visible()
    await expect(rex.page.get_by_text("report is being computed")).to_have_count(0)
    assert await rex.flaws() == []

    # From here on without a reload: another worker's labels are shown, and what was unfolded stays so.
    await rex.page.reload()
    await expect(scores).to_have_text(["100.0", "0.0", "50.0"])
    await rex.page.evaluate("window.isTheSamePage = true")
    await rex.page.locator("#progress-part > summary").click()
    await rex.page.get_by_role("link", name="Course").click()
    table = rex.page.locator("#by-reply-table")
    await table.locator("summary").click()

    another = await visit()
    await another.start(short_study)
    await another.exchange("One", "Yes", "Yes")
    await expect(rex.page.get_by_text("+ 1 under way")).to_be_visible()
    await another.finish()
    await sync_to_async(short_study.refresh_from_db)()
    await sync_to_async(build_report)((await sync_to_async(queue_report)(short_study)).pk)

    # Sensible: 2 of 2. Specific: 1 of 2.
    await expect(scores).to_have_text(["100.0", "50.0", "75.0"])
    assert await rex.page.evaluate("window.isTheSamePage") is True
    await expect(table).to_have_attribute("open", "")
    await expect(table.locator("summary")).to_be_focused()


async def test_a_transcript_has_its_labels_and_its_worker_is_excluded(
    visit: Visit, short_study: Study
) -> None:
    worker, rex = await visit(), await visit()
    await worker.start(short_study)
    await worker.exchange("One", "Yes", "No")
    await worker.finish()
    await sign_in(rex, f"/studies/{short_study.pk}/dialogues/")
    assert await rex.flaws() == []
    await rex.page.get_by_role("row", name="Complete").get_by_role("link").first.click()

    reply = rex.page.locator(".turn--bot").nth(1)
    await expect(reply.get_by_role("listitem")).to_have_text(
        ["Does it make sense? Yes", "Is it specific? No"]
    )
    await expect(rex.page.get_by_text("Scripted opening, not labelled")).to_be_visible()
    assert await rex.flaws() == []
    assert str((await Dialogue.objects.aget()).public_id) in rex.page.url

    await rex.page.get_by_label("Reason for excluding this worker").fill("Answered in no time")
    await rex.page.get_by_role("button", name="Exclude").click()

    await expect(rex.page.get_by_text("Answered in no time")).to_be_visible()
    assert await rex.flaws() == []
    await rex.page.get_by_role("button", name="Undo").click()
    await expect(rex.page.get_by_label("Reason for excluding this worker")).to_be_visible()


async def test_staff_pages_fit_a_phone(visit: Visit, short_study: Study) -> None:
    phone = await visit(viewport={"width": 320, "height": 568})
    await sign_in(phone)
    own = (f"{short_study.pk}/{page}" for page in ("", "edit/", "report/", "participants/"))
    for path in ("", "new/", *own):
        await phone.go(f"/studies/{path}")
        assert await phone.page.evaluate("document.documentElement.scrollWidth") <= 320


async def test_a_wide_table_on_a_phone_shows_that_it_goes_on_and_where_it_ends(
    visit: Visit, short_study: Study
) -> None:
    phone = await visit(viewport={"width": 320, "height": 568})
    await sign_in(phone, f"/studies/{short_study.pk}/report/")
    region = phone.page.get_by_role("region", name="Published results")
    # As wide as a table whose rows do not stand as blocks on a phone, such as that of scores by reply.
    await region.locator("table").evaluate("it => it.classList.remove('stacks')")

    async def faded() -> list[str]:
        width = "edge => parseFloat(getComputedStyle(it).getPropertyValue(`--beyond-${edge}`))"
        found: list[str] = await region.evaluate(f"it => ['start', 'end'].filter({width})")
        return found

    async def becomes(edges: list[str]) -> None:
        async with asyncio.timeout(120):
            while await faded() != edges:
                await asyncio.sleep(0.05)

    await becomes(["end"])
    caption = region.locator("caption")
    assert await caption.evaluate("it => it.getBoundingClientRect().right <= innerWidth")

    await region.focus()
    await phone.page.keyboard.press("End")  # a region that scrolls can be scrolled by keyboard
    for _ in range(20):
        await phone.page.keyboard.press("ArrowRight")
    await becomes(["start"])

    # All in sight: nothing fades, also after it had been scrolled to its end.
    await phone.page.set_viewport_size({"width": 1280, "height": 800})
    await becomes([])


async def test_signing_out_stays_beside_the_brand_on_a_phone(visit: Visit, rex: User) -> None:
    rex.username = "a-researcher-with-a-long-name"
    await rex.asave()
    phone = await visit(viewport={"width": 320, "height": 568})
    await phone.go("/")
    await phone.page.get_by_label("Username").fill(rex.username)
    await phone.page.get_by_label("Password").fill(PASSWORD)
    await phone.page.get_by_role("button", name="Sign in", exact=True).click()

    brand = await phone.page.get_by_role("link", name="Turnwise").bounding_box()
    account = await phone.page.get_by_label(f"Signed in as {rex.username}").bounding_box()

    assert brand
    assert account
    assert brand["y"] < account["y"] + account["height"] / 2 < brand["y"] + brand["height"]
    await phone.page.get_by_label(f"Signed in as {rex.username}").click()
    await phone.page.get_by_role("button", name="Sign out").click()
    await expect(phone.page.get_by_role("heading", name="Sign in")).to_be_visible()
