"""Judging items one after the other: by keyboard alone, on a phone, back and forth, with a dead line."""

import asyncio
from pathlib import Path

import pytest
import pytest_asyncio
from asgiref.sync import sync_to_async
from playwright.async_api import Page, expect

from tests.browser.conftest import Visit, Visitor
from tests.browser.test_nothing_lost import Line
from tests.conftest import MakeContexts, MakeQueue
from tests.desks import OPEN
from turnwise.accounts.models import User
from turnwise.judging.items import subjects
from turnwise.judging.items.item_selection import select_contexts
from turnwise.judging.models import Slot
from turnwise.labels.models import Label
from turnwise.questions.services import create_set
from turnwise.studies.models import Study

pytestmark = [pytest.mark.browser, pytest.mark.asyncio(loop_scope="session")]

CRAMPED = (Path(__file__).parent / "cramped.js").read_text()
SIZES = {"desktop": {"width": 1280, "height": 800}, "phone": {"width": 320, "height": 568}}


@pytest.fixture
def queue(make_queue: MakeQueue) -> Study:
    return make_queue(25, batch=20)


@pytest.fixture
def short_queue(make_queue: MakeQueue) -> Study:
    return make_queue(8, batch=6)


@pytest_asyncio.fixture(loop_scope="session")
async def rita(visit: Visit) -> Visitor:
    return await visit()


async def sit_down(visitor: Visitor, study: Study, question: str = "make sense") -> Page:
    """Open the first item as a new rater."""
    page = visitor.page
    await visitor.work(study)
    await expect(page.get_by_role("group", name=question)).to_be_focused()
    return page


async def saved(judgments: int) -> None:
    """Wait until so many are stored: an answer by key leaves the page a moment later."""
    while await Label.objects.acount() < judgments:
        await asyncio.sleep(0.05)


async def answers() -> list[dict[str, bool]]:
    return [label.answers async for label in Label.objects.order_by("pk")]


async def test_a_batch_by_keyboard_alone(visit: Visit, short_queue: Study) -> None:
    visitor = await visit(viewport=SIZES["phone"])
    page = await sit_down(visitor, short_queue)
    for number in range(6):
        await expect(page.locator("#done-text")).to_have_text(f"Item {number + 1} of 6")
        await expect(page.get_by_role("group", name="make sense")).to_be_focused()
        await expect(page.locator("#judged")).to_be_in_viewport()
        if number % 3 == 0:
            await visitor.press("n")
        else:
            await visitor.press("y")
            await expect(page.get_by_role("group", name="specific")).to_be_focused()
            await visitor.press("yn"[number % 2])
    await visitor.may_finish()
    await page.keyboard.press("Tab")
    await expect(page.get_by_role("button", name="Finish")).to_be_focused()
    await page.keyboard.press("Enter")

    await expect(page.get_by_label("Completion code")).to_be_visible()
    expected = [
        {"sensible": number % 3 != 0, "specific": number % 3 != 0 and number % 2 == 0} for number in range(6)
    ]
    assert await answers() == expected


async def test_going_back_changes_an_answer(rita: Visitor, queue: Study) -> None:
    page = await sit_down(rita, queue)
    first = await page.locator("#judged").text_content()
    await rita.press("n")
    await expect(page.locator("#judged")).not_to_have_text(first or "")
    second = await page.locator("#judged").text_content()

    await page.keyboard.press("ArrowLeft")
    await expect(page.locator("#judged")).to_have_text(first or "")
    await expect(page.get_by_role("button", name="No", pressed=True)).to_have_count(1)
    await rita.press("y")
    await rita.press("n")

    await expect(page.locator("#judged")).to_have_text(second or "")
    await expect(page.locator("#done-text")).to_have_text("Item 2 of 20")
    while await answers() != [{"sensible": True, "specific": False}]:
        await asyncio.sleep(0.05)


async def test_going_on_without_a_change_changes_nothing(rita: Visitor, queue: Study) -> None:
    page = await sit_down(rita, queue)
    await rita.press("n")
    await expect(page.locator("#done-text")).to_have_text("Item 2 of 20")
    second = await page.locator("#judged").text_content()

    await saved(1)
    await page.keyboard.press("ArrowLeft")
    await page.get_by_role("button", name="Next").click()

    await expect(page.locator("#judged")).to_have_text(second or "")
    await page.keyboard.press("ArrowRight")
    await expect(page.locator("#judged")).to_have_text(second or "")
    assert await answers() == [{"sensible": False, "specific": False}]


async def test_answers_given_while_offline_are_sent_later(rita: Visitor, queue: Study) -> None:
    line = Line()
    await rita.page.route_web_socket("**/ws/**", line.connect)
    page = await sit_down(rita, queue)
    line.swallows = "state"  # each new connection stays useless until the line is mended
    await line.sockets[-1].close(code=1012, reason="the line broke")
    await expect(page.locator("#connection")).to_contain_text("your answers are kept")
    for _ in range(2):
        await rita.press("n")
    await expect(page.locator("#saved-text")).to_have_text("not saved yet")
    assert await answers() == []

    line.swallows = None
    await page.reload()

    await expect(page.locator("#done-text")).to_have_text("Item 3 of 20")
    await expect(page.locator("#saved-text")).to_have_text("saved")
    await page.keyboard.press("ArrowLeft")
    await expect(page.locator("#saved-text")).to_have_text("saved")
    assert await answers() == [{"sensible": False, "specific": False}] * 2


