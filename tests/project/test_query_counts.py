"""However much there is, a page asks the database a bounded number of times."""

import re
from collections import Counter
from collections.abc import Callable
from typing import Any
from urllib.parse import urlsplit

import pytest
from django.core.cache import cache
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import resolve
from django.utils import timezone

from benchmarks.pages import MOST_QUERIES
from benchmarks.staff_pages import pages
from tests.conftest import MakeQueue, MakeStudy, start_dialogue
from tests.desks import begin, judge
from tests.planted import Answers, SignIn, computed, talked
from tests.project.test_access import ADMIN, OURS, OWNER, SIGNED_IN, address, things
from turnwise.accounts.models import User
from turnwise.bots.models import Bot
from turnwise.judging.models import Item
from turnwise.reports.models import Report
from turnwise.studies.models import Study

__all__ = ["things"]  # the fixture

ROWS = 4
MIXED: list[Answers] = [(True, True), (True, False)]


def queries_of(client: Client, address: str) -> list[str]:
    with CaptureQueriesContext(connection) as made:
        answer = client.get(address)
        answer.close()
    assert answer.status_code == 200, address
    return [query["sql"] for query in made]


def answering(*, sensible: bool) -> Callable[[Item], dict[str, bool]]:
    return lambda _item: {"sensible": sensible, "specific": False}


def populate(study: Study, queue: Study) -> None:
    """People who talk, one who is at it, and two readers of all that the bots said."""
    for n in range(ROWS):
        talked(study, [MIXED[n % 2]] * 2)
    start_dialogue(study)
    Study.objects.filter(pk=study.pk).update(tags=["tag-3"], pay_amount=2)
    for sensible in (True, False):
        judge(queue, answering(sensible=sensible))
    begin(queue)
    computed(queue)


def repeated(made: list[str]) -> int:
    """How often the commonest statement was sent, whatever its numbers."""
    return max(Counter(re.sub(r"\d+", "0", sql) for sql in made).values())


@pytest.mark.timeout(300)  # sixty pages
@pytest.mark.django_db(transaction=True)
def test_no_page_of_staff_asks_often_and_none_once_for_each_row(
    make_study: MakeStudy, make_queue: MakeQueue, rex: User, ada: User, sign_in: SignIn
) -> None:
    studies = [
        make_study({"ann": 9, "bob": 9}, title=f"Study {n}", min_turns=2, max_turns=8) for n in range(ROWS)
    ]
    queue = make_queue(ROWS, raters=4)
    populate(studies[0], queue)
    Bot.objects.update(owner=rex)  # who may change them
    result = computed(studies[0]).result  # the others have the same one
    for study in studies[1:]:
        talked(study, MIXED)
        Report.objects.create(
            study=study, state=Report.State.READY, results_version=9, result=result,
            requested_at=timezone.now(), finished_at=timezone.now(),
        )  # fmt: skip
    clients = {False: sign_in(rex), True: sign_in(ada)}

    often, each = {}, {}
    for name, path in pages(studies[0].pk, queue.pk, [study.pk for study in studies[1:]], "ann"):
        if name.startswith("export"):
            continue
        cache.clear()  # the limits on attempts
        client = clients[path.startswith(("/people/", "/system/"))]
        made = queries_of(client, path)
        if len(made) > MOST_QUERIES:  # with what is learnt once, and kept
            made = queries_of(client, path)
        often[name], each[name] = len(made), repeated(made)

    assert {name: n for name, n in often.items() if n > MOST_QUERIES} == {}
    assert {name: n for name, n in each.items() if n >= ROWS} == {}


PARTS = {"studies:outlook", "judging:foreseen", "questions:preview"}
"""Of pages: asked for by what their forms say."""
SECOND_NAMES = {"account_change_password"}
"""Names by which allauth knows pages that have another name here."""
SECRET_LINKS = {"groups:join"}
"""By a link of which only a hash is stored."""


@pytest.mark.timeout(300)
@pytest.mark.django_db(transaction=True)
def test_every_page_of_staff_is_measured(
    things: dict[str, dict[str, Any]], make_study: MakeStudy, rex: User, ada: User, sign_in: SignIn
) -> None:
    """By `benchmarks/pages.py`; and with little in them, too, none asks often."""
    large = make_study({"talker": 9}, title="Of talk", min_turns=2, max_turns=8)
    talked(large, MIXED)
    clients = {ADMIN: sign_in(ada)}
    listed = pages(large.pk, things["judging"]["pk"], [large.pk], things[""]["name"])
    names = {resolve(urlsplit(each).path).view_name for _name, each in listed}

    shown, often = set(), {}
    for page in [page for page in OURS if page.rule in (SIGNED_IN, OWNER, ADMIN)]:
        cache.clear()  # the limits on attempts
        client, path = clients.setdefault(str(page.rule), sign_in(rex)), address(page, things)
        answer = client.get(path)
        if answer.status_code == 200 and answer.headers["Content-Type"].startswith("text/html"):
            shown.add(page.name)
            if (made := len(queries_of(client, path))) > MOST_QUERIES:
                often[page.name] = made
        answer.close()

    assert len(shown) > 90
    assert shown - names - PARTS - SECOND_NAMES - SECRET_LINKS == set()
    assert often == {}
