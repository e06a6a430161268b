"""What people and bots write is text on every page, whatever it looks like."""

import pytest
from asgiref.sync import sync_to_async
from django.conf import settings
from django.test import Client
from playwright.async_api import expect

from tests.browser.conftest import Visitor
from tests.conftest import MakeStudy
from turnwise.accounts.models import User
from turnwise.dialogues.models import Dialogue
from turnwise.studies.models import Study

pytestmark = [pytest.mark.browser, pytest.mark.asyncio(loop_scope="session")]

MARKUP = "<img src=x onerror=\"document.title='broken'\"><script>document.title='broken'</script>&amp;"


@pytest.fixture
def hostile_study(make_study: MakeStudy) -> Study:
    return make_study(
        {MARKUP[:60]: 5}, min_turns=2, max_turns=4, title=MARKUP[:120], instructions=MARKUP, blind=False,
        script={"replies": [MARKUP]},
    )  # fmt: skip


@pytest.fixture
def cookie_of_rex(rex: User) -> str:
    client = Client()
    client.force_login(rex)
    return client.cookies[settings.SESSION_COOKIE_NAME].value


async def test_markup_of_workers_bots_and_researchers_is_shown_as_text(
    wanda: Visitor, hostile_study: Study, cookie_of_rex: str
) -> None:
    page = wanda.page
    await wanda.start(hostile_study)
    await wanda.exchange(MARKUP, "No")
    await expect(wanda.bubbles).to_have_text(["Hi!", MARKUP, MARKUP])
    await page.reload()
    await expect(wanda.bubbles).to_have_text(["Hi!", MARKUP, MARKUP])
    assert "broken" not in (await page.title())[:6]
    await wanda.finish()

    await page.context.add_cookies(
        [{"name": settings.SESSION_COOKIE_NAME, "value": cookie_of_rex, "url": wanda.site}]
    )
    dialogue = await Dialogue.objects.aget()
    await wanda.go(f"/dialogues/{dialogue.public_id}/")
    await expect(wanda.bubbles).to_have_text(["Hi!", MARKUP, MARKUP])
    for path in ("/studies/", await sync_to_async(hostile_study.get_absolute_url)()):
        await wanda.go(path)
        await expect(page.get_by_text(MARKUP[:60]).first).to_be_visible()
        assert await page.locator("img[src=x]").count() == 0
        assert await page.title() != "broken"
