from collections import Counter

import pytest
from django.apps import apps
from django.contrib import admin
from django.contrib.auth import SESSION_KEY
from django.contrib.auth.models import AnonymousUser
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client, RequestFactory
from pytest_django.fixtures import Settings

from tests.conftest import enter
from turnwise.accounts import credentials
from turnwise.accounts.access import visible_to
from turnwise.accounts.colleagues import create_first_admin
from turnwise.accounts.models import User
from turnwise.crowd.entry.sessions import COOKIE
from turnwise.studies.models import Study


def test_the_first_admin_is_created_once_and_can_sign_in(db: None) -> None:
    made = create_first_admin()

    assert made
    assert create_first_admin() is None
    assert Client().login(username=made[0], password=made[1])


@pytest.mark.usefixtures("one_minute")
def test_password_guesses_are_rate_limited(db: None) -> None:
    client = Client(REMOTE_ADDR="198.51.100.8")
    guess = {"username": "admin", "password": "guess"}
    statuses = [client.post("/sign-in/", guess).status_code for _ in range(11)]

    assert statuses[0] == 200
    assert statuses[-1] == 429


@pytest.fixture
def ten_attempts(monkeypatch: pytest.MonkeyPatch) -> None:
    """At a name in a minute: each takes as long to check as a password should."""
    monkeypatch.setattr("turnwise.accounts.views.ATTEMPTS", "10/m")


@pytest.mark.usefixtures("one_minute", "ten_attempts")
def test_password_guesses_from_many_addresses_are_rate_limited_by_name(db: None) -> None:
    guess = {"username": "admin", "password": "guess"}
    guessers = [Client(REMOTE_ADDR=f"198.51.100.{n}") for n in range(2)]
    statuses = [guesser.post("/sign-in/", guess).status_code for guesser in guessers for _ in range(5)]

    assert set(statuses) == {200}
    assert [guesser.post("/sign-in/", guess).status_code for guesser in guessers] == [429, 429]


PASSWORD = "correct horse battery"


@pytest.fixture
def with_password(rex: User) -> User:
    rex.set_password(PASSWORD)
    rex.save()
    return rex


@pytest.mark.usefixtures("one_minute")
def test_attempts_with_all_spellings_of_a_name_count_together(with_password: User) -> None:
    ways = [
        "rex",
        " rex",
        "rex ",
        "\uff52ex",
        "r\uff45x",
        "\u3000rex",
        "re\uff58",
        "\uff52\uff45x",
        " \uff52ex",
        "rex\t",
    ]
    guesser = Client(REMOTE_ADDR="198.51.100.8")
    for way in ways:
        guesser.post("/sign-in/", {"username": way, "password": "guess"})

    eleventh = {"username": "\uff52\uff45\uff58", "password": PASSWORD}
    assert guesser.post("/sign-in/", eleventh).status_code == 429


@pytest.mark.usefixtures("one_minute")
def test_a_stranger_elsewhere_does_not_lock_a_person_out_of_a_new_browser(with_password: User) -> None:
    """However often they try: what their address is refused for does not count against the name."""
    stranger = Client(REMOTE_ADDR="198.51.100.8")
    for _ in range(120):
        stranger.post("/sign-in/", {"username": "rex", "password": "guess"})

    right = {"username": "rex", "password": PASSWORD}
    assert stranger.post("/sign-in/", right).status_code == 429
    assert Client(REMOTE_ADDR="203.0.113.7").post("/sign-in/", right).status_code == 302


@pytest.mark.usefixtures("one_minute", "ten_attempts")
def test_wrong_attempts_of_others_do_not_lock_a_person_out_of_their_own_browser(with_password: User) -> None:
    own = Client(REMOTE_ADDR="203.0.113.7")
    right = {"username": "rex", "password": PASSWORD}
    own.post("/sign-in/", right)
    own.post("/sign-out/")
    for number in range(10):
        wrong = {"username": "rex", "password": "guess"}
        Client(REMOTE_ADDR=f"198.51.100.{number}").post("/sign-in/", wrong)

    assert own.post("/sign-in/", right).status_code == 302
    # A browser in which somebody else signed in is no such browser.
    own.cookies[credentials.COOKIE] = "forged"
    own.post("/sign-out/")
    wrong = {"username": "rex", "password": "guess"}
    for _ in range(3):
        own.post("/sign-in/", wrong)
    assert own.post("/sign-in/", right).status_code == 429


@pytest.mark.usefixtures("one_minute", "ten_attempts")
def test_many_strangers_at_once_lock_nobody_out_of_a_new_browser_and_guess_little(
    with_password: User,
) -> None:
    """From five addresses, beyond what a name allows in a minute."""
    tried = Counter[int]()
    for number in range(5):
        stranger = Client(REMOTE_ADDR=f"198.51.100.{number}")
        for _ in range(6):
            tried[stranger.post("/sign-in/", {"username": "rex", "password": "guess"}).status_code] += 1

    person = Client(REMOTE_ADDR="203.0.113.7")
    mistyped = person.post("/sign-in/", {"username": "rex", "password": "correct hrose"})
    assert mistyped.status_code == 200
    assert person.post("/sign-in/", {"username": "rex", "password": PASSWORD}).status_code == 302
    # Ten from the first two addresses, then three from each of the other three.
    assert tried == {200: 10 + 3 * 3, 429: 2 + 3 * 3}


