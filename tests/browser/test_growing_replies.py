"""Replies that grow on the page: with a broken network, a reader who scrolls, and a button to stop them."""

import json
from typing import Any

import pytest
import pytest_asyncio
from asgiref.sync import sync_to_async
from playwright.async_api import WebSocketRoute, expect

from chatbots.hosting.response_checks import clean_text
from tests.browser.conftest import Visit, Visitor
from tests.browser.test_nothing_lost import Line
from tests.chatbots.growing import EMOJI, LONG
from tests.conftest import MakeStudy
from turnwise.dialogues.models import Turn
from turnwise.labels.models import Label
from turnwise.studies.models import ReplyDisplay, Study

pytestmark = [pytest.mark.browser, pytest.mark.asyncio(loop_scope="session")]

WHOLE = clean_text(LONG).strip()
PHONE = {"viewport": {"width": 390, "height": 844}, "has_touch": True, "is_mobile": True}
TOP = "document.querySelector('.turn--bot:last-child, .is-growing').getBoundingClientRect().top"


@pytest_asyncio.fixture(loop_scope="session")
async def phone(visit: Visit) -> Visitor:
    return await visit(**PHONE)


def make_growing(make_study: MakeStudy, *replies: str, speed: float, **fields: Any) -> Study:
    script = {"replies": list(replies), "characters_per_second": speed}
    return make_study(script=script, **({"reply_display": ReplyDisplay.AS_IT_COMES} | fields))


growing = sync_to_async(make_growing)


@pytest.fixture
def long_study(make_study: MakeStudy) -> Study:
    return make_growing(make_study, LONG, speed=len(WHOLE) / 6)


async def has_grown(visitor: Visitor, at_least: int) -> None:
    """Wait until so many characters of a reply are on the page."""
    await visitor.page.wait_for_function(
        "most => document.querySelector('.is-growing .turn__text')?.textContent.length >= most", arg=at_least
    )


async def test_a_long_reply_grows_on_a_phone_whose_network_drops_in_the_middle(
    phone: Visitor, long_study: Study
) -> None:
    await phone.start(long_study)
    await phone.say("Tell me a story")
    await has_grown(phone, 500)
    assert await phone.fits()
    assert WHOLE.startswith(((await phone.texts())[-1]).strip())
    await expect(phone.page.locator(".is-growing")).to_have_attribute("aria-busy", "true")
    await expect(phone.open_question).to_have_count(0)

    await phone.page.context.set_offline(True)
    await expect(phone.page.locator("#connection")).to_contain_text("You are offline")
    await phone.page.context.set_offline(False)

    await expect(phone.open_question).to_be_visible()
    assert await phone.texts() == ["Hi!", "Tell me a story", WHOLE]
    await expect(phone.page.locator(".is-growing")).to_have_count(0)
    assert await phone.fits()
    stored = [turn.text async for turn in Turn.objects.order_by("position")]
    assert stored == ["Hi!", "Tell me a story", WHOLE]
    assert await Label.objects.acount() == 0


async def test_a_killed_connection_and_a_reload_show_the_text_so_far(
    wanda: Visitor, make_study: MakeStudy
) -> None:
    study = await growing(make_study, WHOLE, speed=len(WHOLE) / 20)
    line = Line()
    await wanda.page.route_web_socket("**/ws/**", line.connect)
    await wanda.start(study)
    await wanda.say("Tell me a story")
    await has_grown(wanda, 100)

    await line.break_()
    await has_grown(wanda, 400)
    await wanda.page.reload()
    await has_grown(wanda, 500)

    assert WHOLE.startswith((await wanda.texts())[-1].strip())


async def test_the_beginning_of_a_long_reply_stays_where_it_is_read(
    phone: Visitor, long_study: Study
) -> None:
    await phone.start(long_study)
    await phone.say("Tell me a story")
    await has_grown(phone, 1500)
    tops = [round(await phone.page.evaluate(TOP))]

    await has_grown(phone, 2500)
    tops.append(round(await phone.page.evaluate(TOP)))
    await expect(phone.open_question).to_be_visible()
    tops.append(round(await phone.page.evaluate(TOP)))

    assert 0 <= tops[0] <= 100
    assert tops[0] == tops[1]
    assert abs(tops[2] - tops[1]) <= 2


