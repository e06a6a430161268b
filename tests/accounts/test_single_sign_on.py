"""Single sign-on with a provider that answers over HTTP and signs its tokens."""

from collections.abc import Iterator

import pytest
from allauth.socialaccount.models import SocialAccount
from django.contrib.auth import SESSION_KEY
from django.test import Client
from pytest_django.fixtures import Settings

from tests.accounts.identity_provider import IdentityProvider
from turnwise.accounts.mail import confirm_address
from turnwise.accounts.models import Event, User

pytestmark = pytest.mark.django_db
LOGIN = "/account/sign-on/sso/"


@pytest.fixture
def provider(settings: Settings) -> Iterator[IdentityProvider]:
    provider = IdentityProvider(
        sub="subject-1", email="rex@example.org", email_verified=True, preferred_username="rex.r"
    )
    app = {
        "provider_id": "sso", "name": "Lab login", "client_id": "turnwise", "secret": "s" * 32,
        "settings": {"server_url": provider.issuer},
    }  # fmt: skip
    settings.SOCIALACCOUNT_PROVIDERS = {"openid_connect": {"APPS": [app], "OAUTH_PKCE_ENABLED": True}}
    settings.OIDC_ISSUER, settings.OIDC_NAME = provider.issuer, "Lab login"
    yield provider
    provider.end()


def come_back(client: Client, provider: IdentityProvider, begin: str = LOGIN) -> str:
    """Sign in at the provider; returns the page to which Turnwise answers."""
    away = client.get(begin)
    assert away.status_code == 302
    assert away["Location"].startswith(f"{provider.issuer}/authorize?")
    assert "code_challenge=" in away["Location"]
    return client.get(provider.consent(away["Location"]), follow=True).content.decode()


def test_a_person_with_the_same_confirmed_address_is_signed_in(provider: IdentityProvider, rex: User) -> None:
    confirm_address(rex, "rex@example.org")
    client = Client()
    assert "Sign in with Lab login" in client.get("/sign-in/").content.decode()

    come_back(client, provider)

    assert client.session[SESSION_KEY] == str(rex.pk)
    assert SocialAccount.objects.get().user == rex
    assert provider.token_request["client_secret"] == "s" * 32 or "code_verifier" in provider.token_request
    assert Event.objects.latest("pk").description == "signed in or connected by single sign-on"


@pytest.mark.parametrize("claims", [{"email_verified": False}, {"email": "nobody@example.org"}])
def test_nobody_gets_in_with_an_address_that_is_not_confirmed_here_and_there(
    provider: IdentityProvider, rex: User, claims: dict[str, object]
) -> None:
    confirm_address(rex, "rex@example.org")
    provider.claims |= claims
    client = Client()

    assert "You have no account here" in come_back(client, provider)
    assert SESSION_KEY not in client.session
    assert (User.objects.count(), SocialAccount.objects.count()) == (1, 0)


def test_people_whom_the_provider_lets_in_get_an_account_where_the_installation_says_so(
    provider: IdentityProvider, settings: Settings
) -> None:
    settings.OIDC_NEW_PEOPLE = True
    client = Client()
    come_back(client, provider)

    made = User.objects.get()
    assert client.session[SESSION_KEY] == str(made.pk)
    assert (made.is_superuser, made.is_staff) == (False, False)


def test_a_deactivated_person_is_refused(provider: IdentityProvider, rex: User) -> None:
    confirm_address(rex, "rex@example.org")
    User.objects.update(is_active=False)
    client = Client()

    assert "Your account is deactivated" in come_back(client, provider)
    assert SESSION_KEY not in client.session


def test_a_person_connects_their_account(provider: IdentityProvider, rex: User) -> None:
    client = Client()
    client.force_login(rex)
    come_back(client, provider, f"{LOGIN}?process=connect")

    assert SocialAccount.objects.get().user == rex
    assert "Lab login" in client.get("/account/sign-on/").content.decode()


def test_an_answer_with_a_state_that_was_not_asked_for_is_refused(
    provider: IdentityProvider, rex: User
) -> None:
    confirm_address(rex, "rex@example.org")
    client = Client()
    page = client.get(f"{LOGIN}callback/?code=c&state=forged").content.decode()

    assert "Signing in did not work" in page
    assert SESSION_KEY not in client.session
    assert "/token" not in provider.requests
