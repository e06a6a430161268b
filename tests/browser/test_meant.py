"""Nothing is stored that nobody meant: no keys of a burst, none too early, nothing of what was not seen."""

import asyncio
import json
import time
from datetime import timedelta
from itertools import pairwise
from typing import Any

import pytest
from django.utils import timezone
from playwright.async_api import Page, WebSocket, expect

from tests.browser.conftest import Visit, Visitor
from tests.browser.test_judging import SIZES, sit_down
from tests.conftest import MakeQueue, MakeStudy
from tests.planted import talked
from turnwise.judging.items import subjects
from turnwise.labels.models import Label
from turnwise.studies.models import Study

pytestmark = [pytest.mark.browser, pytest.mark.asyncio(loop_scope="session")]

TYPING = 0.02  # seconds between the keys of somebody who types fast


async def typed(page: Page, text: str) -> None:
    """Type fast, by the time that each key carries; all are sent at once, as a busy machine may be slow."""
    keyboard = await page.context.new_cdp_session(page)
    began = time.time()
    strokes = [
        keyboard.send("Input.dispatchKeyEvent", {"key": key, "timestamp": began + number * TYPING, **event})
        for number, key in enumerate(text)
        for event in ({"type": "keyDown", "text": key}, {"type": "keyUp"})
    ]
    await asyncio.gather(*strokes)


@pytest.mark.parametrize("text", ["You know, my name is Ann", "Any idea? yes no y n"])
async def test_keys_typed_while_the_reply_arrives_stay_text(wanda: Visitor, study: Study, text: str) -> None:
    await wanda.start(study)
    await wanda.say("Hello")
    await expect(wanda.open_question).to_be_focused()

    await typed(wanda.page, text)

    await expect(wanda.message).to_have_value(text)
    await expect(wanda.page.get_by_role("group", name="make sense")).to_be_visible()
    assert await Label.objects.acount() == 0


async def test_text_that_begins_like_an_answer_undoes_the_answer(wanda: Visitor, study: Study) -> None:
    await wanda.start(study)
    await wanda.say("Hello")
    await wanda.keys_count()

    await typed(wanda.page, "Not at all, I am fine")

    await expect(wanda.message).to_have_value("Not at all, I am fine")
    await expect(wanda.page.get_by_role("group", name="make sense")).to_be_visible()
    await wanda.message.press("Enter")
    await expect(wanda.open_question).to_be_focused()
    assert await Label.objects.acount() == 0


async def test_a_key_that_answers_is_no_text(wanda: Visitor, study: Study) -> None:
    await wanda.start(study)
    await wanda.say("Hello")
    await wanda.press("n")

    await wanda.ready()
    await expect(wanda.message).to_have_value("")
    assert (await Label.objects.aget()).answers == {"sensible": False, "specific": False}


@pytest.fixture
def wordy_study(make_study: MakeStudy) -> Study:
    return make_study(script={"replies": ["A story that takes a while to read. " * 15]})


async def test_keys_count_only_after_the_time_that_a_text_takes(wanda: Visitor, wordy_study: Study) -> None:
    page = wanda.page
    await page.clock.install()
    await wanda.start(wordy_study)
    await wanda.say("Hello")
    await expect(wanda.open_question).to_be_focused()
    await page.clock.fast_forward(1500)

    await page.keyboard.press("y")
    await expect(page.get_by_role("group", name="make sense")).to_be_visible()

    await page.clock.fast_forward(5000)
    await wanda.press("y")
    await expect(page.get_by_role("group", name="specific")).to_be_visible()


async def test_a_double_click_answers_one_question(wanda: Visitor, study: Study) -> None:
    await wanda.start(study)
    await wanda.say("Hello")
    yes = wanda.open_question.get_by_role("button", name="Yes")
    await yes.click(trial=True)

    await yes.dblclick()

    await expect(wanda.page.get_by_role("group", name="specific")).to_be_visible()
    assert await Label.objects.acount() == 0


@pytest.fixture
def long_study(make_study: MakeStudy) -> Study:
    return make_study(script={"replies": ["A very long story. " * 200]})


async def test_a_long_reply_starts_at_its_first_line_and_is_judged_after_its_last(
    visit: Visit, long_study: Study
) -> None:
    wanda = await visit(viewport=SIZES["phone"])
    page = wanda.page
    await wanda.start(long_study)
    await wanda.say("Hello")
    await expect(wanda.open_question).to_be_attached()
    reply = await wanda.bubbles.last.bounding_box()
    assert reply
    assert 0 <= reply["y"] < SIZES["phone"]["height"] / 2
    await page.wait_for_timeout(1000)  # long enough for a short reply

    await page.keyboard.press("y")
    await expect(page.get_by_role("group", name="make sense")).to_be_visible()
    await expect(wanda.open_question.get_by_role("button", name="Yes")).to_have_attribute(
        "aria-disabled", "true"
    )

    await wanda.to_the_end()
    await wanda.answer("No")
    await wanda.ready()
    assert await Label.objects.acount() == 1


