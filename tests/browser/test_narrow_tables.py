"""On a phone, what can be done about a row of a table is in sight, not beyond its edge."""

import pytest
from asgiref.sync import sync_to_async
from playwright.async_api import expect

from tests.browser.conftest import Visit, Visitor
from tests.browser.test_staff_pages import PASSWORD, sign_in
from tests.conftest import MakeStudy, start_dialogue
from tests.planted import computed, talked
from turnwise.accounts.models import User
from turnwise.bots.models import Bot
from turnwise.studies.models import Study

pytestmark = [pytest.mark.browser, pytest.mark.asyncio(loop_scope="session")]

PHONES = (320, 390)
BEYOND = """() => [...document.querySelectorAll("main table :is(a, button, summary)")]
  .filter(each => each.getBoundingClientRect().right > innerWidth).map(each => each.textContent)"""

CELLS_BEYOND = """() => [...document.querySelectorAll("section > .scroll td")]
  .filter(each => each.getBoundingClientRect().right > innerWidth).map(each => each.textContent.trim())"""

SLIDING = """() => [...document.querySelectorAll(".scroll")]
  .filter(each => each.scrollWidth > each.clientWidth).length"""
# States and numbers that stand on more than one line.
BROKEN = """() => [...document.querySelectorAll(".state, .funnel__n")].filter((each) => {
  const range = document.createRange();
  range.selectNodeContents(each);
  return new Set([...range.getClientRects()].map(({ top }) => Math.round(top))).size > 1;
}).map(each => each.textContent)"""


@pytest.fixture
def admin(rex: User) -> User:
    rex.set_password(PASSWORD)
    rex.is_superuser = True
    rex.save()
    return rex


async def beyond(visitor: Visitor, script: str) -> list[str]:
    """List what a script finds on the open page in the widths of phones."""
    found: list[str] = []
    for width in PHONES:
        await visitor.page.set_viewport_size({"width": width, "height": 800})
        found += await visitor.page.evaluate(script)
    return found


async def test_no_control_is_beyond_the_edge(visit: Visit, admin: User, mallory: User, study: Study) -> None:
    visitor = await visit(viewport={"width": 320, "height": 800})
    page = visitor.page
    await sign_in(visitor, "/people/")
    await expect(page.get_by_label("Change mallory")).to_be_visible()
    assert await beyond(visitor, BEYOND) == []
    assert await visitor.flaws_at(320) == []

    worker = await sync_to_async(_somebody)(study)
    await visitor.go(f"/people/data/?find={worker}")
    await expect(page.get_by_text("See or erase")).to_be_visible()
    assert await beyond(visitor, BEYOND) == []
    assert await visitor.flaws_at(320) == []

    await visitor.go("/studies/")
    await expect(page.get_by_role("link", name="Report of")).to_be_visible()
    assert await beyond(visitor, BEYOND) == []


async def test_rows_about_bots_and_people_are_fully_visible(visit: Visit, admin: User, study: Study) -> None:
    await Bot.objects.aupdate(title="Rindfleischetikettierungsüberwachungsbot, the second of its name")
    await sync_to_async(_somebody)(study)
    visitor = await visit(viewport={"width": 320, "height": 800})
    await sign_in(visitor, "/")

    at = f"/studies/{study.pk}/"
    for path in ("/bots/", at, f"{at}monitor/", f"{at}participants/", f"{at}dialogues/", f"{at}opening/"):
        await visitor.go(path)

        assert await visitor.page.evaluate(SLIDING) == 0, path
        assert await visitor.page.evaluate(BROKEN) == [], path
        assert await visitor.flaws() == [], path


async def test_every_number_of_a_report_is_in_sight(visit: Visit, admin: User, make_study: MakeStudy) -> None:
    study = await sync_to_async(make_study)({"ann": 9, "bob": 9}, min_turns=2, max_turns=8)
    await sync_to_async(_reported)(study)
    visitor = await visit(viewport={"width": 320, "height": 800})
    await sign_in(visitor, f"/studies/{study.pk}/report/")

    await expect(visitor.page.locator("#results td").first).to_be_visible()
    assert await beyond(visitor, CELLS_BEYOND) == []
    told = visitor.page.locator("#results tbody tr").first
    assert "SSA" in await told.locator("td").nth(2).evaluate("each => each.dataset.label")
    assert await visitor.flaws_at(320) == []


async def test_a_printed_report_has_its_study_and_every_number(
    visit: Visit, admin: User, make_study: MakeStudy
) -> None:
    study = await sync_to_async(make_study)({"ann": 9, "bob": 9}, title="Hobbies", min_turns=2, max_turns=8)
    await sync_to_async(_reported)(study)
    visitor = await visit(viewport={"width": 718, "height": 1047})  # A4 within its margins
    await sign_in(visitor, f"/studies/{study.pk}/report/")

    await visitor.page.emulate_media(media="print")

    await expect(visitor.page.locator(".print-only")).to_have_text("Hobbies")
    await expect(visitor.page.locator(".print-only")).to_be_visible()
    assert await visitor.page.evaluate(CELLS_BEYOND) == []


def _reported(study: Study) -> None:
    for n in range(6):
        talked(study, [((n + k) % 4 > 0, (n + k) % 3 > 0 and (n + k) % 4 > 0) for k in range(3)])
    computed(study)


def _somebody(study: Study) -> str:
    participation = start_dialogue(study).participation
    assert participation
    return participation.pseudonym
