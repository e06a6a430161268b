"""The way of a study: which step is next, and what stands in its way."""

from datetime import timedelta

import pytest
from django.db.models.functions import Now

from accounts.models import User
from bots.models import Bot, BotCopy
from reports.journey import Standing, journey
from studies.models import Study
from studies.services import save_study
from tests.conftest import MakeStudy
from tests.planted import SignIn, computed, talked

pytestmark = pytest.mark.django_db(transaction=True)


def next_of(study: Study) -> str:
    found = [step.title for step in journey(study) if step.standing is Standing.NEXT]
    assert len(found) == 1
    return found[0]


def hosted(bot: Bot, state: str = "ready") -> None:
    later = Now() + timedelta(hours=1)  # so that it answers for as long as the test takes
    BotCopy.objects.update_or_create(
        bot=bot, channel="x", defaults={"host": "here", "state": state, "seen_at": later, "health": {}}
    )


def test_a_draft_without_bots_is_still_to_be_designed(rex: User) -> None:
    study = save_study(Study(title="New", languages=["en"]), owner=rex, consent_text="x", targets={})

    steps = journey(study)

    assert next_of(study) == "Design"
    assert "Choose at least one active bot" in steps[0].says
    assert [step.standing for step in steps[1:]] == [Standing.LATER] * 6


def test_an_open_study_whose_bots_do_not_answer_says_which(short: Study, bot: Bot) -> None:
    says = {step.title: step for step in journey(short)}["Recruit"]

    assert [step.standing for step in journey(short)][:4] == ["done", "passed", "passed", "next"]
    assert says.warning
    assert says.says == "No bot answers, so nobody new is admitted: Scripty (not hosted anywhere)."


def test_a_study_that_is_full_with_a_certain_answer_is_to_be_exported(make_study: MakeStudy) -> None:
    study = make_study({"ann": 8, "bob": 8}, min_turns=2, max_turns=4)
    for each in study.study_bots.select_related("bot"):
        hosted(each.bot)
    assert next_of(study) == "Recruit"
    for n in range(16):
        talked(study, [(n % 2 == 0 or n == 5, n % 2 == 0 and n != 4)])
    assert next_of(study) == "Results"

    computed(study)

    assert next_of(study) == "Export"


def test_the_page_names_the_next_step_and_leads_to_what_workers_read(
    short: Study, rex: User, mallory: User, sign_in: SignIn
) -> None:
    client = sign_in(rex)

    page = client.get(f"/studies/{short.pk}/").content.decode()
    preview = client.get(f"/studies/{short.pk}/preview/")

    assert 'aria-current="step"' in page
    assert f"/studies/{short.pk}/preview/" in page
    assert "Does it make sense?" in preview.content.decode()
    assert "You talk to a machine." in preview.content.decode()
    assert "<button" not in preview.content.decode().partition("<main")[2]
    assert sign_in(mallory).get(f"/studies/{short.pk}/preview/").status_code == 404
