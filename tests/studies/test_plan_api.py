"""Stopping rule and plan of a study over the API: declared, read, fixed at the opening, then refused."""

import hashlib
from typing import Any

import pytest
from django.test import Client

from evaluation.report.publishing.preregistration import as_text
from tests.conftest import MakeStudy
from turnwise.accounts import credentials
from turnwise.accounts.models import User
from turnwise.studies.models import Preregistration, StoppingRule, Study
from turnwise.studies.services import set_state

pytestmark = pytest.mark.django_db(transaction=True)

RULE: dict[str, Any] = {
    "compare": ["ann", "bob"], "score": "ssa", "difference": 10.0, "equivalence": True, "planned": 16,
    "largest": 20, "first_look": 10,
}  # fmt: skip


@pytest.fixture
def draft(make_study: MakeStudy) -> Study:
    study = make_study({"ann": 20, "bob": 20, "eve": 20}, min_turns=2, max_turns=8)
    Study.objects.filter(pk=study.pk).update(state=Study.State.DRAFT)
    Preregistration.objects.filter(study=study).delete()
    study.refresh_from_db()
    return study


def caller(user: User) -> Client:
    return Client(headers={"Authorization": f"Bearer {credentials.create_token(user, 'test')}"})


def put(client: Client, study: Study, **changes: Any) -> Any:
    address = f"/api/studies/{study.code}/stopping-rule"
    return client.put(address, RULE | changes, content_type="application/json")


def test_a_rule_is_declared_read_replaced_and_removed(draft: Study) -> None:
    client, address = caller(draft.owner), f"/api/studies/{draft.code}/stopping-rule"
    assert client.get(address).json() == {"rule": None}

    declared = put(client, draft)

    assert declared.status_code == 200
    rule = client.get(address).json()["rule"]
    assert {name: rule[name] for name in RULE} == RULE
    assert (rule["compared"], rule["frozen_at"], rule["stopped"]) == (["ann", "bob"], None, None)
    assert put(client, draft, compare=None, planned=17).json()["rule"]["compared"] == ["ann", "bob", "eve"]
    assert StoppingRule.objects.get(study=draft).planned == 17
    assert client.delete(address).json() == {"rule": None}
    assert client.delete(address).status_code == 200
    assert not StoppingRule.objects.filter(study=draft).exists()


@pytest.mark.parametrize(
    ("changes", "field", "says"),
    [
        ({"compare": ["ann", "zoe"]}, "compare", "“zoe” is no bot of this study. There are: ann, bob, eve."),
        ({"compare": ["ann", "ann"]}, "compare", "Choose two bots of the study"),
        ({"score": "beauty"}, "score", "is no score of the study"),
        ({"difference": 0}, "difference", "Give a number above 0"),
        ({"planned": 3}, "planned", "Give a number from 10"),
        ({"largest": 60}, "largest", "Give a number from 16 to 24"),
        ({"first_look": 21}, "first_look", "Give a number from 1"),
    ],
)
def test_what_is_wrong_is_said_at_its_field_and_changes_nothing(
    draft: Study, changes: dict[str, Any], field: str, says: str
) -> None:
    client = caller(draft.owner)
    put(client, draft)

    refused = put(client, draft, **changes)

    assert refused.status_code == 422
    text = refused.content.decode()
    assert field in text
    assert says in text
    assert StoppingRule.objects.get(study=draft).planned == 16


def test_rule_and_plan_are_fixed_at_the_opening_and_refused_in_words_after_it(
    draft: Study, mallory: User
) -> None:
    client, address = caller(draft.owner), f"/api/studies/{draft.code}"
    put(client, draft)
    before = client.get(f"{address}/plan").json()
    assert (before["frozen_at"], before["sha256"]) == (None, "")
    assert before["plan"]["stopping_rule"]["compared"] == ["ann", "bob"]

    set_state(draft.pk, Study.State.OPEN)

    after = client.get(f"{address}/plan").json()
    assert after["frozen_at"]
    assert after["sha256"] == hashlib.sha256(as_text(after["plan"]).encode()).hexdigest()
    assert client.get(f"{address}/stopping-rule").json()["rule"]["frozen_at"]
    for refused in (put(client, draft, planned=18), client.delete(f"{address}/stopping-rule")):
        assert refused.status_code == 409
        assert "its stopping rule is fixed" in refused.content.decode()
    assert StoppingRule.objects.get(study=draft).planned == 16
    stranger = caller(mallory)
    assert stranger.get(f"{address}/plan").status_code == 404
    assert put(stranger, draft).status_code == 404


def test_a_study_without_chatbots_takes_no_rule_and_one_from_before_has_no_plan(
    make_queue: Any, make_study: MakeStudy
) -> None:
    queue = make_queue(3)
    client = caller(queue.owner)
    refused = put(client, queue, compare=None)
    assert refused.status_code == 409
    assert "has been opened" in refused.content.decode()
    Study.objects.filter(pk=queue.pk).update(state=Study.State.DRAFT)
    refused = put(client, queue, compare=None)
    assert refused.status_code == 409
    assert "Only studies in which people talk with chatbots" in refused.content.decode()
    opened = make_study()
    Preregistration.objects.all().delete()
    assert client.get(f"/api/studies/{opened.code}/plan").json() == {
        "frozen_at": None, "sha256": "", "plan": None,
    }  # fmt: skip
