import json
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse

from tests.conftest import MakeContexts, MakeQueue, MakeRun, MakeStudy, start_dialogue
from tests.planted import SignIn
from turnwise.accounts import credentials
from turnwise.accounts.models import User
from turnwise.judging.items import subjects
from turnwise.judging.models import Slot
from turnwise.studies.models import Study

pytestmark = pytest.mark.django_db


def call(who: User, method: str, address: str, body: Any = None) -> Any:
    """What the API answers this person."""
    sent = {} if body is None else {"data": json.dumps(body), "content_type": "application/json"}
    bearer = f"Bearer {credentials.create_token(who, 'test')}"
    return getattr(Client(), method)(address, HTTP_AUTHORIZATION=bearer, **sent)


def page_of(study: Study, reader: User) -> str:
    client = Client()
    client.force_login(reader)
    return " ".join(client.get(reverse("judging:queue", args=[study.pk])).content.decode().split())


def test_the_queue_page_shows_the_cost_before_any_work(make_queue: MakeQueue, rex: User) -> None:
    study = make_queue(7, raters=3, batch=5, pay_amount=4)

    said = "7 items \u00d7 3 raters = 21 judgments, about 5 batches; at 4.00 USD each that is 20.00 USD."
    assert said in page_of(study, rex)


def test_a_small_queue_has_one_batch_for_each_rater(make_queue: MakeQueue, rex: User) -> None:
    page = page_of(make_queue(2, raters=3, batch=50), rex)

    assert "2 items \u00d7 3 raters = 6 judgments, about 3 batches." in page


def test_only_studies_with_conversations_are_offered_and_a_link_leads_to_responses(
    make_queue: MakeQueue, make_study: MakeStudy, rex: User
) -> None:
    queue = make_queue(1)
    make_study({"ann": 2}, title="Silent so far")
    start_dialogue(make_study({"bob": 2}, title="Under way"))

    page = page_of(queue, rex)

    assert "Under way</option>" in page
    assert "Silent so far" not in page
    for address in (reverse("responses:new"), reverse("responses:upload")):
        assert f'<a href="{address}">' in page


def test_a_system_is_removed_after_a_preview_of_the_changes(
    make_queue: MakeQueue, sign_in: SignIn, rex: User
) -> None:
    study = make_queue(7, raters=3, batch=5, pay_amount=4)
    client = sign_in(rex)
    address = reverse("judging:take_out", args=[study.pk])
    assert f"{address}?system=Alpha" in page_of(study, rex)

    asked = " ".join(client.get(address, {"system": "Alpha"}).content.decode().split())
    # 7 items by 3 raters are 21 judgments, which are 5 batches of 5, for 4 USD each.
    assert "21 judgments are no longer wanted: about 5 batches fewer, which saves 20.00 USD." in asked
    assert "Then nothing is left to judge" in asked

    said = client.post(address, {"system": "Alpha"}, follow=True).text
    assert "Alpha is out of the queue: no other worker will judge its 7 items. Their judgments stay." in said
    assert "Put back" in said
    back = client.post(reverse("judging:put_back", args=[study.pk]), {"system": "Alpha"}, follow=True).text
    assert "Alpha is in the queue again, with 7 items." in back
    assert Slot.objects.filter(study=study).count() == 21


def test_a_refused_removal_names_the_reason(
    make_queue: MakeQueue, sign_in: SignIn, rex: User, mallory: User
) -> None:
    study = make_queue(1)
    address = reverse("judging:take_out", args=[study.pk])

    for method in (sign_in(rex).get, sign_in(rex).post):
        assert "The queue has no items of “Nobody”." in method(
            address, {"system": "Nobody"}, follow=True
        ).text.replace("&quot;", '"')
    assert sign_in(mallory).post(address, {"system": "Alpha"}).status_code == 404


def test_the_api_takes_systems_out_and_puts_them_back(
    make_queue: MakeQueue, make_contexts: MakeContexts, make_run: MakeRun, rex: User, mallory: User
) -> None:
    study = make_queue(3, raters=2)
    subjects.add_responses(study, make_run(make_contexts(2), "Beta"))
    address = f"/api/studies/{study.code}/queue"

    assert call(rex, "get", address).json() == [
        {"system": "Alpha", "items": 3, "removed": 0, "judged": 0, "wanted": 6},
        {"system": "Beta", "items": 2, "removed": 0, "judged": 0, "wanted": 4},
    ]
    for _ in range(2):  # safe to repeat
        told = call(rex, "put", f"{address}/removed", ["Alpha"]).json()
        assert [(each["items"], each["removed"], each["wanted"]) for each in told] == [(0, 3, 0), (2, 0, 4)]
    told = call(rex, "put", f"{address}/removed", ["Beta"]).json()
    assert [(each["items"], each["removed"]) for each in told] == [(3, 0), (0, 2)]
    wrong = call(rex, "put", f"{address}/removed", ["Gamma"])
    assert (wrong.status_code, "no items of “Gamma”" in wrong.json()["detail"]) == (422, True)
    assert call(mallory, "put", f"{address}/removed", []).status_code == 404
