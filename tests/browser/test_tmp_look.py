import pytest
from django.core.cache import cache
from asgiref.sync import sync_to_async
from turnwise.bots.small_model import progress
from turnwise.bots.services import register_bot
from tests.browser.conftest import Visitor
pytestmark = [pytest.mark.browser, pytest.mark.asyncio(loop_scope="session")]

async def test_look(rex_browser: Visitor):
    v = rex_browser
    await sync_to_async(register_bot)(name="eliza", title="ELIZA", adapter="eliza")
    await v.go("/bots/")
    await v.page.screenshot(path="/tmp/b1.png")
    await sync_to_async(progress.report)(progress.FETCHING, 40_000_000, 98_362_432)
    await v.go("/bots/")
    await v.page.screenshot(path="/tmp/b2.png")
    await sync_to_async(progress.fail)("The hub cannot be reached at https://huggingface.co ([Errno -2] Name or service not known). This server needs the internet for it, or a mirror in HF_ENDPOINT")
    await v.page.set_viewport_size({"width": 320, "height": 640})
    await v.go("/bots/")
    await v.page.screenshot(path="/tmp/b3.png", full_page=True)