async def test_a_reader_who_has_scrolled_up_is_left_there(wanda: Visitor, make_study: MakeStudy) -> None:
    study = await growing(make_study, LONG[:2000].strip(), WHOLE, speed=len(WHOLE) / 4)
    await wanda.start(study)
    await wanda.say("Tell me a story")
    await expect(wanda.open_question).to_be_visible()
    await wanda.to_the_end()
    await wanda.answer("No")
    await wanda.say("And another")
    await has_grown(wanda, 50)
    await wanda.page.mouse.move(100, 100)
    await wanda.page.mouse.wheel(0, -20_000)
    await expect(wanda.bubbles.first).to_be_in_viewport()

    await has_grown(wanda, 2000)
    await expect(wanda.bubbles.first).to_be_in_viewport()
    await expect(wanda.open_question).to_be_visible()

    await expect(wanda.bubbles.first).to_be_in_viewport()
    await expect(wanda.page.get_by_role("button", name="New reply")).to_be_visible()


async def test_a_reply_is_announced_once_when_it_is_complete(wanda: Visitor, make_study: MakeStudy) -> None:
    study = await growing(make_study, EMOJI, speed=10)
    await wanda.start(study)
    await wanda.page.evaluate(
        """() => {
          window.heard = [];
          const live = (node) => node.closest("[aria-live]").ariaLive === "polite";
          const hear = (changes) => changes.flatMap(({addedNodes}) => [...addedNodes]).filter(live)
            .forEach((node) => heard.push(node.textContent.trim()));
          new MutationObserver(hear).observe(document.getElementById("turns"), {childList: true});
        }"""
    )
    await wanda.say("Show me something")
    await has_grown(wanda, 5)
    assert await wanda.page.evaluate("heard") == []
    assert (
        await wanda.page.evaluate("document.querySelector('.is-growing').closest('[aria-live]').ariaLive")
        == "off"
    )

    await expect(wanda.open_question).to_be_visible()

    assert await wanda.page.evaluate("heard") == [f"Chatbot: {EMOJI}"]
    assert (await wanda.texts())[-1] == EMOJI


async def test_a_stopped_reply_keeps_what_was_shown(wanda: Visitor, make_study: MakeStudy) -> None:
    study = await growing(make_study, WHOLE, "Short.", speed=100, may_stop_replies=True)
    await wanda.start(study)
    await wanda.say("Tell me a story")
    await has_grown(wanda, 60)
    assert await wanda.flaws() == []

    stop = wanda.page.get_by_role("button", name="Stop the reply")
    await stop.click()

    await expect(wanda.open_question).to_be_visible()
    await expect(stop).to_be_hidden()
    shown = (await wanda.texts())[-1]
    assert WHOLE.startswith(shown)
    assert 60 <= len(shown) < len(WHOLE)
    assert [turn.text async for turn in Turn.objects.order_by("position")][-1] == shown
    await wanda.answer("No")
    await wanda.exchange("Go on", "No")


async def test_there_is_no_button_where_replies_must_not_be_stopped(
    wanda: Visitor, make_study: MakeStudy
) -> None:
    await wanda.start(await growing(make_study, WHOLE, speed=1000))
    await wanda.say("Tell me a story")
    await has_grown(wanda, 60)

    await expect(wanda.page.get_by_role("button", name="Stop the reply")).to_be_hidden()


class OddServer(Line):
    """A server whose replies come in odd parts."""

    async def connect(self, page: WebSocketRoute) -> None:
        await super().connect(page)
        self.page = page

    def grow(self, offset: int, text: str, stream: str = "one", position: int = 2) -> None:
        frame = {"type": "bot_text", "position": position, "stream": stream, "offset": offset, "text": text}
        self.page.send(json.dumps(frame))


async def test_the_page_puts_parts_together_whatever_comes(wanda: Visitor, make_study: MakeStudy) -> None:
    study = await sync_to_async(make_study)(script={"replies": ["The end."], "seconds": 8})
    server = OddServer()
    await wanda.page.route_web_socket("**/ws/**", server.connect)
    await wanda.start(study)
    await wanda.say("Tell me a story")
    await expect(wanda.page.locator("#thinking")).to_be_visible()
    growing_text = wanda.page.locator(".is-growing .turn__text")

    server.grow(0, "An \U0001f468\u200d\U0001f469 <b>")
    await expect(growing_text).to_have_text("An \U0001f468\u200d\U0001f469 <b>")
    server.grow(6, " and\nmore")  # after three characters and the family of three code points
    await expect(growing_text).to_have_text("An \U0001f468\u200d\U0001f469 and\nmore", use_inner_text=True)
    server.grow(3, "\U0001f468")  # sent before, comes late
    server.grow(0, "Another writer", stream="two")
    server.grow(99, "after a gap")
    server.grow(0, "a turn that is known", position=1)
    server.grow(2, "!")
    await expect(growing_text).to_have_text("An!")

    await expect(wanda.bubbles).to_have_text(["Hi!", "Tell me a story", "The end."])
