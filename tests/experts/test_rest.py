"""Experts and adjudication over the REST API."""

import pytest
from django.test import Client

from tests.asking import LIKENESS, SSA, asking
from tests.conftest import MakeContexts, MakeRun
from tests.experts.test_experts import (  # `draft` is a fixture
    NO,
    VAGUE,
    YES,
    draft,  # noqa: F401
    item_about,
    judged_twice,
    opened,
)
from tests.studies.test_rest import called, fields_of
from turnwise.accounts.models import User
from turnwise.crowd.models import Invitation
from turnwise.studies.models import Study
from turnwise.studies.sharing.services import share_with_person

pytestmark = pytest.mark.django_db


def test_experts_are_invited_changed_revoked_and_erased(draft: Study, rex: User) -> None:  # noqa: F811
    path = f"/studies/{draft.code}/experts"

    rater = called(rex, "POST", path, {"name": "Ines", "email": "ines@example.org", "share": 2})
    twice = called(rex, "POST", path, {"name": "Ines"})
    wrong = called(rex, "POST", path, {"name": "Otto", "email": "no address"})
    judge = called(rex, "POST", path, {"name": "Vera", "adjudicates": True}).json()
    one = f"{path}/{rater.json()['id']}"

    assert (rater.status_code, rater.json()["share"]) == (201, 2)
    assert f"/s/{draft.code}/?invitation=" in rater.json()["link"]
    assert (fields_of(twice), fields_of(wrong)) == ({"name"}, {"email"})
    assert Client().get(judge["link"].removeprefix("http://testserver")).status_code in (200, 302)
    assert called(rex, "PATCH", one, {"share": 3}).json()["share"] == 3
    assert called(rex, "PATCH", f"{path}/{judge['id']}", {"share": 3}).status_code == 409
    renewed = called(rex, "POST", f"{one}/link").json()["link"]
    assert renewed != rater.json()["link"]
    assert called(rex, "POST", f"{one}/revoke").json()["revoked"]
    assert called(rex, "DELETE", one).json()["email"] == ""
    listed = called(rex, "GET", path).json()
    assert [each["adjudicates"] for each in listed] == [False, True]
    assert "Ines" not in str(listed)
    assert "link" not in listed[0]
    assert not Invitation.objects.filter(name="Ines").exists()


def test_adjudication_is_declared_until_the_study_opens(
    draft: Study,  # noqa: F811
    rex: User,
    make_contexts: MakeContexts,
    make_run: MakeRun,
) -> None:
    path = f"/studies/{draft.code}/adjudication"

    none = called(rex, "PUT", path, {"steps": None}).json()
    two = called(rex, "PUT", path, {"steps": 2}).json()
    wrong = called(rex, "PUT", path, {"steps": 0})
    judged_twice(opened(draft), {}, {"c1": NO, "c2": YES})
    late = called(rex, "PUT", path, {"steps": 1})
    now = called(rex, "GET", path).json()

    assert (none["steps"], two["steps"]) == (None, 2)
    assert (fields_of(wrong), late.status_code) == ({"steps"}, 409)
    assert (now["steps"], now["judged"], now["disputed"], now["decided"]) == (2, 4, 1, 0)


def test_a_dispute_is_read_decided_undone_and_made_gold(
    draft: Study,  # noqa: F811
    rex: User,
    mallory: User,
) -> None:
    study = opened(draft)
    judged_twice(study, {}, {"c1": NO, "c3": VAGUE})
    path = f"/studies/{study.code}/adjudication"
    key = str(item_about(study, "c3").key)
    one = f"{path}/items/{key}"
    share_with_person(study, mallory.username, "reader")

    listed = called(rex, "GET", f"{path}/items").json()
    whole = called(rex, "GET", one).json()
    wanted = {"answers": {"specific": True}, "reason": "It names the train.", "after": 0}
    wrong = called(rex, "POST", f"{one}/decision", wanted | {"answers": {"specific": "perhaps"}})
    forbidden = called(mallory, "POST", f"{one}/decision", wanted)
    made = called(rex, "POST", f"{one}/decision", wanted)
    late = called(rex, "POST", f"{one}/decision", wanted)
    agreed = called(rex, "POST", f"{path}/items/{item_about(study, 'c2').key}/decision", wanted)
    gold = called(rex, "POST", f"{path}/gold", {"study": asking(rex, SSA).code})
    unfit = called(rex, "POST", f"{path}/gold", {"study": asking(rex, LIKENESS).code})
    undone = called(rex, "POST", f"{one}/undo", {"after": 1}).json()

    assert {each["item"] for each in listed["items"]} == {key, str(item_about(study, "c1").key)}
    assert (whole["open"], whole["complete"], whole["decision"]) == (["specific"], True, 0)
    assert sorted(each["specific"] for each in whole["judgments"]) == [False, True]
    assert whole["text"] == item_about(study, "c3").response.text  # type: ignore[union-attr]
    assert fields_of(wrong) == {"answers.specific"}
    assert forbidden.status_code == 404
    assert (made.status_code, made.json()["decided"], made.json()["history"][0]["by"]) == (201, True, "rex")
    assert (late.status_code, agreed.status_code) == (409, 409)
    assert gold.json() == {"gold": 1}
    assert fields_of(unfit) == {"study"}
    assert (undone["decided"], [each["answers"] for each in undone["history"]]) == (
        False, [None, {"specific": True}],
    )  # fmt: skip
