"""People write to two bots at once and vote, on wide and narrow windows; reloads lose nothing."""

from typing import Any

import pytest
from asgiref.sync import sync_to_async
from playwright.async_api import expect

from tests.arenas import make_arena
from tests.browser.conftest import Visit
from turnwise.accounts.models import User
from turnwise.labels.models import Label

pytestmark = [pytest.mark.browser, pytest.mark.asyncio(loop_scope="session")]


async def test_a_worker_talks_with_two_and_votes(visit: Visit, rex: User) -> None:
    study = await sync_to_async(make_arena)(rex)
    wanda = await visit(viewport={"width": 320, "height": 640})
    page = wanda.page
    await wanda.go(study.get_entry_url())
    await page.get_by_label("I agree to take part").check()
    await page.get_by_role("button", name="Continue").click()
    assert await wanda.flaws() == []
    await page.get_by_role("button", name="Start the conversation").click()
    box, vote = page.get_by_label("Your message"), page.get_by_role("button", name="Say which is better")
    await expect(page.get_by_text("Comparison 1 of 2")).to_be_visible()
    await expect(vote).to_be_hidden()
    await expect(page.locator("#saved-text")).to_be_empty()  # nothing is yet
    await box.fill("Half a thought")
    await page.reload()
    await expect(box).to_have_value("Half a thought")
    await expect(page.get_by_text("Comparison 1 of 2")).to_be_visible()
    await box.press("Enter")
    await expect(page.locator(".side .turn__text")).to_have_count(2)
    for width in (1280, 320):
        await page.set_viewport_size({"width": width, "height": 640})
        left, right = [await each.bounding_box() for each in await page.locator(".side").all()]
        assert left
        assert right
        assert (left["x"] < right["x"]) is (width > 1000)
    assert await wanda.flaws_at(1280, 320) == []
    await vote.click()
    await page.get_by_role("button", name="Keep talking").click()
    await expect(box).to_be_focused()
    await page.keyboard.press("Escape")
    assert await wanda.flaws() == []
    first = page.get_by_role("button", name="First")
    await expect(first).to_have_attribute("aria-disabled", "false")
    await first.click()
    await expect(page.get_by_text("Comparison 2 of 2")).to_be_visible()
    await expect(page.locator(".side")).to_have_count(0)

    for n in (1, 2):
        await box.fill(f"Message {n}")
        await box.press("Enter")
        await expect(page.locator(".side .turn__text")).to_have_count(2 * n)
    # Nothing more can be written, so the question comes by itself, and the focus goes to it.
    question = page.get_by_role("group", name="Which of the two is better?")
    await expect(question).to_be_focused()
    assert await wanda.flaws() == []
    await page.reload()
    await expect(page.get_by_text("Comparison 2 of 2")).to_be_visible()
    await expect(question).to_be_focused()
    await wanda.press("0")
    await expect(page.get_by_text("That was the last one.")).to_be_visible()
    await expect(page.get_by_role("group", name="End of the task")).to_be_focused()
    assert await wanda.flaws() == []
    await page.get_by_role("button", name="Finish").click()
    await expect(page.get_by_text("completion code").first).to_be_visible()
    assert [each.answers["better"] async for each in Label.objects.order_by("pk")] == ["first", "tied"]


async def test_a_worker_votes_after_each_message_and_begins_anew(visit: Visit, rex: User) -> None:
    made: dict[str, Any] = {"question_set": "preference-both-bad", "votes_each": True, "max_turns": 6}
    study = await sync_to_async(make_arena)(rex, **made)
    wanda = await visit(viewport={"width": 390, "height": 800})
    page = wanda.page
    await wanda.go(study.get_entry_url())
    await page.get_by_label("I agree to take part").check()
    await page.get_by_role("button", name="Continue").click()
    await page.get_by_role("button", name="Start the conversation").click()
    box, anew = page.get_by_label("Your message"), page.get_by_role("button", name="Begin anew")
    question = page.get_by_role("group", name="Which of the two is better?")
    await expect(page.get_by_text("Comparison 1 of 2")).to_be_visible()
    for message in (1, 2):
        await box.fill(f"Message {message}")
        await box.press("Enter")
        await expect(page.locator(".side .turn__text")).to_have_count(2 * message)
        await expect(question).to_be_focused()  # the vote comes before the next message
        await expect(anew).to_be_hidden()
        assert await wanda.flaws_at(1280, 320) == []
        await wanda.press("3" if message == 1 else "1")
        await expect(page.get_by_text("Your vote is saved.")).to_be_visible()
        await expect(box).to_be_focused()
        assert await wanda.flaws_at(1280, 320) == []
    await page.reload()
    await expect(anew).to_be_visible()
    await anew.click()
    await expect(page.get_by_text("Comparison 2 of 2")).to_be_visible()
    await expect(page.locator(".side")).to_have_count(0)
    await box.fill("Once more")
    await box.press("Enter")
    await wanda.press("0")
    await page.get_by_role("button", name="End this comparison").click()
    await expect(page.get_by_text("That was the last one.")).to_be_visible()
    await page.get_by_role("button", name="Finish").click()
    await expect(page.get_by_text("completion code").first).to_be_visible()
    given = [each async for each in Label.objects.order_by("pk").select_related("pair")]
    assert [(each.pair.turns, each.answers["better"]) for each in given] == [
        (2, "both_bad"),
        (4, "first"),
        (2, "tied"),
    ]


async def test_both_replies_are_seen_to_grow(visit: Visit, rex: User) -> None:
    long = "One word follows another until all is said. " * 20
    scripts = {"ann": {"replies": [long], "characters_per_second": 150}}
    made: dict[str, Any] = {"scripts": scripts, "reply_display": "as_it_comes", "each": 1, "max_turns": 2}
    study = await sync_to_async(make_arena)(rex, **made)
    wanda = await visit(viewport={"width": 390, "height": 800})
    page = wanda.page
    await wanda.go(study.get_entry_url())
    await page.get_by_label("I agree to take part").check()
    await page.get_by_role("button", name="Continue").click()
    await page.get_by_role("button", name="Start the conversation").click()
    await expect(page.get_by_text("Comparison 1 of 1")).to_be_visible()
    await page.get_by_label("Your message").fill("Tell me a story")
    await page.get_by_label("Your message").press("Enter")

    growing, question = page.locator(".side .is-growing"), page.get_by_role("group", name="Which of the two")
    await expect(growing.filter(has_text="One word follows")).to_be_visible()
    await expect(page.get_by_text("I am bob.")).to_be_visible()  # the quick one is complete
    await expect(question).to_be_hidden()
    assert await wanda.flaws() == []
    await page.reload()  # in the middle of it
    await expect(growing).to_contain_text("One word follows another")
    await expect(page.get_by_text(long.strip())).to_be_visible()
    await expect(growing).to_have_count(0)
    await expect(question).to_be_visible()
    assert await wanda.flaws_at(1280, 320) == []
