"""A bot's page of what it said with the votes on it."""

from collections.abc import Callable
from uuid import UUID

import pytest
from django.test import Client

from tests.conftest import MakeQueue
from tests.desks import begin
from tests.rewriting import rewriting
from turnwise.accounts.models import User
from turnwise.bots.models import Bot
from turnwise.bots.services import register_bot, version_of
from turnwise.judging.models import Item
from turnwise.judging.queue import services as judging
from turnwise.responses.models import Response
from turnwise.studies.models import Study

pytestmark = pytest.mark.django_db(transaction=True)

SignIn = Callable[[User], Client]
GOOD, BAD = {"sensible": True, "specific": True}, {"sensible": False}


@pytest.fixture
def bot(db: None) -> Bot:
    return register_bot(name="alpha", title="Alpha", adapter="generic", configuration={})


@pytest.fixture
def voted(make_queue: MakeQueue, bot: Bot) -> Study:
    """Three responses of the bot; two raters disagree about the first, agree about the second."""
    study = make_queue(3, raters=2, batch=3, title="First look")
    with rewriting():
        Response.objects.update(bot_version=version_of(bot, {"adapter": "generic"}))
    items = Item.objects.select_related("response__context")
    said = {item.key: item.response.context.key for item in items if item.response}
    plans = {"c1": [GOOD, BAD], "c2": [GOOD, GOOD], "c3": []}
    for rater in range(2):
        desk = begin(study)
        for item in judging.state(desk)["items"]:
            key = UUID(item["key"])
            if answers := plans[said[key]]:
                judging.judge(desk, key=key, answers=answers[rater])
    return study


def shown(client: Client, **query: str) -> str:
    response = client.get("/bots/alpha/judged/", query)
    assert response.status_code == 200
    return response.content.decode()


@pytest.mark.usefixtures("voted")
def test_responses_stand_with_their_context_and_votes(rex: User, sign_in: SignIn) -> None:
    page = shown(sign_in(rex))

    for words in ("Alpha answers c1.", "Question 1?", "Yes 1", "No 1", "Yes 2", "none yet", "First look"):
        assert words in page


@pytest.mark.usefixtures("voted")
@pytest.mark.parametrize(
    ("votes", "found"),
    [("", {1, 2, 3}), ("given", {1, 2}), ("split", {1}), ("none", {3}), ("no such kind", {1, 2, 3})],
)
def test_responses_are_narrowed_by_their_votes(
    rex: User, sign_in: SignIn, votes: str, found: set[int]
) -> None:
    page = shown(sign_in(rex), votes=votes)

    assert {n for n in (1, 2, 3) if f"Alpha answers c{n}." in page} == found


def test_only_the_chosen_study_is_shown(
    voted: Study, make_queue: MakeQueue, rex: User, sign_in: SignIn
) -> None:
    version = Response.objects.values_list("bot_version", flat=True)[0]
    other = make_queue(4, title="Second look")
    with rewriting():
        Response.objects.update(bot_version=version)

    client = sign_in(rex)

    assert "7 responses" in shown(client)
    assert "4 responses" in shown(client, study=str(other.pk))
    assert "3 responses" in shown(client, study=str(voted.pk))
    assert "7 responses" in shown(client, study="x", page="99999")


@pytest.mark.usefixtures("voted")
def test_studies_of_others_are_not_in_it(mallory: User, sign_in: SignIn) -> None:
    page = shown(sign_in(mallory))

    assert "Nothing to judge yet." in page
    assert "First look" not in page
    assert "Alpha answers" not in page


def test_the_page_of_the_bot_leads_there(bot: Bot, rex: User, sign_in: SignIn) -> None:
    assert 'href="/bots/alpha/judged/"' in sign_in(rex).get(f"/bots/{bot.name}/").content.decode()


def test_an_unknown_bot_has_no_page(rex: User, sign_in: SignIn) -> None:
    assert sign_in(rex).get("/bots/nobody/judged/").status_code == 404
    assert Client().get("/bots/nobody/judged/").url.startswith("/sign-in/")
