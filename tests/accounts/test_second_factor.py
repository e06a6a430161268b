"""Second factors: an app, recovery codes, the requirement, and what an admin does for a lost one."""

import re
import time
from io import StringIO

import pytest
from allauth.mfa.models import Authenticator
from allauth.mfa.totp.internal.auth import format_hotp_value, hotp_value
from django.contrib.auth import SESSION_KEY
from django.core.management import CommandError, call_command
from django.db import connection
from django.test import Client
from pytest_django.fixtures import Settings

from turnwise.accounts import credentials
from turnwise.accounts.mail import confirm_address
from turnwise.accounts.models import Event, User

pytestmark = pytest.mark.django_db
PASSWORD = "correct horse battery"
INDEX, APP, SECOND = (
    "/account/second-factor/",
    "/account/second-factor/app/",
    "/account/second-factor/sign-in/",
)


@pytest.fixture
def rex(rex: User) -> User:
    rex.set_password(PASSWORD)
    rex.save()
    return rex


def signed_in(name: str = "rex") -> Client:
    client = Client()
    assert client.post("/sign-in/", {"username": name, "password": PASSWORD}).status_code == 302
    return client


def code_of(key: str) -> str:
    return format_hotp_value(hotp_value(key, int(time.time()) // 30))


def opened(client: Client, path: str) -> str:
    """Page at a path, after the password if it is asked for once more."""
    answer = client.get(path)
    if answer.status_code == 302:
        assert answer["Location"].startswith("/account/confirm/")
        assert client.post(answer["Location"], {"password": PASSWORD})["Location"] == path
        answer = client.get(path)
    return answer.content.decode()


def set_up_app(client: Client) -> str:
    """Set up an authenticator app; returns its key."""
    page = opened(client, APP)
    (key,) = re.findall(r'id="authenticator_secret"[^>]*value="([A-Z2-7]+)"', page)
    done = client.post(APP, {"code": code_of(key)})
    assert done.status_code == 302
    return str(key)


def is_signed_in(client: Client) -> bool:
    return SESSION_KEY in client.session


def test_a_person_signs_in_with_their_confirmed_address(rex: User) -> None:
    confirm_address(rex, "Rex@example.org")

    assert is_signed_in(signed_in("rex@EXAMPLE.org"))
    refused = Client().post("/sign-in/", {"username": "rex@example.org", "password": "guess"})
    assert refused.status_code == 200


def test_after_the_password_the_code_is_asked_for(rex: User) -> None:
    client = signed_in()
    key = set_up_app(client)
    client.post("/sign-out/")

    later = Client()
    first = later.post(
        "/sign-in/?next=/tokens/", {"username": "rex", "password": PASSWORD, "next": "/tokens/"}
    )
    assert first["Location"] == SECOND
    assert not is_signed_in(later)
    assert later.get("/home/")["Location"].startswith("/sign-in/")
    wrong = later.post(SECOND, {"code": "000000"})
    assert wrong.status_code == 200
    assert not is_signed_in(later)
    done = later.post(SECOND, {"code": code_of(key)})
    assert done["Location"] == "/tokens/"
    assert is_signed_in(later)
    assert Event.objects.latest("pk").description == "signed in with a second factor"


def test_a_recovery_code_lets_in_once(rex: User) -> None:
    client = signed_in()
    set_up_app(client)
    page = opened(client, f"{INDEX}codes/")
    codes = re.findall(r"<li><code>([0-9]+)</code>", page)
    assert len(codes) == 10

    for expected in (True, False):
        later = signed_in()
        later.post(SECOND, {"code": codes[0]})
        assert is_signed_in(later) is expected


def test_keys_and_recovery_codes_are_encrypted_in_the_database(rex: User) -> None:
    key = set_up_app(signed_in())

    with connection.cursor() as cursor:
        cursor.execute("SELECT string_agg(data::text, ' ') FROM mfa_authenticator")
        (stored,) = cursor.fetchone()
    assert key not in stored
    assert stored.count("encrypted:1:") == 2


def test_wrong_codes_are_rate_limited(rex: User) -> None:
    key = set_up_app(signed_in())
    guesser = signed_in()
    statuses = [guesser.post(SECOND, {"code": "000000"}).status_code for _ in range(40)]

    assert 429 in statuses or not is_signed_in(guesser)
    refused = guesser.post(SECOND, {"code": code_of(key)})
    assert not is_signed_in(guesser), refused.status_code


@pytest.mark.parametrize(
    ("who", "name", "is_led"),
    [
        ("everybody", "rex", True),
        ("admins", "rex", False),
        ("admins", "ada", True),
        ("optional", "ada", False),
    ],
)
def test_people_without_a_required_factor_are_led_to_set_it_up(
    settings: Settings, rex: User, ada: User, who: str, name: str, is_led: bool
) -> None:
    ada.set_password(PASSWORD)
    ada.save()
    settings.SECOND_FACTOR = who
    client = signed_in(name)

    home = client.get("/home/")
    if not is_led:
        assert home.status_code == 200
        return
    assert home["Location"] == INDEX
    assert client.get("/home/", headers={"Authorization": "Bearer none"})["Location"] == INDEX
    assert "requires a second factor" in client.get(INDEX).content.decode()
    token = credentials.create_token(User.objects.get(username=name), "script")
    answer = Client(headers={"Authorization": f"Bearer {token}"}).get("/api/studies")
    assert answer.status_code == 200
    set_up_app(client)
    assert client.get("/home/").status_code == 200


def test_an_admin_removes_a_lost_factor(rex: User, ada: User) -> None:
    set_up_app(signed_in())
    admin = Client()
    admin.force_login(ada)
    assert "Remove second factor" in admin.get("/people/").content.decode()

    admin.post(f"/people/{rex.pk}/", {"what": "second_factor"})

    assert not Authenticator.objects.exists()
    assert is_signed_in(signed_in())
    assert "second factor" in Event.objects.filter(name="ada").latest("pk").description
    admin.post(f"/people/{ada.pk}/", {"what": "second_factor"})
    assert "This is you." in admin.get("/people/").content.decode()


def test_the_only_admin_gets_in_again_from_the_shell_of_the_server(rex: User) -> None:
    User.objects.filter(pk=rex.pk).update(is_superuser=True)
    browser = signed_in()
    set_up_app(browser)
    said = StringIO()

    call_command("recover_access", "rex", "--second-factor", stdout=said)

    (password,) = re.findall(r"signs in once with (\S+), and", said.getvalue())
    assert browser.get("/home/")["Location"].startswith("/sign-in/")
    client = Client()
    client.post("/sign-in/", {"username": "rex", "password": password})
    assert is_signed_in(client)
    assert client.get("/home/")["Location"] == "/password/"
    assert Event.objects.filter(name="rex", action="accounts:recover_access").get().path == ""


def test_the_password_alone_is_replaced_and_a_wrong_name_changes_nothing(rex: User) -> None:
    set_up_app(signed_in())

    call_command("recover_access", "rex", stdout=StringIO())
    with pytest.raises(CommandError, match=r"Nobody signs in here as “rexx”\. The admins are: none\."):
        call_command("recover_access", "rexx")

    assert Authenticator.objects.exists()
    assert Event.objects.filter(action="accounts:recover_access").count() == 1


def test_a_session_is_listed_after_its_password_was_changed(rex: User) -> None:
    client = signed_in()

    new = "battery staple horse"
    client.post("/password/", {"old_password": PASSWORD, "new_password1": new, "new_password2": new})

    assert client.get("/account/sessions/").content.decode().count('<th scope="row"') == 1
    assert "1 browser" in client.get("/account/").content.decode()


def test_a_person_signs_out_everywhere_else(rex: User) -> None:
    here, elsewhere = signed_in(), signed_in()
    page = here.get("/account/sessions/").content.decode()
    assert page.count('<th scope="row"') == 2

    here.post("/account/sessions/")

    assert here.get("/home/").status_code == 200
    assert elsewhere.get("/home/")["Location"].startswith("/sign-in/")
