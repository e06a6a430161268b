"""Comparing pairs: responses and whole conversations, on a desktop and on a phone, to the report."""

import asyncio
from uuid import UUID

import pytest
from asgiref.sync import sync_to_async
from playwright.async_api import Page, expect

from tests.browser.conftest import Visit, Visitor
from tests.browser.test_judging import CRAMPED, SIZES
from tests.browser.test_meant import typed
from tests.browser.test_nothing_lost import Line
from tests.conftest import MakePairs, MakeStudy
from tests.desks import begin
from tests.planted import talked
from turnwise.accounts.models import User
from turnwise.judging.items import pairs
from turnwise.judging.items.pairs import PairSource
from turnwise.judging.models import Item, Slot
from turnwise.judging.queue import services as judging
from turnwise.labels.models import Label
from turnwise.reports.services import build_report, queue_report
from turnwise.studies.models import Study

pytestmark = [pytest.mark.browser, pytest.mark.asyncio(loop_scope="session")]

LONG = "And then we went on, past the mill and over the bridge, to where the road ends. " * 6


@pytest.fixture
def responses(make_pairs: MakePairs) -> Study:
    return make_pairs(8, batch=4, pay_amount="1.50")


@pytest.fixture
def conversations(make_pairs: MakePairs, make_study: MakeStudy) -> Study:
    talks = make_study({"ann": 100, "bob": 100}, min_turns=2, max_turns=20)
    for number in range(4):
        talked(talks, [(True, True)] * 6, text=f"{number}. {LONG}")
    study: Study = make_pairs(batch=2, question_set="preferences")
    pairs.add(study, PairSource.of_conversations([talks], language="en"))
    return study


async def sit_down(visitor: Visitor, study: Study, question: str = "better") -> Page:
    """Open the first pair as a new rater."""
    page = visitor.page
    await visitor.work(study)
    await expect(page.get_by_role("group", name=question)).to_be_focused()
    return page


async def saved(judgments: int) -> None:
    """Wait until so many are stored: an answer by key leaves the page a moment later."""
    while await Label.objects.filter(pair__isnull=False).acount() < judgments:
        await asyncio.sleep(0.05)


async def boxes(page: Page) -> list[dict[str, float]]:
    found = [await side.bounding_box() for side in await page.locator(".side").all()]
    return [{**box} for box in found if box]  # type: ignore[dict-item]


@pytest.mark.parametrize("size", SIZES)
async def test_responses_are_compared_by_keyboard_alone(visit: Visit, responses: Study, size: str) -> None:
    visitor = await visit(viewport=SIZES[size])
    page = await sit_down(visitor, responses)
    first, second = await boxes(page)
    if size == "desktop":
        assert first["y"] == second["y"]
        assert first["x"] + first["width"] <= second["x"]
    else:
        assert first["x"] == second["x"]
        assert first["y"] + first["height"] <= second["y"]
    for number, key in enumerate("120"):
        await expect(page.locator("#done-text")).to_have_text(f"Item {number + 1} of 4")
        await expect(page.get_by_role("heading", name="First")).to_be_visible()
        await expect(page.get_by_role("heading", name="Second")).to_be_visible()
        assert size == "desktop" or await page.evaluate(CRAMPED) == []
        assert await visitor.flaws() == []
        await visitor.press(key)
    await saved(3)
    await page.keyboard.press("ArrowLeft")  # back to the last one
    await expect(page.locator("#done-text")).to_have_text("Item 3 of 4")
    await visitor.press("1")
    await expect(page.locator("#done-text")).to_have_text("Item 4 of 4")
    await visitor.press("2")
    await visitor.may_finish()
    await page.keyboard.press("Tab")
    await page.keyboard.press("Enter")

    await expect(page.get_by_label("Completion code")).to_be_visible()
    given = [label.answers["better"] async for label in Label.objects.order_by("pk")]
    assert given == ["first", "second", "first", "second"]


async def test_a_key_before_both_are_read_leads_on_in_them(visit: Visit, conversations: Study) -> None:
    visitor = await visit(viewport=SIZES["phone"])
    page = await sit_down(visitor, conversations)
    await expect(page.get_by_text("Read to the end, then answer.")).to_be_visible()

    await page.keyboard.press("1")

    while await page.evaluate("scrollY") == 0:
        await page.wait_for_timeout(50)
    assert not await Label.objects.filter(pair__isnull=False).aexists()


