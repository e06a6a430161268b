"""The questions are tried in the dock, one learns what their author would have said, and the work begins."""

import re

import pytest
from asgiref.sync import sync_to_async
from playwright.async_api import Page, expect

from tests.browser.conftest import Visit, Visitor
from tests.conftest import MakeContexts, MakePairs, MakeQueue, MakeStudy
from turnwise.crowd.models import Practice
from turnwise.judging.items import subjects
from turnwise.judging.items.item_selection import select_contexts
from turnwise.labels.models import Label
from turnwise.studies.asks import About, AskSpec, Moment
from turnwise.studies.models import Study

pytestmark = [pytest.mark.browser, pytest.mark.asyncio(loop_scope="session")]


# All scripts of the page, and those that it names itself, so that the browser fetches them at once.
FETCHED = """performance.getEntriesByType("resource").map(({name}) => name)
    .filter(name => name.endsWith(".js")).sort()"""
ANNOUNCED = """[...document.querySelectorAll("link[rel=modulepreload], script[src]")]
    .map(({href, src}) => href || src).sort()"""


async def to_the_practice(visitor: Visitor, study: Study) -> None:
    await visitor.go(study.get_entry_url())
    await visitor.page.get_by_label("I agree to take part").check()
    await visitor.page.get_by_role("button", name="Continue").click()
    await visitor.page.get_by_role("link", name="Try the questions").click()


async def told(page: Page, title: str, *lines: str) -> None:
    await expect(page.locator("#feedback-title")).to_have_text(title)
    await expect(page.locator("#feedback-answers li")).to_have_text(lines)


async def test_a_new_worker_learns_by_doing_and_begins(visit: Visit, make_study: MakeStudy) -> None:
    study = await sync_to_async(make_study)(question_set="human-likeness", practice=True)
    wanda = await visit(viewport={"width": 320, "height": 640})
    page = wanda.page
    await to_the_practice(wanda, study)
    assert await wanda.flaws() == []
    assert await page.evaluate(FETCHED) == await page.evaluate(ANNOUNCED)

    await wanda.press("y")
    await told(page, "The author would say the same.", "Would a person have given this answer? Yes")
    assert await wanda.flaws() == []
    await page.keyboard.press("Enter")  # the focus is on what leads on
    await wanda.answer("Yes")
    wording = "Would a person have given this answer?"
    await told(page, "The author would say something else.", f"{wording} You said Yes, the author says No")
    await expect(page.locator("#feedback-why")).to_contain_text("facts about trains")
    await page.get_by_role("button", name="Continue").click()
    await expect(page.locator("#summed-up")).to_contain_text("1 of 2")
    assert await wanda.flaws() == []

    await page.get_by_role("button", name="Start now").click()

    await page.wait_for_url("**/chat/")
    assert await Practice.objects.filter(question_set="human-likeness").acount() == 1
    assert await Label.objects.acount() == 0


async def test_pairs_and_scales_are_tried_in_the_same_dock(
    wanda: Visitor, make_study: MakeStudy, make_pairs: MakePairs
) -> None:
    page = wanda.page
    pairs = await sync_to_async(make_pairs)(2, practice=True)
    await to_the_practice(wanda, pairs)
    await expect(page.locator(".side")).to_have_count(2)
    await wanda.answer("Second")
    await told(page, "The author would say the same.", "Which of the two is better? Second")

    rated = await sync_to_async(make_study)(
        asks=[AskSpec("likert", About.DIALOGUE, Moment.AT_END)], practice=True
    )
    await to_the_practice(wanda, rated)
    await wanda.answer("5", "5", "7", "7", "2")

    await told(
        page,
        "The author would say something else.",
        "How good is the conversation as a whole? You said 5, the author says 6, close enough",
        "How varied is it? 5",
        "How fluent is it? 7",
        "How related are the answers? 7",
        re.compile("How empathic is it.* You said 2, the author says 7"),  # type: ignore[arg-type]  # a pattern
    )


async def test_contexts_alone_are_tried_and_then_judged_on_a_phone(
    visit: Visit, make_queue: MakeQueue, make_contexts: MakeContexts
) -> None:
    study = await sync_to_async(make_queue)(
        raters=1, batch=2, question_set="context-fitness", protocol="", practice=True
    )
    await sync_to_async(lambda: subjects.add_selection(select_contexts(study, make_contexts(2))))()
    wanda = await visit(viewport={"width": 320, "height": 640})
    page = wanda.page
    await to_the_practice(wanda, study)
    await expect(page.locator("#turns .turn__text")).to_have_count(3)
    # As far past the introduction as the page goes: below it, the example would not be in view.
    assert await page.evaluate("scrollY") > 0
    assert await wanda.flaws() == []
    examples = [("Yes", "Yes", "Yes"), ("Yes", "No", "Yes"), ("No", "Yes"), ("Yes", "Yes", "No")]
    for number, answers in enumerate(examples):
        await wanda.to_the_end()
        await wanda.answer(*answers)
        await expect(page.locator("#feedback-title")).to_have_text("The author would say the same.")
        last = number == len(examples) - 1
        await page.get_by_role("button", name="Continue" if last else "Next example").click()
    await expect(page.locator("#summed-up")).to_contain_text("4 of 4")
    await page.get_by_role("button", name="Start now").click()

    await expect(page.locator("#done-text")).to_have_text("Item 1 of 2")
    await wanda.answer("No", "Yes")
    await expect(page.locator("#done-text")).to_have_text("Item 2 of 2")
    await wanda.answer("Yes", "Yes", "Yes")
    await wanda.may_finish()
    await page.get_by_role("button", name="Finish").click()
    await expect(page.get_by_role("heading", name="Thank you")).to_be_visible()

    given = [label.answers async for label in Label.objects.order_by("pk")]
    assert given == [
        {"clear": False, "answerable": False, "fit_to_show": True},
        {"clear": True, "answerable": True, "fit_to_show": True},
    ]
