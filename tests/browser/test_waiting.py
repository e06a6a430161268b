"""A long request says what it waits for, and is sent once."""

import pytest
from asgiref.sync import sync_to_async
from playwright.async_api import expect

from tests.browser.conftest import Visit
from tests.conftest import MakeStudy
from turnwise.accounts.models import User

pytestmark = [pytest.mark.browser, pytest.mark.asyncio(loop_scope="session")]

# Playwright waits while a page is being left, so the page itself notes what it shows meanwhile.
NOTE_AND_CLICK_AGAIN = """() => {
    const button = document.querySelector("[data-waiting]");
    button.addEventListener("click", () => {
        setTimeout(() => button.click(), 2000);
        const note = () => document.querySelector(".note[role=status]").innerText;
        setTimeout(() => { sessionStorage.noted = note(); }, 4000);
    }, { once: true });
}"""


async def test_greeting_slow_chatbots_says_so_and_a_second_click_does_nothing(
    visit: Visit, rex: User, make_study: MakeStudy
) -> None:
    study = await sync_to_async(make_study)({"slow": 4}, script={"replies": ["Hi!"], "seconds": 6})
    visitor = await visit(viewport={"width": 390, "height": 800})
    await visitor.sign_in(rex)
    page = visitor.page
    await visitor.go(f"/studies/{study.pk}/opening/")
    sent: list[str] = []
    page.on("request", lambda request: sent.append(request.url) if request.method == "POST" else None)
    greet = page.get_by_role("button", name="Greet the bots")

    await page.evaluate(NOTE_AND_CLICK_AGAIN)
    await greet.click()

    await expect(page.get_by_text("Answered in").first).to_be_visible()
    assert len(sent) == 1
    assert await page.evaluate("sessionStorage.noted") == (
        "The chatbots are being greeted, to see whether they answer. This can take 20 seconds."
    )


async def test_a_quick_request_says_nothing(visit: Visit, rex: User, make_study: MakeStudy) -> None:
    study = await sync_to_async(make_study)({"ann": 4})
    visitor = await visit(viewport={"width": 390, "height": 800})
    await visitor.sign_in(rex)
    await visitor.go(f"/studies/{study.pk}/opening/")

    await visitor.page.get_by_role("button", name="Greet the bots").click()

    await expect(visitor.page.get_by_text("Answered in").first).to_be_visible()
    await expect(visitor.page.get_by_text("The chatbots are being greeted")).to_be_hidden()
