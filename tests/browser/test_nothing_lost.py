"""Reloads, second tabs, broken lines and another device all end in the same dialogue going on."""

import json

import pytest
from playwright.async_api import WebSocketRoute, expect

from tests.browser.conftest import Visit, Visitor
from tests.conftest import MakeStudy
from turnwise.dialogues.models import Turn
from turnwise.labels.models import Label
from turnwise.studies.models import Study

pytestmark = [pytest.mark.browser, pytest.mark.asyncio(loop_scope="session")]


class Line:
    """The network between the page and the server, which can swallow frames and break."""

    def __init__(self) -> None:
        self.sockets: list[WebSocketRoute] = []
        self.swallows: str | None = None  # a type of frame, in either direction
        self.dead: list[WebSocketRoute] = []  # open on both sides, but nothing gets through

    async def connect(self, page: WebSocketRoute) -> None:
        server = page.connect_to_server()
        self.sockets.append(page)
        page.on_message(lambda text: self.carry(page, text, server))
        server.on_message(lambda text: self.carry(page, text, page))

    def carry(self, page: WebSocketRoute, text: str | bytes, to: WebSocketRoute) -> None:
        if page not in self.dead and json.loads(text)["type"] != self.swallows:
            to.send(text)

    async def break_(self) -> None:
        self.swallows = None
        await self.sockets[-1].close(code=1012, reason="the line broke")


@pytest.fixture
async def line() -> Line:
    return Line()


async def test_a_reload_in_the_middle_keeps_turns_answers_and_draft(wanda: Visitor, study: Study) -> None:
    await wanda.start(study)
    await wanda.exchange("One", "Yes", "No")
    await wanda.ready()
    await wanda.message.fill("An unfinished thought")
    before = await wanda.texts()

    await wanda.page.reload()

    await expect(wanda.bubbles).to_have_count(len(before))
    assert await wanda.texts() == before
    await expect(wanda.message).to_have_value("An unfinished thought")
    await wanda.saved(1, "Sensible · Not specific")


async def test_two_tabs_of_one_dialogue_agree(wanda: Visitor, study: Study) -> None:
    await wanda.start(study)
    other = await wanda.another_tab()
    await expect(other.bubbles).to_have_count(1)
    await other.message.fill("A draft in the other tab")

    await wanda.exchange("From the first tab", "Yes", "No")

    await expect(other.bubbles).to_have_text(["Hi!", "From the first tab", "Go on."])
    await other.saved(1, "Sensible · Not specific")
    await expect(other.message).to_have_value("A draft in the other tab")

    await other.page.bring_to_front()
    await other.chip(1).click()
    await other.answer("No")
    await wanda.saved(1, "Not sensible")


async def test_the_other_tabs_get_the_frames_of_a_reloaded_tab(wanda: Visitor, study: Study) -> None:
    await wanda.start(study)
    others = [await wanda.another_tab(), await wanda.another_tab()]
    for other in others:
        await expect(other.bubbles).to_have_count(1)
    await wanda.page.reload()

    await wanda.exchange("After the reload", "No")

    for other in others:
        await expect(other.bubbles).to_have_text(["Hi!", "After the reload", "Go on."])
        await other.saved(1, "Not sensible")


async def test_finishing_in_one_tab_finishes_in_the_other(wanda: Visitor, short_study: Study) -> None:
    await wanda.start(short_study)
    other = await wanda.another_tab()
    await wanda.exchange("One", "No")
    await wanda.finish()

    await expect(other.page.get_by_label("Completion code")).to_be_visible()


@pytest.fixture
def short_study(make_study: MakeStudy) -> Study:
    return make_study(min_turns=2, max_turns=4)


async def test_a_connection_that_breaks_while_waiting_for_a_reply_is_noticed(
    wanda: Visitor, study: Study, line: Line
) -> None:
    await wanda.page.clock.install()
    await wanda.page.route_web_socket("**/ws/**", line.connect)
    await wanda.start(study)
    line.swallows = "bot_turn"
    await wanda.say("Are you there?")
    await expect(wanda.page.locator("#thinking")).to_be_visible()
    line.dead.append(line.sockets[-1])
    line.swallows = None

    await wanda.page.clock.fast_forward(20_000)
    await wanda.page.clock.fast_forward(10_000)
    await expect(wanda.bubbles).to_have_text(["Hi!", "Are you there?", "Go on."])
    assert len(line.sockets) == 2


@pytest.mark.parametrize("lost", ["turn", "turn_saved"])
async def test_a_message_is_saved_once_when_the_line_breaks(
    wanda: Visitor, study: Study, line: Line, lost: str
) -> None:
    await wanda.page.route_web_socket("**/ws/**", line.connect)
    await wanda.start(study)
    line.swallows = lost
    await wanda.say("Only once, please")
    await expect(wanda.page.get_by_text("Sending …")).to_be_visible()

    await line.break_()

    await expect(wanda.bubbles).to_have_text(["Hi!", "Only once, please", "Go on."])
    assert [turn.text async for turn in Turn.objects.order_by("position")] == [
        "Hi!",
        "Only once, please",
        "Go on.",
    ]


@pytest.mark.parametrize("lost", ["label", "label_saved"])
async def test_an_answer_is_saved_when_the_line_breaks(
    wanda: Visitor, study: Study, line: Line, lost: str
) -> None:
    await wanda.page.route_web_socket("**/ws/**", line.connect)
    await wanda.start(study)
    await wanda.say("One")
    await expect(wanda.open_question).to_be_visible()
    line.swallows = lost
    await wanda.answer("No")
    await expect(wanda.page.get_by_text("saving …").first).to_be_visible()

    await line.break_()

    await wanda.saved(1, "Not sensible")
    label = await Label.objects.aget()
    assert label.answers == {"sensible": False, "specific": False}


