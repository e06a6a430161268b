"""From sign-in to the report of a rehearsed study: what a newcomer does before their first insight."""

import subprocess
from typing import Any

import pytest
from asgiref.sync import sync_to_async
from playwright.async_api import Locator, expect

from tests.browser.conftest import Visit
from turnwise.accounts.models import User
from turnwise.bots.services import register_bot
from turnwise.rehearsals.models import Attempt
from turnwise.rehearsals.tasks import start_process
from turnwise.studies.models import Study

pytestmark = [pytest.mark.browser, pytest.mark.asyncio(loop_scope="session")]

MOST_ACTIONS = 13


# On a phone: in test_whole_way somebody walks through the same pages by keyboard in a wide window.
PHONE: dict[str, Any] = {"viewport": {"width": 390, "height": 844}, "has_touch": True, "is_mobile": True}


class Actions:
    """What somebody does by finger and keyboard, counted: a field that is filled in is one."""

    def __init__(self) -> None:
        self.taken = 0

    async def fill(self, field: Locator, text: str) -> None:
        self.taken += 1
        await field.fill(text)

    async def press(self, what: Locator) -> None:
        self.taken += 1
        await what.tap()


@pytest.mark.usefixtures("_same_database")
@pytest.mark.timeout(300)
async def test_few_actions_from_signing_in_to_the_report_of_a_rehearsal(visit: Visit, rex: User) -> None:
    for name, title in (("generic", "GenericBot"), ("eliza", "ELIZA")):
        await sync_to_async(register_bot)(name=name, title=title, adapter=name, owner=rex)
    rex.set_password("correct horse")
    await rex.asave()
    visitor, do = await visit(**PHONE), Actions()
    page = visitor.page
    await visitor.go("/")

    await do.fill(page.get_by_label("Username"), "rex")
    await do.fill(page.get_by_label("Password"), "correct horse")
    await do.press(page.get_by_role("button", name="Sign in", exact=True))
    await do.press(page.get_by_role("link", name="New study").first)
    await do.press(page.get_by_role("link", name="Meena, interactive"))
    await do.fill(page.get_by_label("Title"), "Tea or coffee")
    for title in ("GenericBot", "ELIZA"):
        await do.press(page.get_by_role("checkbox", name=title))
    await do.press(page.get_by_role("button", name="Save"))
    await do.press(page.get_by_role("link", name="Rehearse").first)
    await do.fill(page.get_by_label("Simulated workers"), "8")  # 30 tell more, and take longer
    await do.press(page.get_by_role("button", name="Rehearse"))
    await expect(page.get_by_text("The rehearsal is about to start.")).to_be_visible()

    # Here no worker takes jobs: what the queued one starts is started by hand.
    study = await Study.objects.aget(title="Tea or coffee")
    attempt = await Attempt.objects.aget(study=study)
    process: subprocess.Popen[bytes] = start_process(study.pk, attempt.workers)
    # Eight are too few to tell for certain all that was planted: it may say so, and end with 1.
    assert await sync_to_async(process.wait)(240) in (0, 1)

    await do.press(page.get_by_role("link", name="See its report"))
    await expect(page.get_by_role("heading", level=1)).to_have_text("Report")
    await expect(page.get_by_role("main")).to_contain_text("GenericBot")
    assert await visitor.flaws() == []
    assert await visitor.fits()
    assert do.taken <= MOST_ACTIONS

    await visitor.go(f"/studies/{study.pk}/rehearsal/")
    await page.get_by_text("Delete the rehearsal").click()
    assert await Study.objects.filter(rehearsal_of=study).aexists()  # it asks first
    assert await visitor.flaws() == []
    assert await visitor.fits()
    await page.get_by_role("button", name="Delete", exact=True).click()
    await expect(page.get_by_text("The rehearsal is deleted")).to_be_visible()
    assert not await Study.objects.filter(rehearsal_of=study).aexists()
