"""Long, formatted replies on the worker's page: read from the top, judged at the end, heard once."""

import os
import re
from itertools import product
from pathlib import Path
from typing import Any

import pytest
from asgiref.sync import sync_to_async
from playwright.async_api import Page, expect

from tests.browser.conftest import Visit, Visitor
from tests.conftest import MakeStudy

pytestmark = [pytest.mark.browser, pytest.mark.asyncio(loop_scope="session")]

# Where the pictures of docs/formatting.md are written: TURNWISE_PICTURES=docs/images python -m pytest …
PICTURES = os.environ.get("TURNWISE_PICTURES")
REPLY = r"""## Saving at a fixed rate

Put 100 € aside each month. After $n$ months at the monthly rate \( r \) you have

\[ S_n = 100 \cdot \frac{(1 + r)^n - 1}{r} \]

| Years | At 1 % | At 3 % | At 5 % |
|------:|-------:|-------:|-------:|
| 1 | 1,206 € | 1,217 € | 1,228 € |
| 5 | 6,150 € | 6,465 € | 6,801 € |
| 10 | 12,615 € | 13,974 € | 15,528 € |

```python
def savings(months: int, rate: float = 0.03) -> float:
    r = rate / 12  # per month
    return 100 * ((1 + r) ** months - 1) / r
```

- [x] an account that costs nothing
- [ ] a standing order, so that you need not think of it
"""
LONG = (
    REPLY + "\n### In detail\n\n" + "It is the habit that counts, and not the sum. " * 62 + "\n\nThat is all."
)
SIZES = {1280: 720, 390: 844, 320: 640}
SCREENS = list(product(SIZES, ("light", "dark"))) if PICTURES else [(1280, "light"), (320, "dark")]


async def heard(page: Page, words: str) -> int:
    """How often a browsing screen reader meets these words: nodes of text in the accessibility tree."""
    session = await page.context.new_cdp_session(page)
    tree: dict[str, Any] = await session.send("Accessibility.getFullAXTree")
    texts = [
        node["name"]["value"]
        for node in tree["nodes"]
        if not node["ignored"] and node["role"]["value"] == "StaticText"
    ]
    await session.detach()
    return sum(words in text for text in texts)


async def top_of(visitor: Visitor) -> float:
    return float(await visitor.bubbles.last.evaluate("reply => reply.getBoundingClientRect().top"))


async def asked(visit: Visit, make_study: MakeStudy, reply: str, **options: Any) -> Visitor:
    study = await sync_to_async(make_study)(
        script={"replies": [reply]}, markdown=True, question_set="human-likeness", opening_text="Hi!"
    )
    wanda = await visit(**options)
    await wanda.start(study)
    await wanda.say("How do my savings grow?")
    await expect(wanda.page.locator(".prose table")).to_be_attached()
    return wanda


@pytest.mark.parametrize(("width", "scheme"), SCREENS)
async def test_a_long_reply_is_read_from_the_top_and_judged_at_its_end(
    visit: Visit, make_study: MakeStudy, width: int, scheme: str
) -> None:
    wanda = await asked(
        visit, make_study, LONG, viewport={"width": width, "height": SIZES[width]}, color_scheme=scheme
    )
    page = wanda.page
    dock, left, jump = page.locator("#dock"), page.locator(".left"), page.locator(".jump")
    choice = wanda.open_question.get_by_role("button", name="No")

    assert 0 < await top_of(wanda) < 200
    await expect(dock).to_have_attribute("data-folded", "true")
    await expect(left).to_contain_text("left to read")
    before = await left.inner_text()
    box = await dock.bounding_box()
    assert box
    assert box["height"] < 80
    assert await wanda.fits()
    assert await wanda.flaws() == []
    assert await heard(page, "It is the habit that counts") == 1
    assert await heard(page, "Put 100 €") == 1

    await page.mouse.move(100, 300)
    await page.mouse.wheel(0, 300)
    await expect(left).not_to_have_text(before)
    await jump.click()
    await expect(dock).to_have_attribute("data-folded", "false")
    await expect(page.get_by_text("That is all.")).to_be_in_viewport()
    await expect(choice).to_have_attribute("aria-disabled", "false")
    await choice.click()
    await wanda.saved(1, "Not human like")


@pytest.mark.parametrize(("width", "scheme"), SCREENS)
async def test_a_table_code_and_a_formula_fit_the_page(
    visit: Visit, make_study: MakeStudy, width: int, scheme: str
) -> None:
    height = 960 if width == 1280 else 1240
    wanda = await asked(
        visit, make_study, REPLY, viewport={"width": width, "height": height}, color_scheme=scheme
    )
    page = wanda.page
    reply = wanda.bubbles.last

    await expect(reply.get_by_role("heading", level=2)).to_have_text("Saving at a fixed rate")
    await expect(reply.locator("math")).to_have_count(3)
    await expect(reply.locator(".hl-k").first).to_have_text("def")
    await expect(reply.get_by_role("button", name="Copy code")).to_have_count(1)
    assert await wanda.fits()
    assert await wanda.flaws() == []
    table = reply.locator(".table")
    scrolls = await table.evaluate("box => box.scrollWidth > box.clientWidth")
    assert (await table.get_attribute("tabindex") == "0") == scrolls
    if PICTURES:
        await expect(page.locator("#dock")).to_have_attribute("data-keys", "count")
        name = f"reply-{width}{'-dark' if scheme == 'dark' else ''}.png"
        await page.screenshot(path=Path(PICTURES) / name)


