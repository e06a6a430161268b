"""A bot's page of what it said with the votes on it."""

from collections.abc import Callable
from uuid import UUID

import pytest
from django.test import Client

from accounts.models import User
from bots.models import Bot
from bots.services import register_bot, version_of
from labels import judging
from labels.models import Item
from responses.models import Response
from studies.models import Study
from tests.conftest import MakeQueue
from tests.labels.conftest import begin

pytestmark = pytest.mark.django_db(transaction=True)

SignIn = Callable[[User], Client]
GOOD, BAD = {"sensible": True, "specific": True}, {"sensible": False}


@pytest.fixture
def bot(db: None) -> Bot:
    return register_bot(name="alpha", title="Alpha", adapter="generic", configuration={})


@pytest.fixture
def voted(make_queue: MakeQueue, bot: Bot) -> Study:
    """Three responses of the bot; two raters disagree about the first, agree about the second."""
    study = make_queue(3, raters=2, batch=2, title="First look")
    Response.objects.update(bot_version=version_of(bot, {"adapter": "generic"}))
    said = {
        str(item.key): item.response.context.key for item in Item.objects.select_related("response__context")
    }
    plans = {"c1": [GOOD, BAD], "c2": [GOOD, GOOD], "c3": []}
    for rater in range(2):
        desk = begin(study)
        for _ in range(3):
            for item in judging.state(desk)["items"]:
                answers = plans[said[item["key"]]]
                if len(answers) > rater:
                    judging.judge(desk, key=UUID(item["key"]), answers=answers[rater])
    return study


def shown(client: Client, **query: str) -> str:
    response = client.get("/bots/alpha/judged/", query)
    assert response.status_code == 200
    return response.content.decode()
