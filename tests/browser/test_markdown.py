"""A study that shows Markdown shows it to those who chat, to those who judge, and in the transcript."""

import pytest
from asgiref.sync import sync_to_async
from playwright.async_api import expect

from tests.browser.conftest import Visit, Visitor
from tests.conftest import MakeQueue, MakeStudy
from tests.rewriting import rewrite
from turnwise.accounts.models import User
from turnwise.dialogues.models import Dialogue
from turnwise.responses.models import Response

pytestmark = [pytest.mark.browser, pytest.mark.asyncio(loop_scope="session")]

REPLY = f"""\
# Plan
**Two** things, <img src=x onerror="document.title='broken'">:

1. Call `{"very_long_name_" * 8}`
2. Read [this](https://example.org/{"a" * 80}) or [that](javascript:document.title='broken')

```python
for week in range(52): print("{"x" * 60}")
```
"""


async def assert_formatted(visitor: Visitor) -> None:
    page = visitor.page
    shown = page.locator(".prose").last
    await expect(shown.get_by_role("heading", level=2)).to_have_text("Plan")
    await expect(shown.locator("strong")).to_have_text("Two")
    await expect(shown.locator("li")).to_have_count(2)
    await expect(shown.locator("pre")).to_contain_text("range(52)")
    await expect(shown.locator("a")).to_have_attribute("rel", "nofollow noopener noreferrer ugc")
    await expect(shown).to_contain_text("<img src=x")
    assert await page.locator("img[src=x]").count() == 0
    assert "broken" not in await page.title()
    assert await visitor.fits()


async def test_markdown_is_shown_alike_to_all_who_read_it(
    visit: Visit, make_study: MakeStudy, make_queue: MakeQueue, rex: User
) -> None:
    study = await sync_to_async(make_study)(
        script={"replies": [REPLY]}, question_set="human-likeness", markdown=True
    )
    wanda = await visit(viewport={"width": 320, "height": 640})
    page = wanda.page
    await wanda.start(study)
    await wanda.say("**I** am not formatted")
    await assert_formatted(wanda)
    await expect(wanda.bubbles.nth(1)).to_have_text("**I** am not formatted")
    assert await wanda.flaws() == []
    await wanda.to_the_end()
    await wanda.answer("No")
    await page.reload()
    await assert_formatted(wanda)

    queue = await sync_to_async(make_queue)(1, question_set="human-likeness", markdown=True)
    await rewrite(Response.objects, text=REPLY)
    await wanda.work(queue)
    await assert_formatted(wanda)

    await wanda.sign_in(rex)
    dialogue = await Dialogue.objects.aget()
    await wanda.go(f"/dialogues/{dialogue.public_id}/")
    await assert_formatted(wanda)
