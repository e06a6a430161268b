"""Pages of a study with between-subject factors: the chat of a participant, and the pages of its team."""

import pytest
from asgiref.sync import sync_to_async
from playwright.async_api import expect

from tests.browser.conftest import Visit
from tests.conftest import MakeStudy, start_dialogue
from tests.planted import bot_of, computed
from tests.studies.test_conditions import label_all
from turnwise.accounts.models import User
from turnwise.studies.conditions.factors import parse
from turnwise.studies.models import Study

pytestmark = [pytest.mark.browser, pytest.mark.asyncio(loop_scope="session")]

FACTORS = parse(
    "# tone: formal\nWrite as you would to **an office**.\n# tone: casual\nWrite as you would to a friend.\n"
    "# help: with_guide\nbots: ann, bob\nAsk for a guide.\n# help: without\n-"
).factors

UNFOLD = """() => {
    for (let each = document.querySelector("#conditions"); each; each = each.parentElement) each.open = true;
}"""


def labelled(study: Study) -> None:
    """Twenty-four conversations with labels, in which the formal ones make more sense."""
    for number in range(24):
        dialogue = start_dialogue(study)
        assert dialogue.participation
        formal = dialogue.participation.condition["tone"] == "formal"
        label_all(study, dialogue, sensible=[True, formal or number % 3 == 0, number % 5 > 1])
        assert bot_of(dialogue)
    computed(study)


async def test_the_pages_of_a_study_with_conditions_fit_and_are_accessible(
    visit: Visit, make_study: MakeStudy, rex: User
) -> None:
    study = await sync_to_async(make_study)({"ann": 20, "bob": 20}, factors=FACTORS, min_turns=2, max_turns=8)
    wanda = await visit()
    await wanda.start(study)
    beside = wanda.page.locator("#situation")
    await expect(beside).to_contain_text("Write as you would to")
    await expect(beside).not_to_contain_text("tone")
    assert await wanda.flaws_at(1280, 320) == []

    await sync_to_async(labelled)(study)
    team = await visit()
    await team.sign_in(rex)
    pages = ("edit/", "report/", "participants/", "dialogues/", "preview/?page=instructions&condition=2")
    for page in pages:
        await team.go(f"/studies/{study.pk}/{page}")
        if page == "edit/":
            await team.page.evaluate(UNFOLD)
        assert await team.flaws_at(1280, 320) == [], page
