"""A battery of a study that asks two things: composed in its form, judged by keyboard, read in its report."""

import pytest
from asgiref.sync import sync_to_async
from playwright.async_api import expect

from tests.asking import SSA, asking
from tests.browser.conftest import Visit
from tests.browser.test_judging import SIZES
from tests.browser.test_staff_pages import rex, sign_in
from tests.conftest import MakeContexts, MakeRun
from turnwise.accounts.models import User
from turnwise.judging.items import subjects
from turnwise.labels.models import Label
from turnwise.reports.services import build_report, queue_report
from turnwise.studies.asks import About, AskSpec
from turnwise.studies.models import Study
from turnwise.studies.services import set_state

__all__ = ["rex"]
pytestmark = [pytest.mark.browser, pytest.mark.asyncio(loop_scope="session")]


@pytest.fixture
def study(rex: User, make_contexts: MakeContexts, make_run: MakeRun) -> Study:
    """A draft: two systems' responses to two contexts, with two sets of questions."""
    study, contexts = asking(rex, SSA, AskSpec("human-likeness", About.RESPONSE)), make_contexts(2)
    for system in ("Alpha", "Beta"):
        subjects.add_responses(study, make_run(contexts, system))
    return study


async def test_a_battery_is_composed_and_judged_with_both_sets(visit: Visit, study: Study) -> None:
    researcher = await visit(viewport=SIZES["phone"])
    page = researcher.page
    await sign_in(researcher, f"/studies/{study.pk}/queue/")
    await page.get_by_role("link", name="Compose a battery").click()
    targets = page.get_by_role("group", name="Targets: one item of each")
    for system in ("Alpha", "Beta"):
        await targets.get_by_label(system).check()
    await page.get_by_label("Compared with").select_option("Alpha")
    await page.get_by_label("Workers").fill("2")
    await page.get_by_role("button", name="Save the battery").click()
    for title in ("Sensibleness and specificity", "Human-likeness"):
        await expect(page.get_by_role("rowheader", name=title)).to_be_visible()
    assert await researcher.flaws_at(1280, 320) == []
    await sync_to_async(set_state)(study.pk, Study.State.OPEN)

    for size in SIZES:
        await _judged(visit, study, size)

    given = {label.question_set async for label in Label.objects.filter(study=study)}
    assert given == {"ssa", "human-likeness"}
    assert await Label.objects.filter(study=study).acount() == 8
    report = await sync_to_async(queue_report)(study)
    assert report
    await sync_to_async(build_report)(report.pk)
    await researcher.go(f"/studies/{study.pk}/report/")
    await (
        page.get_by_role("navigation", name="Sections of the report")
        .get_by_role("link", name="Human-likeness")
        .click()
    )
    await expect(page.get_by_role("heading", name="Human-likeness", exact=True)).to_be_in_viewport()
    await expect(page.get_by_role("heading", name="Within workers")).to_have_count(2)
    assert await researcher.flaws_at(1280, 320) == []


async def _judged(visit: Visit, study: Study, size: str) -> None:
    """Somebody new judges their battery by keyboard."""
    visitor = await visit(viewport=SIZES[size])
    await visitor.work(study)
    for number in range(1, 5):
        await expect(visitor.page.locator("#done-text")).to_have_text(f"Item {number} of 4")
        await expect(visitor.page.locator("#ask fieldset")).to_be_focused()
        await visitor.to_the_end()
        await visitor.press("n")
    await visitor.may_finish()
    await visitor.page.get_by_role("button", name="Finish").click()
    await expect(visitor.page.get_by_role("heading", name="Thank you")).to_be_visible()