async def test_what_was_on_either_side_is_stored(visit: Visit, responses: Study) -> None:
    visitor = await visit()
    page = await sit_down(visitor, responses)
    shown = []
    for number in range(4):
        await expect(page.locator("#done-text")).to_have_text(f"Item {number + 1} of 4")
        shown.append(await page.locator(".side .turn__text").all_text_contents())
        await visitor.press("1")
        await saved(number + 1)

    @sync_to_async
    def stored() -> list[list[str]]:
        found = []
        for slot in Slot.objects.exclude(label=None).order_by("label"):
            pair = slot.item.pair
            assert pair
            texts = [str(each.text) for each in (pair.first_response, pair.second_response) if each]
            found.append(texts[::-1] if slot.is_swapped else texts)
        return found

    assert await stored() == shown


@pytest.mark.parametrize("size", SIZES)
async def test_conversations_are_read_to_both_ends_before_an_answer_counts(
    visit: Visit, conversations: Study, size: str
) -> None:
    visitor = await visit(viewport=SIZES[size])
    page = await sit_down(visitor, conversations)
    for number in range(2):
        await expect(page.locator("#hint")).to_have_text("Read to the end, then answer.")
        await page.keyboard.press("1")
        await page.get_by_role("button", name="First").click(force=True)
        if size == "phone":  # the end of the first one is not enough
            await page.locator("#side-0 .turn__text").last.scroll_into_view_if_needed()
            await expect(page.locator("#hint")).to_have_text("Read to the end, then answer.")
        assert size == "desktop" or await page.evaluate(CRAMPED) == []
        await visitor.to_the_end()
        await expect(page.locator("#hint")).to_have_text("")
        assert await visitor.flaws() == []
        for key in "1202":
            await visitor.press(key)
        await saved(number + 1)
    await visitor.may_finish()

    judged = Label.objects.filter(pair__isnull=False).order_by("pk")
    answers = [label.answers async for label in judged]
    assert (
        answers == [{"quality": "first", "fluency": "second", "relatedness": "tied", "empathy": "second"}] * 2
    )


async def test_a_burst_of_keys_is_no_judgment(visit: Visit, responses: Study) -> None:
    visitor = await visit()
    page = await sit_down(visitor, responses)
    await visitor.keys_count()

    await typed(page, "12 or so")

    await asyncio.sleep(1)
    assert await Label.objects.acount() == 0
    await expect(page.locator("#done-text")).to_have_text("Item 1 of 4")


async def test_an_answer_while_the_line_is_dead_is_sent_later(visit: Visit, responses: Study) -> None:
    visitor = await visit()
    line = Line()
    await visitor.page.route_web_socket("**/ws/**", line.connect)
    page = await sit_down(visitor, responses)
    line.swallows = "judged"
    await visitor.press("2")
    await expect(page.locator("#done-text")).to_have_text("Item 2 of 4")

    await line.break_()

    await expect(page.locator("#saved-text")).to_have_text("saved")
    assert [label.answers async for label in Label.objects.all()] == [{"better": "second"}]


@sync_to_async
def judged(study: Study) -> Item:
    """Five raters have judged all of it, one of them set on the first side; the report is there."""
    for rater in range(5):
        desk = begin(study)
        while items := judging.state(desk)["items"]:
            n = sum(map(ord, items[0]["key"]))
            answer = ("first", "second", "tied")[(n + rater) % 3] if rater < 4 else "first"
            judging.judge(desk, key=UUID(items[0]["key"]), answers={"better": answer})
    study.refresh_from_db()
    build_report(queue_report(study).pk)
    found = study.items.first()
    assert found
    return found


@pytest.fixture
def three_systems(make_pairs: MakePairs) -> Study:
    return make_pairs(12, ("ELIZA", "GenericBot", "Small Meena"), batch=50)


async def test_the_researchers_pages_have_no_flaws(visit: Visit, three_systems: Study, rex: User) -> None:
    item = await judged(three_systems)
    visitor = await visit()
    await visitor.sign_in(rex)
    for path in ("", "queue/", "queue/pairs/", "items/", f"items/{item.key}/", "report/", "edit/"):
        await visitor.go(f"/studies/{three_systems.pk}/{path}")
        assert await visitor.flaws_at(1280, 320) == [], path
    await visitor.go(f"/studies/{three_systems.pk}/report/")
    await expect(visitor.page.get_by_role("region", name="Strengths")).to_contain_text("Small Meena")
    await expect(visitor.page.get_by_role("group", name="Bar chart of wins")).to_be_visible()
