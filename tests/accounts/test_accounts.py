import pytest
from django.apps import apps
from django.contrib import admin
from django.contrib.auth.models import AnonymousUser
from django.test import Client, RequestFactory

from accounts.access import visible_to
from accounts.models import User
from accounts.services import create_first_admin
from studies.models import Study


def test_the_first_admin_is_made_once_and_can_sign_in(db: None) -> None:
    made = create_first_admin()

    assert made
    assert create_first_admin() is None
    assert Client().login(username=made[0], password=made[1])


def test_guessing_passwords_is_slowed_down(db: None) -> None:
    client = Client(REMOTE_ADDR="198.51.100.8")
    guess = {"username": "admin", "password": "guess"}
    statuses = [client.post("/sign-in/", guess).status_code for _ in range(11)]

    assert statuses[0] == 200
    assert statuses[-1] == 429


def test_a_password_guesser_with_many_addresses_is_slowed_down_by_name(db: None) -> None:
    guess = {"username": "admin", "password": "guess"}
    statuses = [Client(REMOTE_ADDR=f"198.51.100.{n}").post("/sign-in/", guess).status_code for n in range(11)]

    assert statuses[-1] == 429


def test_the_admin_s_sign_in_is_ours(db: None) -> None:
    response = Client().get("/admin/", follow=True)

    assert response.redirect_chain[-1][0].startswith("/sign-in/")


def test_researchers_do_not_enter_the_admin(rex: User) -> None:
    client = Client()
    client.force_login(rex)

    response = client.get("/admin/", follow=True)

    assert response.status_code == 403
    assert "You may not do that here" in response.content.decode()


def test_somebody_switched_off_or_unknown_sees_nothing(study: Study, rex: User) -> None:
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
        address = f"/admin/{model._meta.app_label}/{model._meta.model_name}/{page}"  # type: ignore[attr-defined]
        assert client.get(address).status_code == (200 if allowed else 403)


def test_no_page_may_load_anything_from_elsewhere(db: None) -> None:
    policy = Client().get("/sign-in/")["Content-Security-Policy"]

    assert "default-src 'self'" in policy
    assert "unsafe" not in policy
