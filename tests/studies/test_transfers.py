"""A study changes its owner: offered and accepted, declined or withdrawn, or at once by an admin."""

import json
from decimal import Decimal
from typing import Any

import pytest
from django.core import mail as outbox
from django.test import Client
from django.urls import reverse
from pytest_django.fixtures import Settings

from tests.conftest import MakeStudy, start_dialogue
from tests.planted import SignIn
from turnwise.accounts import credentials
from turnwise.accounts.mail import confirm_address
from turnwise.accounts.models import Event, User
from turnwise.crowd.models import PayEntry
from turnwise.quality.decisions import decide, undo
from turnwise.quality.models import Block
from turnwise.studies.models import Share, Study, Transfer
from turnwise.studies.sharing import services
from turnwise.studies.sharing.permissions import permissions_of

pytestmark = pytest.mark.django_db


@pytest.fixture
def study(make_study: MakeStudy, rex: User) -> Study:
    made = make_study(title="Of Rex", pay_amount=Decimal(2))
    rehearsal = make_study({"again": 1}, title="Rehearsal")
    Study.objects.update(owner=rex)
    Study.objects.filter(pk=rehearsal.pk).update(rehearsal_of=made)
    made.refresh_from_db()
    return made


def path_of(study: Study, act: str = "") -> str:
    return reverse("studies:transfer", args=[study.pk]) + act


def owner_of(study: Study) -> str:
    return Study.objects.get(pk=study.pk).owner.get_username()


def test_an_offered_study_changes_its_owner_once_it_is_accepted(
    study: Study, rex: User, mallory: User, sign_in: SignIn, settings: Settings
) -> None:
    settings.MAIL_FROM = "turnwise@example.org"
    confirm_address(mallory, "mallory@example.org")
    start_dialogue(study)
    entries = list(PayEntry.objects.values_list("pk", "amount"))
    old, new, stranger = sign_in(rex), sign_in(mallory), sign_in(User.objects.create_user("eve"))

    offer = {"name": "mallory", "keeps_editing": "on"}
    page = old.post(path_of(study, "offer/"), offer, follow=True).content.decode()
    assert "Offered to" in page
    assert owner_of(study) == "rex"
    assert new.get(study.get_absolute_url()).status_code == 404  # an offer shows nothing yet
    assert "rex offers you the study “Of Rex”." in new.get("/home/").content.decode()
    (letter,) = outbox.outbox
    assert (letter.to, path_of(study) in letter.body) == (["mallory@example.org"], True)
    again = old.post(path_of(study, "offer/"), {"name": "eve"})
    assert (again.status_code, "already offered to mallory" in again.content.decode()) == (422, True)
    for act in ("", "accept/", "decline/", "withdraw/", "offer/"):
        assert stranger.post(path_of(study, act)).status_code in (404, 405)
    assert stranger.get(path_of(study)).status_code == 404
    assert old.post(path_of(study, "accept/")).status_code == 404  # not for the owner to accept

    assert "As its owner you are responsible" in new.get(path_of(study)).content.decode()
    assert "is yours now" in new.post(path_of(study, "accept/"), follow=True).content.decode()
    assert set(Study.objects.values_list("owner__username", flat=True)) == {"mallory"}  # and its rehearsal
    share = study.shares.get()
    assert (share.person, share.role, share.may_pay) == (rex, "editor", True)
    assert new.post(path_of(study, "accept/")).status_code == 404
    assert old.get(path_of(study)).status_code == 404
    assert "from rex to mallory" in new.get(reverse("studies:sharing", args=[study.pk])).content.decode()
    # What was done stays as it was.
    assert list(PayEntry.objects.values_list("pk", "amount")) == entries
    assert list(Event.objects.order_by("pk").values_list("name", "action")) == [
        ("rex", "studies:offer_transfer"), ("mallory", "studies:accept_transfer"),
    ]  # fmt: skip


def test_an_offer_can_be_withdrawn_or_declined_and_then_changes_nothing(
    study: Study, rex: User, mallory: User, sign_in: SignIn
) -> None:
    old, new = sign_in(rex), sign_in(mallory)
    Share.objects.create(study=study, person=mallory, role="reader")

    old.post(path_of(study, "offer/"), {"name": "mallory"})
    assert (
        "The offer to mallory is withdrawn."
        in old.post(path_of(study, "withdraw/"), follow=True).content.decode()
    )
    assert new.post(path_of(study, "accept/")).status_code == 404
    assert "There is no open offer" in old.post(path_of(study, "withdraw/"), follow=True).content.decode()

    old.post(path_of(study, "offer/"), {"name": "mallory"})
    new.post(path_of(study, "decline/"))
    assert new.post(path_of(study, "accept/")).status_code == 404
    assert (owner_of(study), study.shares.get().role) == ("rex", "reader")
    outcomes = Transfer.objects.order_by("pk").values_list("outcome", flat=True)
    assert list(outcomes) == ["withdrawn", "declined"]


