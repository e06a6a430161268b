"""Every page for staff: a new one is searched for flaws without a test of its own."""

from typing import Any

import pytest
from asgiref.sync import sync_to_async
from django.conf import settings
from django.test import Client

from accounts.models import User
from tests.browser.conftest import Visit
from tests.project.test_access import ADMIN, OURS, OWNER, SIGNED_IN, address, things

__all__ = ["things"]  # the fixture

pytestmark = [pytest.mark.browser, pytest.mark.asyncio(loop_scope="session")]

# They lead elsewhere or are refused, as what they show does not exist yet: a file that was uploaded, a task
# with practice, a bundle, a report, conversations of a bot with itself.
ABSENT = {
    "contexts:preview",
    "knowledge:preview",
    "responses:preview",
    "exports:bundle_file",
    "judging:take_out",
    "reports:chart_svg",
    "reports:chart_pdf",
    "comparisons:compare_chart",
    "comparisons:sweep_chart",
    "comparisons:bot_chart",
    "self_play:stamp",
    "self_play:measures_csv",
    "self_play:json_lines",
}


PARTS = {"studies:outlook", "judging:foreseen"}
"""Of pages: asked for by what their forms say."""


async def test_no_page_for_staff_has_a_flaw(
    visit: Visit,
    things: dict[str, dict[str, Any]],
    rex: User,
) -> None:
    rex.is_superuser = True  # sees what is an owner's, and what is an admin's
    await rex.asave()
    client = Client()
    await sync_to_async(client.force_login)(rex)
    visitor = await visit()
    key = client.session.session_key
    assert key
    await visitor.page.context.add_cookies(
        [{"name": settings.SESSION_COOKIE_NAME, "value": key, "url": visitor.site}]
    )

    searched, absent, flaws = [], set(), {}
    for page in [page for page in OURS if page.rule in (SIGNED_IN, OWNER, ADMIN)]:
        path = address(page, things)
        # Asked for beforehand: the browser would load a file down instead of showing it.
        answer = await visitor.page.request.get(visitor.site + path, max_redirects=0)
        if page.name in PARTS:
            continue
        if answer.status == 200 and answer.headers["content-type"].startswith("text/html"):
            await visitor.go(path)
            searched.append(page.name)
            if found := await visitor.flaws():
                flaws[page.name] = found
        elif answer.status not in (200, 405):
            absent.add(page.name)

    assert flaws == {}
    assert absent == ABSENT
    assert len(searched) > 90
