"""People write responses by keyboard; contexts and runs have no flaws for screen readers, wide and narrow."""

import asyncio

import pytest
from asgiref.sync import sync_to_async
from django.db import connection
from playwright.async_api import expect

from tests.browser.conftest import Visit
from turnwise.accounts.models import User
from turnwise.bots.models import Bot
from turnwise.contexts.models import ContextSetVersion
from turnwise.contexts.services import load_open_mtb
from turnwise.responses.models import Response
from turnwise.responses.services import start_run
from turnwise.responses.tasks import answer_slice
from turnwise.studies.models import Study
from turnwise.studies.services import save_study, set_state
from turnwise.tasks.writing.models import WritingPlan
from turnwise.tasks.writing.task import Writing

pytestmark = [pytest.mark.browser, pytest.mark.asyncio(loop_scope="session")]


@pytest.fixture
def version(transactional_db: None) -> ContextSetVersion:
    return load_open_mtb()


@pytest.fixture
def writing(version: ContextSetVersion, rex: User) -> Study:
    study = Study(title="Answers", languages=["en"], task=Writing.key)
    plan = WritingPlan(context_version=version, batch_size=3)
    save_study(study, owner=rex, consent_text="You write.", targets={}, plan=plan)
    return set_state(study.pk, Study.State.OPEN)


def answer_and_close(run_id: int) -> None:
    """In a thread of its own, as in a job worker."""
    answer_slice(run_id, seconds=60)
    connection.close()


async def test_a_worker_writes_by_keyboard_and_loses_nothing(visit: Visit, writing: Study) -> None:
    wanda = await visit(viewport={"width": 320, "height": 568})
    page = wanda.page
    await wanda.go(writing.get_entry_url())
    assert await wanda.flaws() == []
    await page.get_by_label("I agree to take part").check()
    await page.get_by_role("button", name="Continue").click()
    assert await wanda.flaws_at(1280, 320) == []
    await page.get_by_role("button", name="Start writing").click()
    box = page.get_by_label("Your response")
    await expect(box).to_be_focused()
    assert await wanda.flaws_at(1280, 320) == []

    await page.keyboard.type("As an AI I would say: green")
    await page.keyboard.press("Enter")
    await expect(page.locator("#notice")).to_contain_text("like an assistant program")
    await expect(box).to_have_value("As an AI I would say: green")
    assert await wanda.flaws() == []
    await box.fill("word " * 2000)
    await expect(page.locator("#hint")).to_have_text("Shorten your response to send it.")
    await box.fill("Half a thought")
    await page.reload()
    await expect(box).to_have_value("Half a thought")
    for n in (1, 2, 3):
        await box.fill("")
        await page.keyboard.type(f"This is what I would say, number {n}.")
        await page.keyboard.press("Enter")
        if n < 3:
            await expect(page.get_by_text(f"Response {n + 1} of 3")).to_be_visible()
            await expect(box).to_have_value("")
            await expect(box).to_be_focused()

    await expect(page.get_by_text("All 3 written")).to_be_visible()
    await expect(page.get_by_role("group", name="End of the task")).to_be_focused()
    assert await wanda.flaws_at(1280, 320) == []
    await page.get_by_role("button", name="Back").click()
    await page.get_by_role("button", name="Back").click()
    await expect(box).to_have_value("This is what I would say, number 2.")
    await box.fill("On second thought, this.")
    await page.keyboard.press("Enter")
    await expect(page.locator("#saved-text")).to_have_text("saved")
    await expect(box).to_have_value("This is what I would say, number 3.")
    await page.keyboard.press("Enter")  # as it is
    await page.locator("#finish-near").click()
    await expect(page.get_by_label("Completion code")).to_be_visible()
    texts = [text async for text in Response.objects.order_by("pk").values_list("text", flat=True)]
    first, second, third = texts
    assert (first[-2:], second, third[-2:]) == ("1.", "On second thought, this.", "3.")


async def test_responses_written_offline_are_kept_and_sent_later(visit: Visit, writing: Study) -> None:
    wanda = await visit()
    page = wanda.page
    await wanda.work(writing)
    await expect(page.get_by_text("Response 1 of 3")).to_be_visible()
    await page.context.set_offline(True)
    await page.get_by_label("Your response").fill("Written in a tunnel, on the way home.")
    await page.keyboard.press("Enter")
    await expect(page.locator("#connection")).to_contain_text("kept in this browser")
    await expect(page.get_by_text("Not sent yet")).to_be_visible()
    assert await wanda.flaws() == []

    await page.context.set_offline(False)

    await expect(page.get_by_text("Response 2 of 3")).to_be_visible()
    await expect(page.get_by_label("Your response")).to_be_focused()
    await expect(page.get_by_label("Your response")).to_have_value("")
    assert (await Response.objects.aget()).text == "Written in a tunnel, on the way home."


async def test_contexts_and_runs_are_usable_wide_and_narrow(
    visit: Visit, version: ContextSetVersion, rex: User
) -> None:
    bot = await Bot.objects.acreate(name="generic", title="GenericBot", adapter="generic")
    run = await sync_to_async(start_run)(version, bot, owner=rex, seed=1)
    visitor = await visit()
    page = visitor.page
    await visitor.sign_in(rex)

    for path in (
        "/contexts/", "/contexts/new/", f"/contexts/{version.context_set_id}/", version.get_absolute_url(),
        f"{version.get_absolute_url()}?text=zzz", "/responses/", "/responses/new/", "/responses/upload/",
        "/studies/new/", "/studies/new/?task=writing",
    ):  # fmt: skip
        await visitor.go(path)
        assert await visitor.flaws_at(320, 1280) == [], path

    await visitor.go(run.get_absolute_url())
    await expect(page.get_by_text("Waiting to start")).to_be_visible()
    await asyncio.to_thread(answer_and_close, run.pk)
    await expect(page.get_by_text("1,477 of 1,477")).to_be_visible()
    await expect(page.get_by_text("Complete")).to_be_visible()
    assert await visitor.flaws_at(320, 1280) == []
