"""Admins look after people; what everybody does is noted, and stays as it was noted."""

import re

import pytest
from django.db import DatabaseError, transaction
from django.test import Client
from django.urls import reverse

from tests.conftest import MakeStudy
from tests.planted import SignIn
from turnwise.accounts import credentials
from turnwise.accounts.models import Event, User
from turnwise.studies.models import Study

pytestmark = pytest.mark.django_db

PEOPLE, AUDIT_LOG = "/people/", "/people/audit-log/"
OWN = "a quite different phrase 7"


def password_in(page: str) -> str:
    """The password that a page shows this once."""
    (found,) = re.findall(r'id="password"[^>]*value="([^"]+)"', page)
    return str(found)


def recorded_actions(page: str) -> list[tuple[str, str]]:
    """User and action of each row of the audit log."""
    return re.findall(r'<td><a href="\?name=[^"]*">([^<]*)</a></td><td>([^<]*)</td>', page)


def test_a_new_user_joins_with_a_one_time_password(ada: User, sign_in: SignIn) -> None:
    page = sign_in(ada).post(PEOPLE, {"name": "nina", "role": "researcher"}).content.decode()
    password = password_in(page)
    nina = User.objects.get(username="nina")
    assert (nina.is_superuser, nina.is_staff, nina.has_first_password) == (False, False, True)
    assert password not in sign_in(ada).get(PEOPLE).content.decode()

    browser = Client()
    first = browser.post("/sign-in/", {"username": "nina", "password": password})
    assert first.status_code == 302
    for path in ("/home/", "/studies/", "/tokens/"):
        assert browser.get(path).headers["Location"] == "/password/"
    assert "signed in with a one-time password" in browser.get("/password/").content.decode()
    wrong = {"old_password": password, "new_password1": "short", "new_password2": "short"}
    assert browser.post("/password/", wrong).status_code == 200
    assert browser.get("/home/").status_code == 302

    chosen = browser.post("/password/", wrong | {"new_password1": OWN, "new_password2": OWN})
    assert chosen.headers["Location"] == "/home/"
    assert browser.get("/home/").status_code == 200
    assert "one-time password" not in browser.get("/password/").content.decode()
    assert not Client().login(username="nina", password=password)


@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("REX", "Somebody already signs in here as “rex”."),
        ("", "This field cannot be blank."),
        ("a b", "Enter a valid username."),
        ("x" * 151, "at most 150 characters"),
    ],
)
def test_an_invalid_name_is_refused_with_an_explanation(
    ada: User, rex: User, sign_in: SignIn, name: str, says: str
) -> None:
    before = User.objects.count()

    answer = sign_in(ada).post(PEOPLE, {"name": name, "role": "admin"})

    assert answer.status_code == 422
    assert says in answer.content.decode()
    assert "Nobody was added." in answer.content.decode()
    assert User.objects.count() == before


def test_a_deactivated_user_loses_access_immediately_and_can_return(
    ada: User, rex: User, sign_in: SignIn
) -> None:
    admin, browser = sign_in(ada), sign_in(rex)
    program = Client(headers={"Authorization": f"Bearer {credentials.create_token(rex, 'his')}"})
    change = reverse("accounts:change_person", args=[rex.pk])

    admin.post(change, {"what": "keep_out"})
    assert browser.get("/home/").status_code == 302
    assert program.get("/api/bots").status_code == 401
    admin.post(change, {"what": "let_in"})
    assert program.get("/api/bots").status_code == 200

    admin.post(change, {"what": "make_admin"})
    rex.refresh_from_db()
    assert (rex.is_superuser, rex.is_staff) == (True, True)
    admin.post(change, {"what": "make_researcher"})
    assert "is not known" in admin.post(change, {"what": "promote"}, follow=True).content.decode()
    rex.refresh_from_db()
    assert (rex.is_superuser, rex.is_staff, rex.is_active) == (False, False, True)


def test_a_lost_password_is_replaced_by_a_one_time_password(ada: User, rex: User, sign_in: SignIn) -> None:
    browser = sign_in(rex)

    page = sign_in(ada).post(reverse("accounts:change_person", args=[rex.pk]), {"what": "password"})

    assert browser.get("/home/").headers["Location"].startswith("/sign-in/")
    assert Client().login(username="rex", password=password_in(page.content.decode()))


@pytest.mark.parametrize("what", ["keep_out", "make_researcher", "password"])
def test_users_cannot_lock_themselves_out(ada: User, sign_in: SignIn, what: str) -> None:
    answer = sign_in(ada).post(reverse("accounts:change_person", args=[ada.pk]), {"what": what}, follow=True)

    ada.refresh_from_db()
    assert "This is you." in answer.content.decode()
    assert (ada.is_active, ada.is_superuser, ada.has_first_password) == (True, True, False)


def test_actions_are_recorded_and_found(ada: User, rex: User, sign_in: SignIn, make_study: MakeStudy) -> None:
    study = make_study(title="Noted")
    program = Client(headers={"Authorization": f"Bearer {credentials.create_token(rex, 'his')}"})
    researcher, admin = sign_in(rex), sign_in(ada)

    researcher.post(f"/studies/{study.pk}/state/", {"state": "closed"})
    researcher.post(f"/studies/{study.pk}/tags/", {"tags": "a"})
    researcher.post("/password/", {"old_password": "wrong"})  # refused
    researcher.post(f"/studies/{study.pk + 1}/tags/", {"tags": "a"})  # there is none
    researcher.get("/studies/")
    program.post(
        "/api/bots", {"name": "p", "title": "P", "adapter": "eliza"}, content_type="application/json"
    )
    admin.post(PEOPLE, {"name": "nina"})

    everything = recorded_actions(admin.get(AUDIT_LOG).content.decode())
    assert [who for who, _ in everything] == ["ada", "rex", "rex", "rex"]
    assert [what for _, what in everything][0::2] == ["added a person", "changed the tags of a study"]
    assert everything[3][1] == "opened or closed a study"
    assert everything[1][1] == "registered a bot"
    assert "by the token “his”" in admin.get(AUDIT_LOG).content.decode()
    of_study = admin.get(AUDIT_LOG, {"about": f"/studies/{study.pk}/", "name": "rex"}).content.decode()
    assert len(recorded_actions(of_study)) == 2
    assert "Nothing matches." in admin.get(AUDIT_LOG, {"name": "nobody"}).content.decode()


def test_entries_stay_when_the_user_is_deleted(ada: User, rex: User, sign_in: SignIn) -> None:
    sign_in(rex).post("/tokens/", {"title": "Mine", "scopes": ["read"], "days": "90"})
    event = Event.objects.get()
    rex.delete()

    for change in (lambda: Event.objects.update(name="ada"), event.delete):
        with pytest.raises(DatabaseError, match="append-only"), transaction.atomic():
            change()
    assert recorded_actions(sign_in(ada).get(AUDIT_LOG).content.decode()) == [("rex", "made a token")]
    assert not Study.objects.exists()