async def test_a_key_pressed_before_the_end_scrolls_there(visit: Visit, long_study: Study) -> None:
    wanda = await visit()
    page = wanda.page
    await wanda.start(long_study)
    await wanda.say("Hello")
    await expect(page.get_by_text("Read the reply to the end, then answer.")).to_be_visible()
    begin = await page.evaluate("scrollY")

    await page.get_by_role("group", name="make sense").focus()
    await page.keyboard.press("n")

    while await page.evaluate("scrollY") <= begin:
        await page.wait_for_timeout(50)
    assert await Label.objects.acount() == 0
    await wanda.to_the_end()
    await wanda.press("n")
    await wanda.ready()
    assert await Label.objects.acount() == 1


async def test_an_answer_clicked_before_the_end_scrolls_there(visit: Visit, long_study: Study) -> None:
    wanda = await visit(viewport=SIZES["phone"], has_touch=True)
    page = wanda.page
    await wanda.start(long_study)
    await wanda.say("Hello")
    no = wanda.open_question.get_by_role("button", name="No")
    await expect(page.get_by_text("Read the reply to the end, then answer.")).to_be_visible()
    seen = [await page.evaluate("scrollY")]
    height = SIZES["phone"]["height"]

    while await no.get_attribute("aria-disabled") == "true":
        await no.dispatch_event("click")  # which Playwright would not do while it counts for nothing
        await page.wait_for_timeout(100)
        seen.append(await page.evaluate("scrollY"))

    assert len(seen) > 3
    assert all(0 <= later - earlier < height for earlier, later in pairwise(seen))  # no line is jumped over
    assert await Label.objects.acount() == 0
    await wanda.answer("No")
    await wanda.ready()
    assert await Label.objects.acount() == 1


@pytest.fixture
def queue(make_queue: MakeQueue) -> Study:
    return make_queue(3, batch=3)


async def test_four_quick_keys_judge_nothing(visit: Visit, queue: Study) -> None:
    rita = await visit()
    await rita.page.clock.pause_at(timezone.now() + timedelta(minutes=1))
    page = await sit_down(rita, queue)

    await typed(page, "yyyy")  # at once
    await expect(page.get_by_role("group", name="make sense")).to_be_focused()

    await page.clock.resume()
    first = await page.locator("#judged").text_content()
    await rita.keys_count()
    await typed(page, "yyyy")
    await expect(page.locator("#judged")).to_have_text(first or "")
    await expect(page.get_by_role("group", name="specific")).to_be_focused()
    assert await Label.objects.acount() == 0


async def test_words_judge_nothing(visit: Visit, queue: Study) -> None:
    rita = await visit()
    page = await sit_down(rita, queue)
    first = await page.locator("#judged").text_content()
    await rita.keys_count()

    await typed(page, "Not really, is it?")

    await expect(page.locator("#judged")).to_have_text(first or "")
    await expect(page.get_by_role("group", name="make sense")).to_be_focused()
    await rita.keys_count()
    assert await Label.objects.acount() == 0


@pytest.fixture
def conversations(make_study: MakeStudy, make_queue: MakeQueue) -> Study:
    source = make_study({"scripty": 5})
    talked(source, [(True, True)] * 7, text="Somebody tells a story about a summer long ago. " * 3)
    study = make_queue(question_set="likert")
    subjects.add_dialogues(study, source, language="en")
    return study


async def test_a_conversation_is_rated_after_its_end_has_been_in_view(
    visit: Visit, conversations: Study
) -> None:
    rita = await visit(viewport=SIZES["phone"])
    page = await sit_down(rita, conversations, question="good")
    await expect(rita.bubbles.first).to_be_in_viewport()
    await page.wait_for_timeout(1000)

    await page.keyboard.type("12345", delay=400)
    await expect(page.get_by_role("group", name="good")).to_be_focused()

    await rita.to_the_end()
    for question, key in (
        ("good", "7"),
        ("varied", "6"),
        ("fluent", "5"),
        ("related", "4"),
        ("empathic", "3"),
    ):
        await expect(page.get_by_role("group", name=question)).to_be_focused()
        await rita.press(key)
    await rita.keys_count()
    await page.get_by_role("button", name="Skip").click()  # the comment
    await rita.may_finish()
    assert (await Label.objects.alatest("pk")).answers == {
        "quality": 7, "diversity": 6, "fluency": 5, "relatedness": 4, "empathy": 3,
    }  # fmt: skip


def sent(page: Page) -> list[dict[str, Any]]:
    """The frames that the page sends from now on."""
    frames: list[dict[str, Any]] = []

    def listen(socket: WebSocket) -> None:
        socket.on("framesent", lambda text: frames.append(json.loads(text)))

    page.on("websocket", listen)
    return frames


async def test_the_time_on_screen_goes_with_a_label(wanda: Visitor, study: Study) -> None:
    frames = sent(wanda.page)
    await wanda.start(study)
    await wanda.say("Hello")
    await wanda.press("y")
    await wanda.press("n")
    await wanda.ready()

    timing = next(frame["timing"] for frame in frames if frame["type"] == "label")
    assert 1400 <= timing["shown_ms"] <= timing["answer_ms"] + 1  # two questions, each for 700 ms at least


async def test_the_time_on_screen_goes_with_a_judgment(visit: Visit, queue: Study) -> None:
    rita = await visit()
    frames = sent(rita.page)
    await sit_down(rita, queue)
    await rita.press("n")
    await rita.keys_count()

    timing = next(frame["timing"] for frame in frames if frame["type"] == "judge")
    assert 700 <= timing["shown_ms"] <= timing["answer_ms"] + 1