def test_a_person_changes_their_password_and_a_uniform_one_is_refused(with_password: User) -> None:
    client = Client()
    client.force_login(with_password)

    def change(new: str) -> str:
        fields = {"old_password": PASSWORD, "new_password1": new, "new_password2": new}
        return client.post("/password/", fields, follow=True).content.decode()

    assert "has 1 different characters. Use 5 or more" in change("a" * 12)
    assert "Your password is changed" in change("a much better password")
    with_password.refresh_from_db()
    assert with_password.check_password("a much better password")


@pytest.fixture
def no_redis(settings: Settings) -> None:
    """A Redis that does not answer: nothing listens on port 1."""
    settings.CACHES = {"default": settings.CACHES["default"] | {"LOCATION": "redis://127.0.0.1:1/0"}}


@pytest.mark.usefixtures("no_redis")
def test_nobody_signs_in_while_attempts_cannot_be_counted(rex: User) -> None:
    rex.set_password("correct horse battery")
    rex.save()

    client = Client()
    response = client.post("/sign-in/", {"username": "rex", "password": "correct horse battery"})

    assert response.status_code == 503
    assert "Everything that was shown as saved is safe" in response.content.decode()
    assert SESSION_KEY not in client.session


@pytest.mark.usefixtures("no_redis")
def test_no_resume_code_is_accepted_while_attempts_cannot_be_counted(study: Study) -> None:
    code = enter(study).resume_code

    response = Client().post(f"/s/{study.code}/resume/", {"code": code})

    assert response.status_code == 503
    assert COOKIE not in response.cookies


@pytest.mark.usefixtures("no_redis")
def test_workers_still_get_in_while_attempts_cannot_be_counted(study: Study) -> None:
    response = Client().post(f"/s/{study.code}/consent/", {"agree": "yes", "consent": "1"})

    assert response.headers["Location"] == f"/s/{study.code}/instructions/"
    assert COOKIE in response.cookies


@pytest.mark.usefixtures("no_redis")
def test_an_upload_that_cannot_be_stored_names_the_reason(rex: User) -> None:
    client = Client()
    client.force_login(rex)
    file = SimpleUploadedFile("set.jsonl", b'{"turns": ["Hi!"]}')

    response = client.post(
        "/contexts/new/", {"title": "Set", "name": "set", "licence": "CC0", "language": "en", "file": file}
    )

    assert response.status_code == 503
    assert "Redis does not answer" in response.content.decode()


def test_the_django_admin_uses_our_sign_in_page(db: None) -> None:
    response = Client().get("/admin/", follow=True)

    assert response.redirect_chain[-1][0].startswith("/sign-in/")


def test_researchers_do_not_enter_the_admin(rex: User) -> None:
    client = Client()
    client.force_login(rex)

    response = client.get("/admin/", follow=True)

    assert response.status_code == 403
    assert "You cannot do that here" in response.content.decode()


def test_a_study_of_another_user_is_not_found(study: Study, mallory: User) -> None:
    client = Client()
    client.force_login(mallory)

    response = client.get(study.get_absolute_url())

    assert response.status_code == 404
    assert "it belongs to somebody else" in response.content.decode()
    assert "Go to your studies" in response.content.decode()
    assert study.title not in response.content.decode()


def test_signed_out_visitors_read_about_study_links(db: None) -> None:
    page = Client().get("/no/such/page/").content.decode()

    assert "open the link you were given" in page
    assert "belongs to somebody else" not in page


def test_deactivated_and_unknown_users_see_nothing(study: Study, rex: User) -> None:
    rex.is_active = False

    assert not visible_to(rex, Study.objects.all(), owner="owner").exists()
    assert not visible_to(AnonymousUser(), Study.objects.all(), owner="owner").exists()


OURS = ("accounts", "bots", "studies", "crowd", "dialogues", "labels", "reports")


@pytest.mark.parametrize(
    "model", [m for m in apps.get_models() if m._meta.app_label in OURS], ids=lambda m: m.__name__
)
def test_every_model_can_be_seen_in_the_admin(ada: User, model: type) -> None:
    assert model in admin.site._registry
    client = Client()
    client.force_login(ada)

    request = RequestFactory().get("/admin/")
    request.user = ada
    may_add = admin.site._registry[model].has_add_permission(request)
    for page, allowed in (("", True), ("add/", may_add)):
        address = f"/admin/{model._meta.app_label}/{model._meta.model_name}/{page}"
        assert client.get(address).status_code == (200 if allowed else 403)


def test_no_page_may_load_anything_from_elsewhere(db: None) -> None:
    policy = Client().get("/sign-in/")["Content-Security-Policy"]

    assert "default-src 'self'" in policy
    assert "unsafe" not in policy
