"""A batch in which replies are judged with one set of questions, and the whole conversation with another."""

import pytest
from asgiref.sync import sync_to_async
from playwright.async_api import Page, expect

from tests.asking import judging_both
from tests.browser.conftest import Visit
from tests.browser.test_judging import SIZES, saved
from tests.browser.test_staff_pages import rex, sign_in
from tests.conftest import MakeStudy
from tests.planted import talked
from turnwise.labels.models import Label
from turnwise.studies.models import Study

__all__ = ["rex"]
pytestmark = [pytest.mark.browser, pytest.mark.asyncio(loop_scope="session")]

MAKES_SENSE, GOOD = "make sense", "How good is the conversation"


@pytest.fixture
def study(make_study: MakeStudy) -> Study:
    """Two replies, and the conversation that they are from."""
    talks = make_study(min_turns=4)
    talked(talks, [(True, True)] * 2)
    return judging_both(talks, raters=1, batch=3)


async def test_the_form_follows_the_item_by_keyboard_forth_and_back(visit: Visit, study: Study) -> None:
    visitor = await visit(viewport=SIZES["phone"])
    page = visitor.page
    await visitor.go(study.get_entry_url())
    await page.get_by_label("I agree to take part").check()
    await page.get_by_role("button", name="Continue").click()
    for heading in ("About a single reply", "About a whole conversation"):
        await expect(page.get_by_role("heading", name=heading)).to_be_visible()
    assert await visitor.fits()
    await page.get_by_role("button", name="Start judging").click()

    # Where a batch begins is left to chance.
    first = page.locator("#ask fieldset")
    await expect(first).to_be_focused()
    begins_with_replies = MAKES_SENSE in await first.inner_text()
    order = ["reply", "reply", "whole"] if begins_with_replies else ["whole", "reply", "reply"]
    for number, about in enumerate(order, 1):
        await expect(page.locator("#done-text")).to_have_text(f"Item {number} of 3")
        await expect(page.get_by_role("group", name=_first_of(about))).to_be_focused()
        await _told_of_the_change(page, order, number)
        assert await visitor.fits()
        await visitor.to_the_end()
        for key in "n" if about == "reply" else "44444":
            await visitor.press(key)
        if about == "whole":
            await visitor.keys_count()
            await page.get_by_role("button", name="Skip").click()  # the comment
    await visitor.may_finish()
    await saved(3)

    await page.keyboard.press("ArrowLeft")
    await expect(page.get_by_role("group", name=_first_of(order[2]))).to_be_visible()
    await page.reload()
    await expect(page.locator("#done-text")).to_have_text("All 3 judged")
    for about in reversed(order):
        await page.get_by_role("button", name="Back").click()
        await expect(page.get_by_role("group", name=_first_of(about))).to_be_visible()

    given = {label.question_set: label.answers async for label in Label.objects.filter(study=study)}
    assert given["ssa"] == {"sensible": False, "specific": False}
    assert set(given["likert"].values()) == {4}


def _first_of(about: str) -> str:
    return MAKES_SENSE if about == "reply" else GOOD


async def _told_of_the_change(page: Page, order: list[str], number: int) -> None:
    is_other = number > 1 and order[number - 1] != order[number - 2]
    if is_other:
        await expect(page.locator("#hint")).to_contain_text("Other questions from here on.")


async def test_a_second_set_is_added_in_the_form_and_counted_in_the_queue(visit: Visit, study: Study) -> None:
    await Study.objects.filter(pk=study.pk).aupdate(state=Study.State.DRAFT)
    visitor = await visit(viewport=SIZES["phone"])
    page = visitor.page
    await sign_in(visitor, f"/studies/{study.pk}/edit/")

    await page.get_by_text("Ask something else, too").first.click()
    row = page.get_by_role("group", name="Ask 3")
    await row.get_by_label("Questions").select_option("human-likeness")
    assert await visitor.fits()
    await page.get_by_role("button", name="Save").click()
    await expect(page.get_by_role("heading", name="Judge both")).to_be_visible()
    await visitor.go(f"/studies/{study.pk}/queue/")

    asked = page.get_by_role("region", name="What is asked")
    await expect(asked.get_by_role("row")).to_have_count(4)
    assert await visitor.flaws_at(1280, 320) == []
    counts = await sync_to_async(lambda: [ask.items.count() for ask in study.asks.all()])()
    assert counts == [2, 1, 0]