async def test_the_page_says_when_the_line_is_broken_and_sends_later_what_was_written(
    wanda: Visitor, study: Study, line: Line
) -> None:
    await wanda.page.route_web_socket("**/ws/**", line.connect)
    await wanda.start(study)
    await wanda.ready()
    line.swallows = "state"  # each new connection stays useless until the line is mended
    await line.sockets[-1].close(code=1012, reason="the line broke")
    await expect(wanda.page.get_by_text("The connection is lost.")).to_be_visible()
    await wanda.message.fill("Written in a tunnel")
    await wanda.message.press("Enter")
    await expect(wanda.page.get_by_text("Not sent yet")).to_be_visible()
    await expect(wanda.page.get_by_text("Your message is kept and will be sent later.")).to_be_visible()

    await wanda.page.reload()
    await expect(wanda.page.get_by_text("Written in a tunnel")).to_be_visible()
    await line.break_()

    await expect(wanda.bubbles).to_have_text(["Hi!", "Written in a tunnel", "Go on."])
    await expect(wanda.page.get_by_text("The connection is lost.")).to_be_hidden()


async def test_the_resume_code_continues_on_another_device(
    wanda: Visitor, visit: Visit, study: Study
) -> None:
    await wanda.start(study)
    await wanda.exchange("One", "No")
    for summary in ("Help", "Resume code"):
        await wanda.page.get_by_text(summary, exact=True).click()
    code = await wanda.page.get_by_role("textbox", name="Resume code").input_value()
    phone = await visit()

    await phone.go(study.get_entry_url())
    await phone.page.get_by_text("Continue with a resume code").click()
    await phone.page.get_by_role("textbox", name="Resume code").fill(code.lower())
    await phone.page.get_by_role("button", name="Go on").click()

    await expect(phone.bubbles).to_have_text(["Hi!", "One", "Go on."])
    await phone.exchange("Two", "No")
    await expect(wanda.bubbles).to_have_count(5)


async def test_an_unknown_session_is_led_to_the_resume_code(wanda: Visitor, study: Study, line: Line) -> None:
    await wanda.page.route_web_socket("**/ws/**", line.connect)
    await wanda.start(study)
    await wanda.page.context.clear_cookies()
    await line.break_()

    await expect(wanda.page.get_by_text("Your session is missing or has expired.")).to_be_visible()
    await wanda.page.get_by_role("button", name="Reload the page").click()
    await expect(wanda.page.get_by_role("heading", name="We do not know this browser")).to_be_visible()
    await wanda.page.get_by_role("link", name="first page of the study").click()
    await expect(wanda.page.get_by_text("Continue with a resume code")).to_be_visible()


async def test_a_reply_in_a_hidden_tab_marks_its_title_until_it_is_looked_at(
    wanda: Visitor, study: Study
) -> None:
    await wanda.start(study)
    await wanda.page.evaluate("Object.defineProperty(document, 'hidden', {get: () => !window.isBack})")
    title = await wanda.page.title()

    await wanda.say("One")
    await expect(wanda.page).to_have_title(f"● {title}")
    await wanda.page.evaluate("isBack = true; document.dispatchEvent(new Event('visibilitychange'))")
    await expect(wanda.page).to_have_title(title)


async def test_a_reader_who_has_scrolled_up_is_offered_a_way_down(
    wanda: Visitor, visit: Visit, chatty_study: Study
) -> None:
    await wanda.start(chatty_study)
    for text in ("One", "Two"):
        await wanda.exchange(text, "No")
    reader = await visit(storage_state=await wanda.page.context.storage_state())
    await reader.page.goto(wanda.page.url)
    await expect(reader.bubbles.last).to_be_in_viewport()
    await reader.page.mouse.wheel(0, -5000)
    await expect(reader.bubbles.first).to_be_in_viewport()

    await wanda.exchange("Three", "No")

    await expect(reader.bubbles).to_have_count(7)
    await expect(reader.bubbles.first).to_be_in_viewport()
    await reader.page.get_by_role("button", name="New reply").click()
    await expect(reader.bubbles.last).to_be_in_viewport()
    await expect(reader.page.get_by_role("button", name="New reply")).to_be_hidden()


@pytest.fixture
def chatty_study(make_study: MakeStudy) -> Study:
    return make_study(script={"replies": ["A long story. " * 100]})


async def test_the_page_shows_at_once_that_it_is_offline_and_keeps_answers(
    wanda: Visitor, study: Study
) -> None:
    await wanda.start(study)
    await wanda.say("One")
    await expect(wanda.open_question).to_be_visible()
    await expect(wanda.page.locator("#saved-text")).to_have_text("saved")

    await wanda.page.context.set_offline(True)
    await expect(wanda.page.locator("#connection")).to_contain_text("You are offline", timeout=5000)
    await wanda.answer("No")
    await expect(wanda.chip(1)).to_have_text("Not sensible not saved yet")
    await expect(wanda.page.locator("#saved-text")).to_have_text("not saved yet")

    await wanda.page.context.set_offline(False)
    await wanda.saved(1, "Not sensible")
    await expect(wanda.page.locator("#connection")).to_be_hidden()
