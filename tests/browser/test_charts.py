"""The charts of a report as browsers draw them: nothing is covered, cut or to be scrolled on any screen."""

from pathlib import Path
from typing import Any

import pytest
from playwright.async_api import expect

from tests.browser.conftest import Visit, Visitor
from tests.browser.test_staff_pages import sign_in
from tests.conftest import MakeStudy
from tests.planted import computed, talked
from tests.snapshots import Snapshot
from turnwise.bots.models import Bot
from turnwise.studies.models import Study

pytestmark = [pytest.mark.browser, pytest.mark.asyncio(loop_scope="session")]

TITLES = ("Small Meena (full), the newest one of all", "GenericBot", "小冰聊天机器人", "ELIZA")

DRAWN = (Path(__file__).parent / "drawn.js").read_text()
TOUCH = 1.0  # pixels by which boxes may meet: those of text are higher than its letters


@pytest.fixture(scope="module")
def snapshot() -> Snapshot:
    return Snapshot()


@pytest.fixture
def compared(snapshot: Snapshot, transactional_db: None, request: pytest.FixtureRequest) -> Study:
    """One study for all tests: to compute its report takes longer than to look at it."""
    if not snapshot.put_back():
        make_compared(request.getfixturevalue("make_study"))
        snapshot.take()
    return Study.objects.get()


def make_compared(make_study: MakeStudy) -> None:
    study = make_study({"ann": 99, "bob": 99, "cia": 99, "dan": 99}, min_turns=2, max_turns=12)
    for title, bot in zip(TITLES, Bot.objects.order_by("name"), strict=True):
        Bot.objects.filter(pk=bot.pk).update(title=title)
    for n in range(16):
        talked(study, [((n + k) % 5 > 0, (n + k) % 3 > 0 and (n + k) % 5 > 0) for k in range(4)])
    computed(study)


def meet(one: Any, other: Any) -> bool:
    return bool(
        one["left"] + TOUCH < other["right"]
        and other["left"] + TOUCH < one["right"]
        and one["top"] + TOUCH < other["bottom"]
        and other["top"] + TOUCH < one["bottom"]
    )


async def opened(visit: Visit, study: Study, width: int, *, unfolded: bool = True, **options: Any) -> Visitor:
    visitor = await visit(viewport={"width": width, "height": 900}, **options)
    await sign_in(visitor, f"/studies/{study.pk}/report/")
    if unfolded:
        for fold in ("plane", "course-part"):
            await visitor.page.locator(f"#{fold} > summary").click()
    await expect(visitor.page.locator(".chart svg:visible")).to_have_count(3 if unfolded else 1)
    return visitor


async def test_charts_are_not_covered_cut_or_scrolled_at_any_width(visit: Visit, compared: Study) -> None:
    visitor = await opened(visit, compared, 1280)
    for width in (1280, 700, 390, 320):
        await visitor.page.set_viewport_size({"width": width, "height": 900})
        await visitor.page.reload()
        for fold in ("plane", "course-part"):
            await visitor.page.locator(f"#{fold}").evaluate("each => each.open = true")
        await expect(visitor.page.locator(".chart svg:visible")).to_have_count(3)
        for chart in await visitor.page.evaluate(DRAWN):
            texts = chart["texts"]
            assert len(texts) > 6
            assert chart["marks"]
            for n, text in enumerate(texts):
                met = [other["what"] for other in [*texts[:n], *chart["marks"]] if meet(text, other)]
                assert met == [], (width, chart["name"], text["what"])
            boxes = [*texts, *chart["marks"], chart["svg"]]
            assert [each for each in boxes if not inside(each, chart["frame"])] == [], width
        assert await visitor.fits(), width

    # a phone has drawings of its own, with letters to read
    sizes = await visitor.page.evaluate(
        "[...document.querySelectorAll('.chart svg text')].filter(t => t.checkVisibility())"
        ".map(t => t.getBoundingClientRect().height)"
    )
    assert min(sizes) >= 11