async def test_an_offline_reader_who_runs_out_of_items_is_not_told_that_the_work_is_over(
    rita: Visitor, queue: Study
) -> None:
    page = await sit_down(rita, queue)
    await page.context.set_offline(True)
    await expect(page.locator("#connection")).to_contain_text("You are offline")

    for _ in range(3):  # as many as are sent ahead
        await rita.press("n")

    await expect(
        page.get_by_role("group", name="The next one comes when the connection is back.")
    ).to_be_focused()
    await expect(page.locator("#done-text")).to_have_text("Item 4 of 20")
    await expect(page.get_by_text("That was the last one.")).to_be_hidden()
    await expect(page.get_by_text("are being saved")).to_be_hidden()
    await expect(page.locator("#finish-near")).to_be_hidden()
    assert await rita.flaws() == []

    await page.context.set_offline(False)
    await expect(page.get_by_role("group", name="make sense")).to_be_focused()
    await expect(page.locator("#saved-text")).to_have_text("saved")
    assert await answers() == [{"sensible": False, "specific": False}] * 3


@pytest.mark.parametrize("lost", ["judge", "judged"])
async def test_a_judgment_lost_by_the_connection_is_sent_again(
    rita: Visitor, queue: Study, lost: str
) -> None:
    line = Line()
    await rita.page.route_web_socket("**/ws/**", line.connect)
    page = await sit_down(rita, queue)
    line.swallows = lost
    await rita.press("n")
    await expect(page.locator("#done-text")).to_have_text("Item 2 of 20")

    await line.break_()
    await rita.press("n")

    await expect(page.locator("#done-text")).to_have_text("Item 3 of 20")
    await page.keyboard.press("ArrowLeft")
    await expect(page.locator("#saved-text")).to_have_text("saved")
    assert await answers() == [{"sensible": False, "specific": False}] * 2


async def test_a_reloaded_page_continues_and_can_go_back(rita: Visitor, queue: Study) -> None:
    page = await sit_down(rita, queue)
    first = await page.locator("#judged").text_content()
    await rita.press("n")
    await expect(page.locator("#done-text")).to_have_text("Item 2 of 20")
    second = await page.locator("#judged").text_content()

    await page.reload()

    await expect(page.locator("#judged")).to_have_text(second or "")
    await page.get_by_role("button", name="Back").click()
    await expect(page.locator("#judged")).to_have_text(first or "")
    await expect(page.get_by_role("button", name="No", pressed=True)).to_have_count(1)


@pytest.fixture
def rated(make_queue: MakeQueue) -> Study:
    """One item with three ratings and a reason in words."""
    return make_queue(1, question_set="reply-impression")


async def test_a_reload_in_the_middle_of_an_item_keeps_answers_and_text(rita: Visitor, rated: Study) -> None:
    page = await sit_down(rita, rated, question="appropriate")
    for rating in "567":
        await rita.press(rating)
    reason = page.get_by_role("textbox", name="Why do you rate it like this?")
    await reason.fill("It says what it is")

    await page.reload()

    await expect(reason).to_have_value("It says what it is")
    await page.get_by_role("button", name="Save").click()
    await saved(1)
    assert [set(each.values()) for each in await answers()] == [{5, 6, 7, "It says what it is"}]


async def test_a_reader_who_was_away_is_informed_and_continues(rita: Visitor, queue: Study) -> None:
    page = await sit_down(rita, queue)
    await give_the_item_away(queue)

    await rita.press("n")

    await expect(page.locator("#notice")).to_contain_text("given to somebody else")
    await expect(page.get_by_role("group", name="make sense")).to_be_visible()
    await expect(page.locator("#done-text")).to_have_text("Item 1 of 20")


@sync_to_async
def give_the_item_away(study: Study) -> None:
    """As if the lease of the item before the worker were over and somebody else had taken it."""
    first = Slot.objects.filter(study=study, batch__isnull=False).order_by("key").first()
    assert first
    first.item.slots.all().delete()


@pytest.fixture
def last_item(make_queue: MakeQueue) -> Study:
    return make_queue(1, pay_amount="2.50")


async def test_a_reader_who_gets_the_last_item_is_done_after_it(rita: Visitor, last_item: Study) -> None:
    page = await sit_down(rita, last_item)
    await rita.press("n")
    await expect(page.get_by_text("2.50 USD for all of them.")).to_be_visible()

    await expect(page.locator("#done-text")).to_have_text("Judged")  # one, not the fifty of a whole batch
    await page.get_by_role("button", name="Finish").click()
    await expect(page.get_by_label("Completion code")).to_be_visible()


