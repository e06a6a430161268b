"""From sign-in to the report of a rehearsed study: what a newcomer does before their first insight."""

import subprocess
from collections.abc import Awaitable

import pytest
from asgiref.sync import sync_to_async
from playwright.async_api import expect

from accounts.models import User
from bots.services import register_bot
from rehearsals.models import Attempt
from rehearsals.tasks import started
from studies.models import Study
from tests.browser.conftest import Visit

pytestmark = [pytest.mark.browser, pytest.mark.asyncio(loop_scope="session")]

MOST_ACTIONS = 12


class Actions:
    """What somebody does with mouse and keyboard, counted: a field that is filled in is one."""

    def __init__(self) -> None:
        self.taken = 0

    async def take(self, action: Awaitable[None]) -> None:
        self.taken += 1
        await action


@pytest.mark.usefixtures("_same_database")
@pytest.mark.timeout(300)
async def test_a_dozen_actions_from_signing_in_to_the_report_of_a_rehearsal(visit: Visit, rex: User) -> None:
    for name, title in (("generic", "GenericBot"), ("eliza", "ELIZA")):
        await sync_to_async(register_bot)(name=name, title=title, adapter=name, owner=rex)
    rex.set_password("correct horse")
    await rex.asave()
    visitor, do = await visit(), Actions()
    page = visitor.page
    await visitor.go("/")

    await do.take(page.get_by_label("Username").fill("rex"))
    await do.take(page.get_by_label("Password").fill("correct horse"))
    await do.take(page.get_by_role("button", name="Sign in").click())
    await do.take(page.get_by_role("link", name="New study").first.click())
    await do.take(page.get_by_label("Title").fill("Tea or coffee"))
    for title in ("GenericBot", "ELIZA"):
        await do.take(page.get_by_role("checkbox", name=title).check())
    await do.take(page.get_by_role("button", name="Save").click())
    await do.take(page.get_by_role("link", name="Rehearse").first.click())
    await do.take(page.get_by_label("Simulated workers").fill("8"))  # 30 tell more, and take longer
    await do.take(page.get_by_role("button", name="Rehearse").click())
    await expect(page.get_by_text("The rehearsal is about to begin.")).to_be_visible()

    # Here no worker takes jobs: what the queued one starts is started by hand.
    study = await Study.objects.aget(title="Tea or coffee")
    attempt = await Attempt.objects.aget(study=study)
    process: subprocess.Popen[bytes] = started(study.pk, attempt.workers)
    assert await sync_to_async(process.wait)(240) == 0

    await do.take(page.get_by_role("link", name="See its report").click())
    await expect(page.get_by_role("heading", level=1)).to_have_text("Report")
    await expect(page.get_by_role("main")).to_contain_text("GenericBot")
    assert await visitor.flaws() == []
    assert do.taken <= MOST_ACTIONS