def test_a_wrong_new_owner_is_refused_in_words(study: Study, rex: User, sign_in: SignIn) -> None:
    User.objects.create_user("gone", is_active=False)
    old = sign_in(rex)

    wrong = {
        "rex": "“rex” already owns this study.",
        "nobody": "Nobody signs in here as “nobody”.",
        "gone": "“gone” is deactivated and cannot sign in.",
        "": "This field is required.",
    }
    for name, says in wrong.items():
        answer = old.post(path_of(study, "offer/"), {"name": name})
        assert (answer.status_code, says in answer.content.decode()) == (422, True), name
    at_once = old.post(path_of(study, "offer/"), {"name": "nobody", "at_once": "yes"})
    assert "Only admins of this installation can transfer a study at once." in at_once.content.decode()
    assert not Transfer.objects.exists()


def test_an_admin_transfers_at_once_and_hands_over_all_studies_of_a_person(
    study: Study, make_study: MakeStudy, rex: User, mallory: User, ada: User, sign_in: SignIn
) -> None:
    admin = sign_in(ada)
    services.offer(study, "ada", keeps_editing=True, by=rex)
    admin.post(path_of(study, "offer/"), {"name": "mallory", "at_once": "yes"})
    study.refresh_from_db()
    assert (study.owner, permissions_of(rex, study)) == (mallory, frozenset())
    outcomes = Transfer.objects.order_by("pk").values_list("outcome", flat=True)
    assert list(outcomes) == ["withdrawn", "accepted"]

    second = make_study({"second": 1}, title="Second")
    Study.objects.filter(pk=second.pk).update(owner=mallory)
    page = f"/people/{mallory.pk}/studies/"
    assert "mallory owns 2 studies. Their account cannot be deleted" in admin.get(page).content.decode()
    refused = admin.post(page, {"name": "mallory"})
    assert (refused.status_code, owner_of(second)) == (422, "mallory")
    deleting = admin.post(reverse("admin:accounts_user_delete", args=[mallory.pk]), {"post": "yes"})
    assert "Cannot delete user" in deleting.content.decode()
    assert User.objects.filter(username="mallory").exists()

    admin.post(page, {"name": "rex"})
    assert not Study.objects.filter(owner=mallory).exists()
    assert sign_in(rex).get(f"/people/{rex.pk}/studies/").status_code == 404


def test_blocks_of_a_study_move_to_its_new_owner(
    study: Study, make_study: MakeStudy, rex: User, mallory: User, ada: User
) -> None:
    dialogue = start_dialogue(study)
    assert dialogue.participation
    decision = decide(dialogue.participation, "block", reason="Wrote nonsense", by=rex)

    services.transfer_at_once(study, "mallory", keeps_editing=False, by=ada)
    assert list(Block.objects.values_list("owner__username", "reason")) == [("mallory", "Wrote nonsense")]
    decision.refresh_from_db()
    undo(decision, by=mallory)
    assert not Block.objects.exists()


def test_the_api_transfers_by_the_same_rules(study: Study, rex: User, mallory: User) -> None:
    browser = Client()

    def call(method: str, who: User, path: str, body: object = None) -> tuple[int, Any]:
        answer = browser.generic(
            method, f"/api/{path}", json.dumps(body) if body is not None else "",
            content_type="application/json",
            HTTP_AUTHORIZATION=f"Bearer {credentials.create_token(who, 'test')}",
        )  # fmt: skip
        return answer.status_code, answer.json()

    own = f"studies/{study.code}/transfers"
    assert call("POST", mallory, own, {"to": "mallory"})[0] == 404
    assert call("POST", rex, own, {"to": "mallory", "at_once": True})[0] == 422
    status, offered = call("POST", rex, own, {"to": "mallory", "keeps_editing": False})
    assert (status, offered["to"], offered["outcome"]) == (201, "mallory", "")
    assert call("GET", mallory, "transfers")[1] == [offered]
    assert call("POST", rex, f"{own}/withdraw")[1]["outcome"] == "withdrawn"
    assert call("POST", rex, f"{own}/withdraw")[0] == 409
    assert call("POST", mallory, f"{own}/accept")[0] == 404

    call("POST", rex, own, {"to": "mallory", "keeps_editing": False})
    assert call("POST", rex, f"{own}/accept")[0] == 404
    assert call("POST", mallory, f"{own}/accept")[1]["outcome"] == "accepted"
    assert (owner_of(study), study.shares.count()) == ("mallory", 0)
    assert [each["outcome"] for each in call("GET", mallory, own)[1]] == ["accepted", "withdrawn"]
    assert call("GET", rex, own)[0] == 404