def inside(one: Any, frame: Any) -> bool:
    return bool(
        frame["left"] <= one["left"]
        and one["right"] <= frame["right"]
        and frame["top"] <= one["top"]
        and one["bottom"] <= frame["bottom"]
    )


async def test_paper_and_pages_without_scripts_keep_the_charts(visit: Visit, compared: Study) -> None:
    visitor = await opened(visit, compared, 1280, unfolded=False)

    await visitor.page.emulate_media(media="print")

    await expect(visitor.page.locator(".chart svg:visible")).to_have_count(3)
    await expect(visitor.page.get_by_role("navigation", name="Main")).to_be_hidden()

    visitor = await opened(visit, compared, 1280, unfolded=False, java_script_enabled=False)
    # The link to a folded section opens it, without a script; the switch at the top chooses the score.
    index = visitor.page.get_by_role("navigation", name="Sections")
    await index.get_by_role("link", name="Course").press("Enter")
    await expect(visitor.page.get_by_role("heading", name="Scores by reply")).to_be_in_viewport()
    matrices = visitor.page.locator(".matrix:visible caption strong")
    await expect(matrices).to_have_text(["SSA"])
    await visitor.page.get_by_role("radio", name="Specificity").check()
    await expect(matrices).to_have_text(["Specificity"])
    await expect(visitor.page.get_by_role("img", name="Chart of scores.")).to_be_visible()
    await expect(visitor.page.get_by_role("group", name="Show")).to_have_count(0)


async def test_a_chart_works_by_pointer_and_by_keyboard(visit: Visit, compared: Study) -> None:
    visitor = await opened(visit, compared, 1280)
    page = visitor.page
    chart = page.get_by_role("group", name="Chart of scores.")
    marks = chart.locator(".mark")
    assert await visitor.flaws() == []

    # By mouse: the numbers are those of the table.
    row = page.get_by_role("region", name="Scores of each system").get_by_role("row", name="ELIZA")
    value = await row.locator("strong").first.text_content()
    mark = chart.get_by_role("link", name=f"ELIZA. Sensibleness {value} %")
    await mark.hover()
    await expect(chart.locator(".tip text").first).to_have_text("ELIZA")

    # By key: one stop of Tab, then arrows; Escape hides what is told.
    await page.get_by_role("group", name="Show").first.get_by_role("button").last.focus()
    await page.keyboard.press("Tab")
    await expect(marks.first).to_be_focused()
    await page.keyboard.press("ArrowRight")
    await expect(marks.nth(1)).to_be_focused()
    await page.keyboard.press("ArrowDown")
    await expect(marks.nth(4)).to_be_focused()
    await expect(chart.locator(".tip text")).not_to_have_count(0)
    await page.keyboard.press("Escape")
    await expect(chart.locator(".tip text")).to_have_count(0)

    # Hidden and shown again: its three marks.
    count = await marks.count()
    shown = page.get_by_role("button", name="GenericBot").first
    await shown.click()
    await expect(shown).to_have_attribute("aria-pressed", "false")
    await expect(marks).to_have_count(count - 3)
    await shown.click()
    await expect(marks).to_have_count(count)

    # Opened: the conversations behind it, 4 of 16 with each bot.
    await mark.click()
    await expect(page.get_by_role("heading", name="Conversations")).to_be_visible()
    await expect(page.get_by_label("Bot")).to_have_value("dan")
    await expect(page.get_by_text("4 found, the newest first.")).to_be_visible()


async def test_a_first_touch_reads_and_a_second_opens(visit: Visit, compared: Study) -> None:
    visitor = await opened(visit, compared, 390, has_touch=True)
    chart = visitor.page.get_by_role("group", name="Line chart of SSA by reply of the conversation.")
    mark = chart.get_by_role("link", name="ELIZA, reply 2. SSA").first

    await mark.tap()
    await expect(chart.locator(".tip text").last).to_have_text("Tap again to read.")
    await mark.tap()

    await expect(visitor.page.get_by_label("Replies, at least")).to_have_value("2")