async def test_locked_answers_look_locked_and_say_why(visit: Visit, make_study: MakeStudy) -> None:
    # A little too long for the window: the question stands there, and does not count yet.
    wanda = await asked(visit, make_study, REPLY, viewport={"width": 390, "height": 700})
    page, hint = wanda.page, wanda.page.locator("#hint")
    choice = wanda.open_question.get_by_role("button", name="No")
    await expect(page.locator("#dock")).to_have_attribute("data-folded", "false")
    await expect(choice).to_have_attribute("aria-disabled", "true")
    await expect(choice).to_have_css("border-top-style", "dashed")
    await expect(hint).to_have_text("Read the reply to the end, then answer.")

    await choice.click(force=True)
    await expect(hint).to_have_text("The answers are locked until you have read the text to its end.")
    await expect(page.locator(".chip[data-state=saved]")).to_have_count(0)

    await wanda.to_the_end()
    await expect(choice).to_have_attribute("aria-disabled", "false")
    await expect(choice).to_have_css("border-top-style", "none")
    await expect(hint).to_have_text("You can change your answer later.")


async def test_a_long_reply_by_keyboard_alone(visit: Visit, make_study: MakeStudy) -> None:
    # Half of 1280 by 1600: a page enlarged to 200 %.
    wanda = await asked(visit, make_study, LONG, viewport={"width": 640, "height": 800})
    page = wanda.page
    await expect(page.locator("#dock")).to_have_attribute("data-folded", "true")

    await page.keyboard.press("n")
    await expect(page.locator("#hint")).to_contain_text("The answers are locked")
    await expect(page.locator(".chip[data-state=saved]")).to_have_count(0)
    await page.locator(".jump").focus()
    await page.keyboard.press("Enter")
    await expect(page.locator("#dock")).to_have_attribute("data-folded", "false")
    await wanda.press("n")
    await wanda.saved(1, "Not human like")


async def test_code_is_copied_as_it_was_written(visit: Visit, make_study: MakeStudy) -> None:
    wanda = await asked(visit, make_study, REPLY, permissions=["clipboard-read", "clipboard-write"])

    await wanda.page.get_by_role("button", name="Copy code").click()
    await expect(wanda.page.get_by_role("button", name="Copied")).to_be_visible()

    copied = await wanda.page.evaluate("navigator.clipboard.readText()")
    assert copied.startswith("def savings(months: int, rate: float = 0.03) -> float:\n    r = rate / 12")


async def test_nothing_is_called_saved_before_anything_is(visit: Visit, make_study: MakeStudy) -> None:
    study = await sync_to_async(make_study)(script={"replies": ["Well."]}, question_set="human-likeness")
    wanda = await visit()
    await wanda.start(study)
    await wanda.ready()
    await expect(wanda.page.locator("#saved-text")).to_have_text("")

    await wanda.say("Hello")
    await expect(wanda.page.locator("#saved-text")).to_have_text("saved")
    await expect(wanda.bubbles.last).to_have_text("Well.")
    assert await heard(wanda.page, "Well.") == 1


async def test_the_hint_beside_finish_says_how_much_is_to_do(visit: Visit, make_study: MakeStudy) -> None:
    study = await sync_to_async(make_study)(
        script={"replies": ["Well."]}, question_set="human-likeness", min_turns=4
    )
    wanda = await visit()
    await wanda.start(study)
    why = wanda.page.locator("#why-not")
    needed = int((await wanda.page.locator("#done-text").inner_text()).split()[-1])
    assert needed == 2

    await wanda.say("Hello")
    await expect(why).to_have_text("Keep talking: 2 more replies to judge, then finish.")
    await wanda.answer("No")
    await wanda.say("And then?")
    await expect(why).to_have_text("Judge the last reply, then finish.")


async def test_a_slow_reply_is_counted_and_called_unusual(visit: Visit, make_study: MakeStudy) -> None:
    study = await sync_to_async(make_study)(
        script={"replies": ["At last."], "seconds": 13}, question_set="human-likeness"
    )
    wanda = await visit()
    await wanda.start(study)
    await wanda.ready()
    await wanda.message.fill("Hello")
    await wanda.message.press("Enter")

    await expect(wanda.page.locator("#waiting-text")).to_contain_text("This takes longer than usual")
    await expect(wanda.page.locator("#thinking-time")).to_have_text(re.compile(r"^\d\d seconds$"))
    await expect(wanda.page.locator("#waiting-end")).to_be_hidden()
    await expect(wanda.bubbles.last).to_have_text("At last.")
    await expect(wanda.page.locator("#waiting")).to_be_hidden()
