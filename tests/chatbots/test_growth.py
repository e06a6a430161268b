"""Replies that grow, from a bot's thread to its caller: whole characters, in time, and nothing for others."""

import asyncio
import math
import threading
import time
from itertools import pairwise

import pytest
import regex  # type: ignore[import-untyped]

from chatbots.base import Context
from chatbots.hosting import growth
from chatbots.hosting.growth import TextFeed, cut_to, grown_from, showable
from chatbots.hosting.resident import Resident
from chatbots.hosting.response_checks import clean_text
from chatbots.registry import create_bot
from evaluation.texts.lengths import MAX_REPLY_CHARS
from tests.chatbots.growing import EMOJI, LONG, GrowingBot

HELLO = Context.from_texts(["Hello"])
CHINESE, ARABIC = "\u4f60\u597d\uff0c\u4e16\u754c", "\u0645\u0631\u062d\u0628\u0627"
TEXTS = [EMOJI, "Hello there.", CHINESE, ARABIC, LONG[:200].strip()]


@pytest.mark.parametrize("text", TEXTS)
def test_only_whole_characters_are_shown(text: str) -> None:
    """The boundaries are those of the library `regex` for extended grapheme clusters."""
    characters = regex.findall(r"\X", text)
    boundaries = {sum(map(len, characters[:count])) for count in range(len(characters) + 1)}

    known = ""
    for end in range(1, len(text) + 1):
        shown = showable(text[:end])
        kept, added = grown_from(known, shown)
        assert text.startswith(shown)
        assert kept in boundaries
        known = known[:kept] + added
        assert known == shown
    assert text.startswith(known)
    assert len(text) - len(known) <= max(map(len, characters))


@pytest.mark.parametrize("most", range(0, len(EMOJI) + 3))
def test_a_text_is_cut_between_two_characters(most: int) -> None:
    characters = regex.findall(r"\X", EMOJI)
    whole = ["".join(characters[:count]) for count in range(len(characters) + 1)]

    cut = cut_to(EMOJI, most)

    assert cut == max((each for each in whole if len(each) <= most), key=len)


@pytest.mark.parametrize(
    ("known", "text", "expected"),
    [
        ("", "Hello", (0, "Hello")),
        ("Hello", "Hello there", (5, " there")),
        ("Hello there", "Hello", (5, "")),
        ("Hello", "Help", (3, "p")),
        ("cafe", "cafe\u0301", (3, "e\u0301")),
        ("Hello", "Bye", (0, "Bye")),
    ],
)
def test_a_difference_keeps_what_both_begin_with(known: str, text: str, expected: tuple[int, str]) -> None:
    assert grown_from(known, text) == expected


@pytest.mark.parametrize("text", ["", " \n ", "\u200b", "\ud800", "\x00\x07"])
def test_nothing_visible_is_not_shown(text: str) -> None:
    assert showable(text) == ""


def test_lone_surrogates_are_left_out() -> None:
    assert showable("One \ud83d two") == "One  two"


async def texts_of(bot: object, every: float = 0.0, share: float = math.inf) -> tuple[list[str], str]:
    """Texts so far that a caller received, by default after each step, and the final reply."""
    received: list[str] = []
    before = growth.SHOWN_EVERY_SECONDS, growth.SHARE_OF_TIME
    growth.SHOWN_EVERY_SECONDS, growth.SHARE_OF_TIME = every, share
    try:
        with Resident("growing", lambda: bot, deadline=60) as resident:  # type: ignore[arg-type,return-value]
            response = await resident.respond(HELLO, on_text=received.append)
    finally:
        growth.SHOWN_EVERY_SECONDS, growth.SHARE_OF_TIME = before
    return received, response.text


@pytest.mark.parametrize("reply", [EMOJI, LONG])
async def test_texts_so_far_begin_the_reply(reply: str) -> None:
    received, final = await texts_of(GrowingBot.of(reply))

    assert final == reply[:MAX_REPLY_CHARS].rstrip()
    assert received
    for earlier, later in pairwise(received):
        assert later.startswith(earlier)
    assert final.startswith(received[-1])


async def test_a_caller_who_waits_for_the_whole_reply_costs_nothing() -> None:
    bot = GrowingBot.of(EMOJI)

    with Resident("growing", lambda: bot) as resident:
        response = await resident.respond(HELLO)

    assert response.text == EMOJI
    assert bot.asked == 0


@pytest.mark.parametrize(
    ("texts", "final"),
    [
        (["Something", "Something else"], "Nothing of that."),
        (["A long text", "A long", "A", ""], "A long text to the end."),
        (["\ud83d", "Half \ud83d"], "Half \ud83d a smile"),
        (["x" * 10_000_000, "y" * 10_000_000], "z" * 10_000_000),
        ([None, 7, b"bytes"], "None of these is a text."),
    ],
)
async def test_a_faulty_bot_still_gets_its_final_reply_through(texts: list[str], final: str) -> None:
    since = time.monotonic()

    received, reply = await texts_of(GrowingBot(texts, final))

    assert reply == clean_text(final)
    assert all(len(text) <= MAX_REPLY_CHARS for text in received)
    assert all(text.isprintable() for text in received)
    assert time.monotonic() - since < 30


async def test_an_error_while_a_reply_grows_does_not_fail_it() -> None:
    bot = GrowingBot.of("Whole.")
    bot.is_broken = True

    received, final = await texts_of(bot)

    assert (received, final) == ([], "Whole.")


async def test_a_busy_event_loop_gets_the_newest_text_only() -> None:
    received: list[str] = []
    feed = TextFeed(asyncio.get_running_loop(), received.append)

    def write() -> None:
        for end in range(1, 500):
            feed.put(LONG[:end])

    bot = threading.Thread(target=write)
    bot.start()
    bot.join()  # nothing else runs on this loop meanwhile
    await asyncio.sleep(0)

    assert [text.strip() for text in received] == [LONG[:499].strip()]


async def test_a_cancelled_caller_ends_the_growth() -> None:
    received: list[str] = []
    script = {"replies": ["x" * 3000], "characters_per_second": 100}
    with Resident("growing", lambda: create_bot("scripted", script), deadline=60) as resident:
        asking = asyncio.create_task(resident.respond(HELLO, on_text=received.append))
        while not received:
            await asyncio.sleep(0.01)
        asking.cancel()
        await asyncio.gather(asking, return_exceptions=True)
        while resident.health().computing:
            await asyncio.sleep(0.01)
        count = len(received)
        await asyncio.sleep(0.1)

    assert len(received) == count


def test_a_scripted_reply_grows_at_its_speed_and_fails_where_planned() -> None:
    bot = create_bot("scripted", {"replies": [EMOJI], "characters_per_second": 1000, "fail_on": [2]})
    answering = bot.answering()
    assert answering is not None
    [good] = answering.admit([HELLO])
    [bad] = answering.admit([Context.from_texts(["One", "Two", "Three"])])
    texts, done = [], {}
    while len(done) < 2:
        done |= answering.step()
        texts += [text for key, text in answering.partial_texts().items() if key == good]

    assert done[good].text == EMOJI
    assert "Turn 2" in str(done[bad].error)
    assert all(EMOJI.startswith(text) for text in texts)


async def test_texts_so_far_take_a_small_part_of_a_bots_time() -> None:
    """A bot with many replies under way needs its time for them."""
    bot, began = GrowingBot(["word"] * 300, "words"), time.monotonic()
    bot.seconds_to_tell = 0.02
    _, reply = await texts_of(bot, share=0.1)

    assert reply == "words"
    assert bot.asked <= 1 + (time.monotonic() - began) / 0.2
