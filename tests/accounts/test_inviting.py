"""A colleague is invited by a link, which lets in one person, once."""

import re
from datetime import timedelta

import pytest
from django.core.cache import cache
from django.test import Client
from django.utils import timezone

from tests.planted import SignIn
from turnwise.accounts import colleagues
from turnwise.accounts.models import Colleague, Event, User

pytestmark = pytest.mark.django_db

OWN = "a quite different phrase 7"
NINA = {"username": "nina", "password1": OWN, "password2": OWN}
NOBODY = "This link is not valid"


def invited(admin: Client, **sent: str) -> str:
    """The path of a link that an admin makes."""
    page = admin.post("/people/invite/", {"whom": "Nina of the lab", **sent}).content.decode()
    (path,) = re.findall(r'value="http://testserver(/join/[^"]+)"', page)
    return str(path)


@pytest.mark.parametrize(("role", "is_admin"), [("researcher", False), ("admin", True)])
def test_an_invited_person_joins_once_with_their_own_password(
    ada: User, sign_in: SignIn, role: str, is_admin: bool
) -> None:
    admin, browser = sign_in(ada), Client()
    path = invited(admin, role=role)
    listed = admin.get("/people/").content.decode()
    assert "Nina of the lab" in listed
    assert path not in listed
    page = browser.get(path)
    assert "ada has invited you, Nina of the lab." in page.content.decode()
    assert page.headers["Referrer-Policy"] == "no-referrer"

    weak = browser.post(path, NINA | {"password1": "short", "password2": "short"})
    taken = browser.post(path, NINA | {"username": "ADA"})
    came = browser.post(path, NINA)

    assert (weak.status_code, taken.status_code, came.status_code) == (422, 422, 302)
    assert "at least 12 characters" in weak.content.decode()
    assert browser.get("/home/").status_code == 200
    assert browser.get("/account/sessions/").content.decode().count('<th scope="row"') == 1
    nina = User.objects.get(username="nina")
    assert (nina.is_superuser, nina.is_staff, nina.has_first_password) == (is_admin, is_admin, False)
    assert "Nina of the lab" not in admin.get("/people/").content.decode()
    again = Client().post(path, NINA | {"username": "otto"})
    assert (again.status_code, NOBODY in again.content.decode()) == (404, True)
    assert list(Event.objects.order_by("pk").values_list("name", "action")) == [
        ("ada", "accounts:invite"),
        ("nina", "accounts:join"),
    ]


def test_a_link_ends_when_revoked_expired_or_its_admin_is_demoted(ada: User, sign_in: SignIn) -> None:
    admin, now = sign_in(ada), timezone.now()
    paths = [invited(admin) for _ in range(3)]
    back, late, _ = Colleague.objects.order_by("pk")
    Colleague.objects.filter(pk=late.pk).update(expires_at=now - timedelta(seconds=1))

    said = admin.post(f"/people/invitations/{back.pk}/take-back/", follow=True).content.decode()
    assert "The link no longer lets anybody in." in said
    said = admin.post(f"/people/invitations/{back.pk}/take-back/", follow=True).content.decode()
    assert "No changes were made" in said
    assert [Client().get(path).status_code for path in paths] == [404, 404, 200]
    User.objects.filter(pk=ada.pk).update(is_superuser=False)
    assert Client().post(paths[2], NINA).status_code == 404
    assert not User.objects.filter(username="nina").exists()


def test_invalid_invitations_are_refused_with_an_explanation(
    ada: User, rex: User, sign_in: SignIn, monkeypatch: pytest.MonkeyPatch
) -> None:
    admin = sign_in(ada)
    nobody = admin.post("/people/invite/", {"whom": "  "})
    assert (nobody.status_code, "Say who the link is for" in nobody.content.decode()) == (422, True)
    assert "at most 80 characters" in admin.post("/people/invite/", {"whom": "x" * 81}).content.decode()
    path = invited(admin)
    monkeypatch.setattr(colleagues, "MOST_OPEN", 1)
    assert "1 invitations are open." in admin.post("/people/invite/", {"whom": "Otto"}).content.decode()
    assert sign_in(rex).post("/people/invite/", {"whom": "Otto"}).status_code == 404
    assert "You are already signed in" in sign_in(rex).post(path, NINA).content.decode()
    assert Colleague.objects.filter(ended_at=None).count() == 1


def test_attempts_with_invitation_links_are_rate_limited(ada: User) -> None:
    cache.clear()
    browser = Client(REMOTE_ADDR="192.0.2.7")

    answers = [browser.get(f"/join/guess-{n}/").status_code for n in range(21)]

    assert answers == [404] * 20 + [429]