@pytest.fixture
def long_words(make_queue: MakeQueue) -> Study:
    return make_queue(2, system=("Donaudampfschifffahrtsgesellschaft" * 4)[:120])


async def test_the_page_fits_a_phone(visit: Visit, long_words: Study) -> None:
    phone = await visit(viewport=SIZES["phone"], has_touch=True, is_mobile=True)
    page = await sit_down(phone, long_words)
    assert await page.evaluate(CRAMPED) == []
    assert await phone.flaws() == []
    for summary in ("Help", "The questions", "Keyboard", "Resume code"):
        await page.get_by_text(summary, exact=True).click()
    assert await page.evaluate(CRAMPED) == []
    await page.keyboard.press("Escape")
    for number in (1, 2):
        await phone.to_the_end()
        await page.get_by_role("button", name="No").tap()
        await expect(page.locator("#done-text")).not_to_have_text(f"Item {number} of 50")
    await phone.may_finish()
    assert await page.evaluate(CRAMPED) == []
    assert await phone.flaws() == []


async def test_the_bar_keeps_its_height_whatever_is_saved(visit: Visit, queue: Study) -> None:
    phone = await visit(viewport={"width": 320, "height": 568}, has_touch=True, is_mobile=True)
    page = await sit_down(phone, queue)
    await expect(page.locator("#saved-text")).to_have_text("")

    for width in (320, 390):
        await page.set_viewport_size({"width": width, "height": 568})
        heights = await page.evaluate(
            """() => ["", "saved", "saving …", "not saved yet"].map((says) => {
              document.getElementById("saved-text").textContent = says;
              return document.querySelector(".topbar").getBoundingClientRect().height;
            })"""
        )

        assert len(set(heights)) == 1, (width, heights)


@pytest.fixture
def timed_queue(make_queue: MakeQueue) -> Study:
    return make_queue(3, message_minutes=1, extensions=0)


async def test_a_reader_without_time_left_learns_what_is_saved(rita: Visitor, timed_queue: Study) -> None:
    page = await sit_down(rita, timed_queue)
    await expect(page.get_by_text("left for this step")).to_be_visible()

    await page.evaluate("performance.now = ((now) => () => now.call(performance) + 35_000)(performance.now)")

    warning = page.get_by_role("alert").filter(has_text="left for this step")
    await expect(warning).to_contain_text("What you answer or send before then is saved.")


@pytest.fixture
def bilingual(make_queue: MakeQueue) -> Study:
    return make_queue(2, languages=["en", "de"])


async def test_a_worker_chooses_the_language_of_a_study_with_several(rita: Visitor, bilingual: Study) -> None:
    page = rita.page
    await rita.walk_in(bilingual, "Start judging")
    assert await rita.flaws() == []
    await page.get_by_role("button", name="English").click()

    await expect(page.locator("#turns")).to_have_attribute("lang", "en")
    await expect(page.locator("#judged")).to_have_attribute("dir", "auto")


async def test_the_researchers_pages_have_no_flaws(visit: Visit, queue: Study, rex: User) -> None:
    visitor = await visit()
    await visitor.sign_in(rex)
    item = await queue.items.afirst()
    assert item
    for path in ("", "queue/", "items/", f"items/{item.key}/", "report/", "edit/"):
        await visitor.go(f"/studies/{queue.pk}/{path}")
        assert await visitor.flaws_at(1280, 320) == [], path
    await visitor.go(f"/studies/{queue.pk}/report/contexts/")
    await visitor.page.get_by_role("table").get_by_role("link").first.click()
    for place, key in ((1, "j"), (2, "j"), (3, "k"), (2, "")):
        await expect(visitor.page.get_by_text(f"Number {place} of 25")).to_be_visible()
        await visitor.page.wait_for_load_state()
        if key:
            await visitor.page.keyboard.press(key)


@pytest.fixture
def of_contexts(make_queue: MakeQueue, make_contexts: MakeContexts, rex: User) -> Study:
    study = make_queue(raters=1, batch=2, question_set=create_set(OPEN, owner=rex).key, protocol="")
    subjects.add_selection(select_contexts(study, make_contexts(2)))
    return study


async def test_contexts_are_judged_without_a_response(visit: Visit, of_contexts: Study) -> None:
    visitor = await visit(viewport=SIZES["phone"])
    page = await sit_down(visitor, of_contexts, "different replies")
    for number in range(2):
        await expect(page.locator("#done-text")).to_have_text(f"Item {number + 1} of 2")
        await expect(page.locator("#before")).to_be_in_viewport()
        await expect(page.locator("#judged")).to_have_count(0)
        await expect(page.get_by_role("group", name="different replies")).to_be_focused()
        await visitor.press("yn"[number])
    await visitor.may_finish()
    await page.get_by_role("button", name="Finish").click()

    await expect(page.get_by_label("Completion code")).to_be_visible()
    assert await answers() == [{"open": True}, {"open": False}]
