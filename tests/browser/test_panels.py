"""Each panel's way in a real browser: from its link to where its own page takes over again."""

import pytest
from asgiref.sync import sync_to_async
from playwright.async_api import Route, expect

from tests.browser.conftest import Visit, Visitor
from tests.conftest import MakeStudy
from turnwise.crowd.models import Participation, StudyPanel
from turnwise.crowd.panels.address import signature
from turnwise.crowd.panels.study_panels import save_panels
from turnwise.studies.models import Study

pytestmark = [pytest.mark.browser, pytest.mark.asyncio(loop_scope="session")]

SECRET = "a-secret-of-the-panel"
PANELS = (
    StudyPanel(panel="prolific", codes={"complete": "D0NE", "withdrawn": "LEFT"}),
    StudyPanel(panel="mturk"),
    StudyPanel(
        panel="url", parameter="pid", secret=SECRET, return_url="https://panel.example/end?how={outcome}"
    ),
)


@pytest.fixture
def study(make_study: MakeStudy, transactional_db: None) -> Study:
    study = make_study(min_turns=2, max_turns=2, contact="lab@example.org")
    save_panels(study, PANELS, closed_to=())
    return study


async def come(visit: Visit, study: Study, query: str, elsewhere: str) -> Visitor:
    """Somebody at the panel's link, in whose browser the panel's own server answers."""
    visitor = await visit(elsewhere=elsewhere)

    async def answer(route: Route) -> None:
        sent = route.request.post_data or ""
        await route.fulfill(status=200, content_type="text/html", body=f"<title>There</title><p>{sent}</p>")

    await visitor.page.route(f"{elsewhere}/**", answer)
    await visitor.go(f"{study.get_entry_url()}?{query}")
    return visitor


async def begin(visitor: Visitor) -> None:
    assert await visitor.flaws() == []
    await visitor.page.get_by_label("I agree to take part").check()
    await visitor.page.get_by_role("button", name="Continue").click()
    await expect(visitor.page.get_by_role("textbox", name="Resume code")).to_be_visible()
    await visitor.page.get_by_role("button", name="Start the conversation").click()
    await expect(visitor.bubbles).to_have_count(1)


async def test_every_panel_gets_its_people_back_with_their_outcome(visit: Visit, study: Study) -> None:
    prolific = await come(visit, study, "PROLIFIC_PID=5f2c&SESSION_ID=s1", "https://app.prolific.com")
    await begin(prolific)
    await prolific.exchange("Hello", "No")
    await prolific.finish()
    assert await prolific.flaws() == []
    await prolific.page.get_by_role("link", name="Return to Prolific").click()
    await prolific.page.wait_for_url("https://app.prolific.com/submissions/complete?cc=D0NE")

    host = "https://workersandbox.mturk.com"
    ids = f"workerId=A1&assignmentId=3XYZ&hitId=H7&turkSubmitTo={host}"
    turk = await come(visit, study, ids, host)
    await begin(turk)
    await turk.exchange("Hello", "No")
    await turk.finish()
    await turk.page.get_by_role("button", name="Return to Mechanical Turk").click()
    await turk.page.wait_for_url(f"{host}/mturk/externalSubmit")
    code = (await Participation.objects.aget(worker__panel="mturk")).completion_code
    await expect(turk.page.locator("p")).to_have_text(
        f"assignmentId=3XYZ&outcome=complete&completionCode={code}"
    )

    signed = await sync_to_async(signature)(SECRET, study.code, "w-1")
    query = f"pid=w-1&signature={signed}"
    other = await come(visit, study, query, "https://panel.example")
    await begin(other)
    await other.exchange("Hello", "No")

    elsewhere = await come(visit, study, query, "https://panel.example")
    await expect(elsewhere.page.get_by_role("heading", name="Welcome back")).to_be_visible()
    assert await elsewhere.flaws() == []
    await expect(elsewhere.page.get_by_role("textbox", name="Resume code")).to_be_focused()
    await elsewhere.page.keyboard.type(
        (await Participation.objects.aget(worker__panel="url:pid")).resume_code
    )
    await elsewhere.page.keyboard.press("Enter")
    await expect(elsewhere.bubbles).to_have_text(["Hi!", "Hello", "Go on."])

    await elsewhere.go(f"/s/{study.code}/leave/")
    assert await elsewhere.flaws() == []
    await elsewhere.page.get_by_role("button", name="Yes, leave").click()
    await elsewhere.page.get_by_role("link", name="Return to panel.example").click()
    await elsewhere.page.wait_for_url("https://panel.example/end?how=withdrawn")
