"""Bots to choose where there are many: who is listed, and how any other is found or named."""

from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from tests.planted import SignIn
from turnwise.accounts.models import User
from turnwise.bots.models import Bot
from turnwise.bots.search import MOST_FOUND, MOST_OFFERED, offer_bots
from turnwise.bots.services import register_bot
from turnwise.responses.views import RunForm
from turnwise.studies.models import Study
from turnwise.tasks.conversation.talk_task import ConversationPage
from turnwise.tasks.self_play.task import SelfPlayPlanForm

pytestmark = pytest.mark.django_db
REPLIES = {"replies": ["Well."]}
MANY = MOST_OFFERED + 5


@pytest.fixture
def many(db: None) -> list[Bot]:
    """Everybody's, the oldest first."""
    return [
        register_bot(name=f"bot-{n:02}", title=f"Bot {n:02}", adapter="scripted", configuration=REPLIES)
        for n in range(MANY)
    ]


def names(bots: Any) -> list[str]:
    return [bot.name for bot in bots]


def test_few_bots_are_all_listed_by_name(many: list[Bot], rex: User) -> None:
    few = Bot.objects.filter(pk__in=[bot.pk for bot in many[:MOST_OFFERED]])

    offered = offer_bots(few, rex)

    assert (names(offered.bots), offered.unlisted) == (names(many[:MOST_OFFERED]), 0)


def test_of_many_those_of_the_newest_studies_come_first_then_ones_own_then_the_newest(
    many: list[Bot], rex: User, ada: User
) -> None:
    for owner, bots in ((ada, many[:3]), (rex, many[3:4]), (rex, many[5:6])):
        study = Study.objects.create(title="S", owner=owner)
        for bot in bots:
            study.study_bots.create(bot=bot, target=1)
    Bot.objects.filter(pk=many[7].pk).update(owner=rex)

    offered = offer_bots(Bot.objects.all(), rex)

    newest = names(many[:-MOST_OFFERED:-1])
    assert names(offered.bots) == ["bot-05", "bot-03", "bot-07", *newest][:MOST_OFFERED]
    assert offered.unlisted == MANY - MOST_OFFERED


def test_a_search_finds_what_one_may_choose_by_title_or_name(
    many: list[Bot], rex: User, ada: User, sign_in: SignIn
) -> None:
    register_bot(name="bot-secret", title="Secret", adapter="scripted", configuration=REPLIES, owner=ada)
    Bot.objects.filter(pk=many[4].pk).update(active=False)
    client = sign_in(rex)

    one = client.get("/bots/found/?find=OT+03").json()
    all_of_them = client.get("/bots/found/?find=bot-").json()

    assert one == {
        "bots": [{"pk": many[3].pk, "name": "bot-03", "title": "Bot 03", "formatted": False}],
        "unlisted": 0,
    }
    assert (len(all_of_them["bots"]), all_of_them["unlisted"]) == (MOST_FOUND, MANY - 1 - MOST_FOUND)
    assert client.get("/bots/found/?find=secret").json() == {"bots": [], "unlisted": 0}


def study_form() -> dict[str, str]:
    return {"bots-TOTAL_FORMS": "0", "bots-INITIAL_FORMS": "0"}


def test_a_study_takes_a_bot_that_its_form_does_not_list_as_a_row_or_by_name(
    many: list[Bot], rex: User
) -> None:
    row = {
        "bots-TOTAL_FORMS": "1",
        "bots-0-bot": str(many[0].pk),
        "bots-0-chosen": "on",
        "bots-0-target": "7",
    }

    sent = study_form() | row | {"bots-other": "bot-01, bot-02"}

    page = ConversationPage(rex, Study(task="conversation"), sent)

    assert page.bots.is_valid()
    assert page.bots.targets() == {many[0]: 7, many[1]: 100, many[2]: 100}


def test_a_name_that_no_bot_has_is_said_and_kept(many: list[Bot], rex: User, sign_in: SignIn) -> None:
    answer = sign_in(rex).post("/studies/new/?task=conversation", study_form() | {"bots-other": "bot-1"})

    text = answer.content.decode()
    assert answer.status_code == 422
    assert "There is no bot “bot-1” that you can choose." in text
    assert 'value="bot-1"' in text


@pytest.mark.parametrize("written", ["pk", "name"])
def test_a_list_of_one_takes_a_bot_that_it_does_not_list(many: list[Bot], rex: User, written: str) -> None:
    wanted = many[0]
    sent = {"self_play-first": str(wanted.pk)} if written == "pk" else {
        "self_play-first": str(many[-1].pk), "self_play-first-other": wanted.name
    }  # fmt: skip

    form = SelfPlayPlanForm(rex, Study(task="self_play"), sent | {"self_play-second": str(many[-1].pk)})
    form.full_clean()

    assert (form.cleaned_data["first"], form.cleaned_data["second"]) == (wanted, many[-1])
    if written == "pk":
        assert f'<option value="{wanted.pk}" selected>' in str(form["first"])


def test_nobody_names_a_bot_that_they_may_not_see(many: list[Bot], rex: User) -> None:
    Bot.objects.filter(pk=many[0].pk).update(open_to_all=False)

    form = RunForm(rex, {"bot": "", "bot-other": "bot-00"})

    assert "There is no bot “bot-00” that you can choose." in form.errors["bot"][0]


def test_a_bot_inside_another_may_be_one_that_is_not_listed(
    many: list[Bot], rex: User, sign_in: SignIn
) -> None:
    form = {"name": "team", "title": "Team", "setting-bots-other": "bot-00, bot-01"}

    answer = sign_in(rex).post("/bots/new/vote/", form)

    assert answer.status_code == 302
    inside = Bot.objects.get(name="team").configuration["bots"]
    assert inside == [{"registered": "bot-00", "revision": 1}, {"registered": "bot-01", "revision": 1}]


def test_bots_are_asked_side_by_side_by_their_names(many: list[Bot], rex: User, sign_in: SignIn) -> None:
    page = sign_in(rex).get("/bots/side-by-side/?bot=bot-00&bot-other=bot-01").content.decode()

    assert 'id="bot-bot-00"' in page
    assert 'id="bot-bot-01"' in page


def test_a_form_asks_no_more_often_for_many_bots(many: list[Bot], rex: User, sign_in: SignIn) -> None:
    client = sign_in(rex)
    sent = study_form() | {f"bots-{n}-bot": str(bot.pk) for n, bot in enumerate(many)}
    sent |= {f"bots-{n}-target": "5" for n in range(MANY)} | {"bots-TOTAL_FORMS": str(MANY)}

    with CaptureQueriesContext(connection) as made:
        answer = client.post("/studies/new/", sent)

    assert answer.status_code == 422
    assert len(made) <= 15
