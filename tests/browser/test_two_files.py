"""From a file of prompts and a file of responses of four models to an open study, in nine actions."""

import csv
import io

import pytest
from asgiref.sync import sync_to_async
from playwright.async_api import FilePayload, Locator, expect

from tests.browser.conftest import Visit
from tests.browser.test_from_elsewhere import fits, rex, sign_in
from turnwise.accounts.models import User
from turnwise.judging.models import Item
from turnwise.studies.models import Study

__all__ = ["rex"]
pytestmark = [pytest.mark.browser, pytest.mark.asyncio(loop_scope="session")]
MODELS = ("model-a", "model-b", "model-c", "model-d")
PROMPTS = [f"Explain tides in {number} words" for number in range(1, 51)]


def table(name: str, *rows: tuple[str, ...]) -> FilePayload:
    text = io.StringIO()
    csv.writer(text).writerows(rows)
    return {"name": name, "mimeType": "text/csv", "buffer": text.getvalue().encode()}


async def test_fifty_prompts_and_four_models_are_an_open_study_in_nine_actions(
    visit: Visit, rex: User
) -> None:
    prompts = table("prompts.csv", ("prompt",), *((prompt,) for prompt in PROMPTS))
    answers = [(prompt, model, f"{model} on {prompt}") for prompt in PROMPTS for model in MODELS]
    responses = table("responses.csv", ("prompt", "model", "response"), *answers)
    researcher = await visit(viewport={"width": 1280, "height": 900})
    page, actions = researcher.page, 0

    async def act(on: Locator) -> None:
        """Follow a link, or press the button of a form."""
        nonlocal actions
        actions += 1
        await on.click()

    def button(name: str) -> Locator:
        return page.get_by_role("button", name=name)

    await sign_in(researcher, "/home/")
    await act(page.get_by_role("link", name="Contexts").first)
    await act(page.get_by_role("link", name="Import a set").first)
    await page.get_by_label("Title").fill("Tides")
    await page.get_by_label("Licence").fill("not published")
    await page.get_by_label("File").set_input_files(prompts)
    await act(button("Preview"))
    await act(button("Import"))
    await page.get_by_label("Responses that you have already").set_input_files(responses)
    assert await fits(researcher)
    await act(button("Preview the responses"))
    await act(button("Import 200 responses"))
    assert await fits(researcher)
    await act(page.get_by_role("link", name="Judge these responses"))
    await expect(page.get_by_text("model-a, model-b, model-c, model-d")).to_be_visible()
    await page.get_by_label("Title").fill("Tides")
    await page.locator("[name=consent_text]").fill("You judge what chatbots wrote.")
    assert await fits(researcher)
    await act(button("Save"))
    await act(button("Open the study"))

    await expect(page.get_by_role("heading", name="Tides Open")).to_be_visible()
    study = await Study.objects.aget()
    assert (study.state, study.protocol) == (Study.State.OPEN, "prompts-by-models")
    assert await sync_to_async(Item.objects.filter(study=study).count)() == 200
    assert actions == 9
