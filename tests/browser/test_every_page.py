"""Every page for staff: a new one is searched for flaws without a test of its own."""

from typing import Any

import pytest
from asgiref.sync import sync_to_async
from playwright.async_api import Error

from tests.browser.conftest import Visit, Visitor
from tests.conftest import MakeStudy
from tests.project.test_access import ADMIN, OURS, OWNER, SIGNED_IN, address, things
from turnwise.accounts.models import User
from turnwise.studies.models import Study

__all__ = ["things"]  # the fixture

pytestmark = [pytest.mark.browser, pytest.mark.asyncio(loop_scope="session")]

# They lead elsewhere or are refused, as what they show does not exist yet: a file that was uploaded, a task
# with practice, a bundle, a report, conversations of a bot with itself.
ABSENT = {
    "contexts:preview",
    "judges:preview_import",
    "knowledge:preview",
    "responses:preview",
    "exports:bundle_file",
    "judging:take_out",
    "reports:chart_svg",
    "reports:chart_pdf",
    "conversation:preview_picture",
    "comparisons:compare_chart",
    "comparisons:plan_chart",
    "comparisons:sweep_chart",
    "comparisons:bot_chart",
    "self_play:stamp",
    "self_play:measures_csv",
    "self_play:json_lines",
}


# Of people who have a second factor, have just given their password, or come by a link in a mail:
# tests/accounts and tests/browser/test_second_factor.py.
NEEDING_A_FACTOR = ("account_", "mfa_", "socialaccount_", "usersessions_", "openid_connect_", "saml_")

PARTS = {"studies:outlook", "judging:foreseen"}
"""Of pages: asked for by what their forms say."""

# Whose first form wants something; sent empty, it comes back and says what.
REFUSING = {
    "accounts:people", "bots:new", "bots:edit", "contexts:new", "contexts:version", "knowledge:new",
    "questions:new", "questions:import", "questions:edit", "studies:edit",
    "crowd:limits", "crowd:panels", "responses:new", "responses:upload", "transcripts:imports",
    "transcripts:relay", "judging:queue", "judging:battery", "judging:gold", "judging_task:second_groups",
    "judging:packs",
    "quality:new", "quality:messages", "pairs:add",
}  # fmt: skip
UNFOLD = """() => {
    const folded = [...document.querySelectorAll("main details:not([open])")];
    for (const each of folded) each.open = true;
}"""
SEND_EMPTY = """() => {
    const wants = "input:not([type=hidden]), textarea, select";
    const form = [...document.querySelectorAll("main form[method=post]")].find(it => it.querySelector(wants));
    const kept = "[type=hidden], [type=checkbox], [type=radio], [type=file]";
    for (const field of form.querySelectorAll(`input:not(${kept}), textarea`)) field.value = "";
    form.noValidate = true;
    form.requestSubmit();
}"""
# What somebody sees who has nothing yet, and of a study in which nothing has happened.
EMPTY = (
    "/home/", "/studies/", "/bots/", "/contexts/", "/responses/", "/questions/", "/knowledge/",
    "/qualifications/", "/messages/", "/tokens/", "/compare/", "/compare/perplexity/",
    "/compare/human-likeness/", "/deleted/", "/plan/",
)  # fmt: skip
EMPTY_OF_STUDY = (
    "", "report/", "monitor/", "participants/", "payments/", "dialogues/", "imports/", "rehearsal/",
    "review/", "quality/", "privacy/", "bundle/", "sharing/", "opening/",
)  # fmt: skip


async def signed_in(visit: Visit, user: User) -> Visitor:
    visitor = await visit()
    await visitor.sign_in(user)
    return visitor


async def refused(visitor: Visitor) -> int:
    """Send the page's first form empty; how that is answered."""
    address = visitor.page.url
    try:
        async with visitor.page.expect_navigation() as sent:
            await visitor.page.evaluate(SEND_EMPTY)
        answer = await sent.value
    except Error as error:
        error.add_note(f"{address} was sent empty, and no page came.")
        raise
    assert answer
    return answer.status


async def test_pages_of_a_new_user_have_no_flaws(visit: Visit, mallory: User, make_study: MakeStudy) -> None:
    study = await sync_to_async(make_study)(title="Nothing yet")
    await Study.objects.filter(pk=study.pk).aupdate(owner=mallory)
    visitor, flaws = await signed_in(visit, mallory), {}
    for path in (*EMPTY, *(f"/studies/{study.pk}/{page}" for page in EMPTY_OF_STUDY)):
        answer = await visitor.page.goto(visitor.site + path)
        assert answer
        assert answer.status == 200, path
        if found := await visitor.flaws():
            flaws[path] = found

    assert flaws == {}


@pytest.mark.timeout(600)
async def test_no_page_for_staff_has_a_flaw(
    visit: Visit,
    things: dict[str, dict[str, Any]],
    rex: User,
) -> None:
    rex.is_superuser = True  # sees what is an owner's, and what is an admin's
    await rex.asave()
    visitor = await signed_in(visit, rex)

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
            await visitor.page.evaluate(UNFOLD)
            if found := await visitor.flaws():
                flaws[page.name] = found
            if page.name in REFUSING:
                assert await refused(visitor) == 422, page.name
                if found := await visitor.flaws():
                    flaws[f"{page.name}, refused"] = found
        elif answer.status not in (200, 405) and not page.name.startswith(NEEDING_A_FACTOR):
            absent.add(page.name)

    assert flaws == {}
    assert absent == ABSENT
    assert len(searched) > 90
    assert set(searched) >= REFUSING
