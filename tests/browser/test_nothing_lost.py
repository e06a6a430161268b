"""Reloads, second tabs, broken lines and another device all end in the same dialogue going on."""

import json

import pytest
from playwright.async_api import WebSocketRoute, expect

from dialogues.models import Turn
from labels.models import Label

pytestmark = [pytest.mark.browser, pytest.mark.asyncio(loop_scope="session")]


class Line:
    """The network between the page and the server, which can swallow frames and break."""

    def __init__(self) -> None:
        self.sockets: list[WebSocketRoute] = []
        self.swallows: str | None = None  # a type of frame, in either direction

    async def connect(self, page_side: WebSocketRoute) -> None:
        server_side = page_side.connect_to_server()
        self.sockets.append(page_side)
        page_side.on_message(lambda text: self.passes(text) and server_side.send(text))
        server_side.on_message(lambda text: self.passes(text) and page_side.send(text))

    def passes(self, text: str | bytes) -> bool:
        return json.loads(text)["type"] != self.swallows

    async def break_(self) -> None:
        self.swallows = None
        await self.sockets[-1].close(code=1012, reason="the line broke")


@pytest.fixture
async def line():
    return Line()


async def test_a_reload_in_the_middle_keeps_turns_answers_and_draft(wanda, study):
    await wanda.start(study)
    await wanda.exchange("One", "Yes", "No")
    await wanda.ready()
    await wanda.message.fill("An unfinished thought")
    before = await wanda.texts()

    await wanda.page.reload()

    await expect(wanda.bubbles).to_have_count(len(before))
    assert await wanda.texts() == before
    await expect(wanda.message).to_have_value("An unfinished thought")
    pressed = wanda.questions(1).get_by_role("button", pressed=True)
    await expect(pressed).to_have_text(["Y Yes", "N No"])


async def test_two_tabs_of_one_dialogue_agree(wanda, study):
    await wanda.start(study)
    other = await wanda.another_tab()
    await expect(other.bubbles).to_have_count(1)
    await other.message.fill("A draft in the other tab")

    await wanda.exchange("From the first tab", "Yes", "No")

    await expect(other.bubbles).to_have_text(["Hi!", "From the first tab", "Go on."])
    await expect(other.questions(1).get_by_role("button", pressed=True)).to_have_text(["Y Yes", "N No"])
    await expect(other.message).to_have_value("A draft in the other tab")

    await other.questions(1).get_by_role("group", name="make sense").get_by_role("button", name="No").click()
    await expect(wanda.questions(1).get_by_role("button", pressed=True)).to_have_text(["N No"])


async def test_finishing_in_one_tab_finishes_in_the_other(wanda, short_study):
    await wanda.start(short_study)
    other = await wanda.another_tab()
    await wanda.exchange("One", "No")
    await wanda.finish()

    await expect(other.page.get_by_label("Completion code")).to_be_visible()


@pytest.fixture
def short_study(make_study):
    return make_study(min_turns=2, max_turns=4)


@pytest.mark.parametrize("lost", ["turn", "turn_saved"])
async def test_a_message_is_saved_once_when_the_line_breaks(wanda, study, line, lost):
    await wanda.page.route_web_socket("**/ws/**", line.connect)
    await wanda.start(study)
    line.swallows = lost
    await wanda.say("Only once, please")
    await expect(wanda.page.get_by_text("Sending …")).to_be_visible()

    await line.break_()

    await expect(wanda.bubbles).to_have_text(["Hi!", "Only once, please", "Go on."])
    assert [turn.text async for turn in Turn.objects.order_by("position")] == ["Hi!", "Only once, please", "Go on."]


@pytest.mark.parametrize("lost", ["label", "label_saved"])
async def test_an_answer_is_saved_when_the_line_breaks(wanda, study, line, lost):
    await wanda.page.route_web_socket("**/ws/**", line.connect)
    await wanda.start(study)
    await wanda.say("One")
    await expect(wanda.open_question).to_be_visible()
    line.swallows = lost
    await wanda.answer("No")
    await expect(wanda.questions(1).get_by_text("Saving …")).to_be_visible()

    await line.break_()

    await expect(wanda.questions(1).get_by_text("Saved", exact=True)).to_be_visible()
    label = await Label.objects.aget()
    assert label.answers == {"sensible": False, "specific": False}


async def test_the_page_says_when_the_line_is_broken_and_sends_later_what_was_written(wanda, study, line):
    await wanda.page.route_web_socket("**/ws/**", line.connect)
    await wanda.start(study)
    await wanda.ready()
    line.swallows = "state"  # each new connection stays useless until the line is mended
    await line.sockets[-1].close(code=1012, reason="the line broke")
    await expect(wanda.page.get_by_text("The connection is lost.")).to_be_visible()
    await wanda.message.fill("Written in a tunnel")
    await wanda.message.press("Enter")
    await expect(wanda.page.get_by_text("Not sent yet")).to_be_visible()

    await wanda.page.reload()
    await expect(wanda.page.get_by_text("Written in a tunnel")).to_be_visible()
    await line.break_()

    await expect(wanda.bubbles).to_have_text(["Hi!", "Written in a tunnel", "Go on."])
    await expect(wanda.page.get_by_text("The connection is lost.")).to_be_hidden()


async def test_the_resume_code_continues_on_another_device(wanda, visit, study):
    await wanda.start(study)
    await wanda.exchange("One", "No")
    await wanda.page.get_by_text("Resume code", exact=True).click()
    code = await wanda.page.get_by_role("textbox", name="Resume code").input_value()
    phone = await visit()

    await phone.go(study.get_entry_url())
    await phone.page.get_by_text("Go on with a resume code").click()
    await phone.page.get_by_role("textbox", name="Resume code").fill(code.lower())
    await phone.page.get_by_role("button", name="Go on").click()

    await expect(phone.bubbles).to_have_text(["Hi!", "One", "Go on."])
    await phone.exchange("Two", "No")
    await expect(wanda.bubbles).to_have_count(5)


async def test_a_session_that_is_no_longer_known_is_told_and_not_retried(wanda, study):
    await wanda.start(study)
    await wanda.page.context.clear_cookies()
    await wanda.page.evaluate("sessionStorage.setItem('kept', 'yes')")
    other = await wanda.page.context.new_page()
    await other.route("**/chat/", lambda route: route.continue_())
    await other.goto(wanda.page.url)

    await expect(other.get_by_role("heading", name="We do not know this browser")).to_be_visible()
    await other.get_by_role("link", name="first page of the study").click()
    await expect(other.get_by_text("Go on with a resume code")).to_be_visible()


async def test_an_unread_reply_marks_the_title_and_offers_a_way_down(wanda, chatty_study):
    await wanda.page.set_viewport_size({"width": 800, "height": 500})
    await wanda.start(chatty_study)
    other = await wanda.another_tab()
    for text in ("One", "Two"):
        await wanda.exchange(text, "No")
    await expect(other.bubbles).to_have_count(5)
    await other.page.evaluate("scrollTo(0, 0)")
    down = other.page.get_by_role("button", name="New reply")
    await expect(down).to_be_hidden()

    await wanda.exchange("Three", "No")

    await down.click()
    await expect(other.bubbles.last).to_be_in_viewport()
    await expect(down).to_be_hidden()


@pytest.fixture
def chatty_study(make_study):
    return make_study(script={"replies": ["A long story. " * 40]})
