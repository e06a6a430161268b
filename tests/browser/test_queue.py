"""A queue filled and emptied by mouse, with what it costs before."""

import pytest
from asgiref.sync import sync_to_async
from playwright.async_api import expect

from tests.browser.conftest import Visit
from tests.browser.test_from_elsewhere import fits, rex, sign_in
from tests.conftest import MakeContexts, MakeQueue, MakeRun
from turnwise.accounts.models import User
from turnwise.contexts.models import ContextSetVersion
from turnwise.studies.models import Study

__all__ = ["rex"]
pytestmark = [pytest.mark.browser, pytest.mark.asyncio(loop_scope="session")]


@pytest.fixture
def version(make_contexts: MakeContexts) -> ContextSetVersion:
    return make_contexts(8)


@pytest.fixture
def study(make_queue: MakeQueue, make_run: MakeRun, version: ContextSetVersion) -> Study:
    for system in ("Beta", "Gamma"):
        make_run(version, system)
    return make_queue(3, raters=2, batch=5, pay_amount=4)


async def test_a_choice_is_costed_added_and_taken_out_again(visit: Visit, study: Study) -> None:
    rex = await visit(viewport={"width": 390, "height": 800})
    page = rex.page
    await sign_in(rex, f"/studies/{study.pk}/queue/")

    await page.get_by_label("Beta on").check()
    await page.get_by_label("Gamma on").check()
    await page.get_by_label("Number of contexts").fill("4")
    # 3 items and 4 of each of two systems are 11, by 2 raters 22 judgments: 5 batches of 5 for 4 USD.
    await expect(page.get_by_text("8 new items")).to_be_visible()
    await expect(page.get_by_text("11 items \u00d7 2 raters = 22 judgments, about 5 batches")).to_be_visible()
    assert await fits(rex)
    assert await sync_to_async(study.items.count)() == 3

    await page.get_by_role("button", name="Add responses").click()
    await expect(page.get_by_text("8 items added.")).to_be_visible()
    await expect(page.get_by_text("4 of 8 contexts were drawn with the seed 1")).to_be_visible()

    await page.get_by_role("link", name="Take out Gamma").click()
    await expect(page.get_by_role("heading", name="Take Gamma out of the queue?")).to_be_visible()
    # 14 of 22 judgments stay wanted: 3 batches instead of 5.
    await expect(
        page.get_by_text("8 judgments are no longer wanted: about 2 batches fewer, which saves 8.00 USD.")
    ).to_be_visible()
    assert await fits(rex)
    await page.get_by_role("button", name="Take it out").click()
    await expect(page.get_by_text("Gamma is out of the queue")).to_be_visible()
    assert await fits(rex)
    await page.get_by_role("button", name="Put back Gamma").click()
    await expect(page.get_by_text("Gamma is in the queue again, with 4 items.")).to_be_visible()


async def test_a_set_is_made_of_some_contexts(visit: Visit, version: ContextSetVersion, rex: User) -> None:
    visitor = await visit(viewport={"width": 390, "height": 800})
    page = visitor.page
    await sign_in(visitor, version.get_absolute_url())

    await page.get_by_text("Make a set of some contexts").click()
    await page.get_by_label("Number of contexts").fill("3")
    assert await fits(visitor)
    await page.get_by_role("button", name="Make the set").click()

    await expect(page.get_by_role("heading", name="Small set: 3 contexts, version 1")).to_be_visible()
    assert await fits(visitor)
