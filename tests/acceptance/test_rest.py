"""The review of conversations over the REST API."""

from decimal import Decimal

import pytest

from tests.acceptance.test_review import good, study, talk  # noqa: F401  # a fixture
from tests.studies.test_rest import called, fields_of, in_pages
from turnwise.accounts.models import User
from turnwise.crowd.models import PayEntry
from turnwise.studies.models import Study
from turnwise.studies.sharing.services import share_with_person

pytestmark = pytest.mark.django_db


def test_conversations_are_measured_decided_on_and_taken_back(study: Study, rex: User) -> None:  # noqa: F811
    fine, short = good(study), talk(study, "Hi", "Hi you", "Oh damn bullshit", "Bye")
    path = f"/studies/{study.code}/review"

    rows = {row["dialogue"]: row for row in in_pages(rex, path, 1)}
    accepted = called(rex, "PUT", f"{path}/{fine.public_id}", {"state": "accepted"}).json()
    silent = called(rex, "PUT", f"{path}/{short.public_id}", {"state": "rejected"})
    rejected = called(rex, "PUT", f"{path}/{short.public_id}", {"state": "rejected", "reason": "Rude"}).json()
    twice = called(rex, "PUT", f"{path}/{short.public_id}", {"state": "accepted"})

    assert rows[str(fine.public_id)]["broken"] == []
    assert set(rows[str(short.public_id)]["broken"]) == {"words", "profane"}
    assert rows[str(short.public_id)]["measures"]["words"] == pytest.approx((1 + 2 + 3 + 1) / 4)
    assert (accepted["state"], accepted["by"]) == ("accepted", "rex")
    assert (silent.status_code, twice.status_code) == (409, 409)
    assert (rejected["state"], rejected["reason"]) == ("rejected", "Rude")
    assert [row["dialogue"] for row in in_pages(rex, path, 5, state="rejected")] == [str(short.public_id)]
    back = called(rex, "PUT", f"{path}/{short.public_id}", {"state": "pending"}).json()
    assert (back["state"], back["reason"]) == ("pending", "")


def test_only_waiting_conversations_within_all_limits_are_accepted_together(
    study: Study,  # noqa: F811
    rex: User,
    mallory: User,
) -> None:
    fine, rejected, short = good(study), good(study), talk(study, "Hi", "Hi you", "Oh damn bullshit", "Bye")
    path = f"/studies/{study.code}/review"
    called(rex, "PUT", f"{path}/{rejected.public_id}", {"state": "rejected", "reason": "Rude"})
    sent = {"dialogues": [str(each.public_id) for each in (fine, rejected, short)]}

    done, again = (called(rex, "POST", f"{path}/accept", sent).json() for _ in range(2))

    assert (done, again) == ({"accepted": 1}, {"accepted": 0})
    states = {row["dialogue"]: row["state"] for row in in_pages(rex, path, 5)}
    assert states == {
        str(fine.public_id): "accepted",
        str(rejected.public_id): "rejected",
        str(short.public_id): "pending",
    }
    assert called(mallory, "POST", f"{path}/accept", sent).status_code == 404


def test_limits_are_changed_as_shares(study: Study, rex: User) -> None:  # noqa: F811
    path = f"/studies/{study.code}/review/limits"

    changed = called(rex, "PATCH", path, {"words": 3, "sourced": 0.25, "profane": None}).json()
    too_much = called(rex, "PATCH", path, {"sourced": 55})
    unknown = called(rex, "PATCH", path, {"colour": 1})

    assert (changed["words"], changed["sourced"], changed["profane"]) == (3, 0.25, None)
    assert (fields_of(too_much), fields_of(unknown)) == ({"sourced"}, {"colour"})
    assert called(rex, "GET", path).json() == changed


def test_a_bonus_is_for_accepted_conversations_and_needs_payments(
    study: Study,  # noqa: F811
    rex: User,
    mallory: User,
) -> None:
    dialogue = good(study)
    share_with_person(study, mallory.username, "editor")
    path = f"/studies/{study.code}/review/{dialogue.public_id}"

    early = called(rex, "POST", f"{path}/bonus", {"amount": "0.50"})
    called(rex, "PUT", path, {"state": "accepted"})
    no_payments = called(mallory, "POST", f"{path}/bonus", {"amount": "0.50"})
    given = called(rex, "POST", f"{path}/bonus", {"amount": "0.50"})

    assert (early.status_code, no_payments.status_code) == (409, 404)
    assert given.json() == {"people": 2}
    assert (
        list(PayEntry.objects.filter(reason="bonus").values_list("amount", flat=True))
        == [Decimal("0.50")] * 2
    )
