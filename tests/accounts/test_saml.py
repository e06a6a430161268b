"""Single sign-on by SAML with a provider that signs its assertions."""

import base64
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from allauth.socialaccount.models import SocialAccount
from django.contrib.auth import SESSION_KEY
from django.contrib.sessions.models import Session
from django.test import Client
from pytest_django.fixtures import Settings

from turnwise.accounts.mail import confirm_address
from turnwise.accounts.models import Event, User
from turnwise.accounts.single_sign_on import saml_configuration
from turnwise.accounts.single_sign_on.saml_configuration import (
    ATTRIBUTES,
    SamlConfiguration,
    read_saml_configuration,
)
from turnwise.accounts.single_sign_on.saml_metadata import MetadataError, read_identity_provider
from turnwise.project.doctor.findings import State
from turnwise.project.doctor.system_checks import check_saml

pytest.importorskip("xmlsec", reason="SAML's library, the extra saml, is not installed")
pytest.importorskip("onelogin", reason="SAML's library, the extra saml, is not installed")

from tests.accounts.saml_identity_provider import (  # needs the library
    ENTITY_ID,
    MAIL,
    SamlIdentityProvider,
    SigningKey,
)

pytestmark = pytest.mark.django_db
LOGIN = "/account/saml/sso/"
CONFIRMED = "http://schemas.auth0.com/email_verified"


@pytest.fixture
def provider(settings: Settings, tmp_path: Path) -> SamlIdentityProvider:
    provider = SamlIdentityProvider(**{MAIL: "rex@example.org", CONFIRMED: "true"})
    file = tmp_path / "metadata.xml"
    file.write_text(provider.metadata())
    use(
        settings,
        SamlConfiguration(
            metadata=str(file), provider="", entity_id="", name="Lab login", admits_new_people=False,
            mail_domains=(), attributes=ATTRIBUTES,
        ),
    )  # fmt: skip
    return provider


def use(settings: Settings, configuration: SamlConfiguration) -> None:
    settings.SAML = configuration
    settings.SOCIALACCOUNT_PROVIDERS = {"saml": {"APPS": [configuration.app()]}}


def come_back(client: Client, provider: SamlIdentityProvider, begin: str = LOGIN, **answer: Any) -> str:
    """Sign in at the provider; returns the page to which Turnwise answers."""
    away = client.get(begin)
    assert away["Location"].startswith("https://login.example.org/sso?SAMLRequest=")
    form = provider.answer(away["Location"], **answer)
    return client.post(f"{LOGIN}acs/", form, follow=True).content.decode()


@pytest.mark.parametrize("signs", ["Assertion", "Response"])
def test_a_person_with_the_same_confirmed_address_is_signed_in(
    provider: SamlIdentityProvider, rex: User, signs: str
) -> None:
    confirm_address(rex, "rex@example.org")
    client = Client()
    assert "Sign in with Lab login" in client.get("/sign-in/").content.decode()

    come_back(client, provider, signs=signs)

    assert client.session[SESSION_KEY] == str(rex.pk)
    connected = SocialAccount.objects.get()
    assert (connected.user, connected.uid, connected.extra_data) == (
        rex,
        "subject-1",
        {"email": "rex@example.org"},
    )
    assert Event.objects.latest("pk").description == "signed in or connected by single sign-on"


REFUSED = {
    "another key": ({"key": SigningKey()}, "not signed with a key of this installation"),
    "another audience": ({"audience": "https://elsewhere.example.org"}, "meant for another server"),
    "no audience": ({"audience": ""}, "does not say that it is meant for this server"),
    "expired": ({"seconds": -600}, "has expired"),
    "expired within the clocks' difference": ({"seconds": -10}, "has expired"),
    "not asked for": ({"answers": ""}, "You did not begin to sign in here"),
    "another person's": ({"answers": "ONELOGIN_other"}, "You did not begin to sign in here"),
    "stolen, in an envelope of one's own": ({"answers": "", "envelope": "ONELOGIN_own"}, "You did not begin"),
}


@pytest.mark.parametrize(("answer", "reason"), REFUSED.values(), ids=REFUSED)
def test_an_answer_that_proves_nothing_is_refused_in_words_and_changes_nothing(
    provider: SamlIdentityProvider, rex: User, answer: dict[str, Any], reason: str
) -> None:
    confirm_address(rex, "rex@example.org")
    client = Client()

    page = come_back(client, provider, **answer)

    assert "Signing in did not work" in page
    assert reason in page
    assert SESSION_KEY not in client.session
    assert (SocialAccount.objects.count(), Event.objects.count()) == (0, 0)


def test_an_answer_that_was_changed_after_signing_is_refused(
    provider: SamlIdentityProvider, rex: User
) -> None:
    confirm_address(rex, "rex@example.org")
    provider.attributes[MAIL] = "eve@example.org"
    client = Client()
    form = provider.answer(client.get(LOGIN)["Location"])
    xml = base64.b64decode(form["SAMLResponse"]).replace(b"eve@", b"rex@")

    form["SAMLResponse"] = base64.b64encode(xml).decode()

    assert "not signed with a key" in client.post(f"{LOGIN}acs/", form, follow=True).content.decode()
    assert SESSION_KEY not in client.session


def test_an_answer_is_taken_once(provider: SamlIdentityProvider, rex: User) -> None:
    confirm_address(rex, "rex@example.org")
    client = Client()
    form = provider.answer(client.get(LOGIN)["Location"])
    client.post(f"{LOGIN}acs/", form, follow=True)
    assert SESSION_KEY in client.session
    thief, before = Client(), Session.objects.count()

    for again in (thief, client):
        assert "was used before" in again.post(f"{LOGIN}acs/", form, follow=True).content.decode()
    assert (list(thief.cookies), Session.objects.count()) == ([], before)


def test_an_answer_in_another_browser_than_the_one_that_asked_is_refused(
    provider: SamlIdentityProvider, rex: User
) -> None:
    confirm_address(rex, "rex@example.org")
    form = provider.answer(Client().get(LOGIN)["Location"])
    other = Client()

    assert "You did not begin" in other.post(f"{LOGIN}acs/", form, follow=True).content.decode()
    assert SESSION_KEY not in other.session


@pytest.mark.parametrize("garbage", ["", "%%%", "PGE+", "x" * 500_000])
def test_what_is_no_answer_is_refused(provider: SamlIdentityProvider, garbage: str) -> None:
    page = Client().post(f"{LOGIN}acs/", {"SAMLResponse": garbage})

    assert page.status_code == 401
    assert "Signing in did not work" in page.content.decode()


@pytest.mark.parametrize(
    ("changes", "domains"),
    [({CONFIRMED: "false"}, ()), ({CONFIRMED: ""}, ("example.com",)), ({MAIL: "nobody@example.org"}, ())],
)
def test_nobody_gets_in_with_an_address_that_is_not_confirmed_here_and_there(
    provider: SamlIdentityProvider,
    rex: User,
    settings: Settings,
    changes: dict[str, str],
    domains: tuple[str, ...],
) -> None:
    confirm_address(rex, "rex@example.org")
    use(settings, replace(settings.SAML, mail_domains=domains))
    provider.attributes |= changes
    client = Client()

    assert "You have no account here" in come_back(client, provider)
    assert SESSION_KEY not in client.session
    assert (User.objects.count(), SocialAccount.objects.count()) == (1, 0)


def test_a_provider_confirms_the_addresses_of_named_domains(
    provider: SamlIdentityProvider, rex: User, settings: Settings
) -> None:
    confirm_address(rex, "rex@example.org")
    use(
        settings,
        replace(settings.SAML, mail_domains=("example.org",), attributes=ATTRIBUTES | {"email": ["mail"]}),
    )
    provider.attributes = {"mail": "rex@example.org"}
    client = Client()
    come_back(client, provider)

    assert client.session[SESSION_KEY] == str(rex.pk)


def test_people_whom_the_provider_lets_in_get_an_account_where_the_installation_says_so(
    provider: SamlIdentityProvider, settings: Settings
) -> None:
    use(settings, replace(settings.SAML, admits_new_people=True))
    client = Client()
    come_back(client, provider)

    made = User.objects.get()
    assert client.session[SESSION_KEY] == str(made.pk)
    assert (made.is_superuser, made.is_staff) == (False, False)


def test_a_deactivated_person_is_refused(provider: SamlIdentityProvider, rex: User) -> None:
    confirm_address(rex, "rex@example.org")
    User.objects.update(is_active=False)
    client = Client()

    assert "Your account is deactivated" in come_back(client, provider)
    assert SESSION_KEY not in client.session


def test_a_person_connects_their_account_unless_their_name_changes_at_each_sign_in(
    provider: SamlIdentityProvider, rex: User
) -> None:
    client = Client()
    client.force_login(rex)
    kept = provider.name_id_format
    provider.name_id_format = "urn:oasis:names:tc:SAML:2.0:nameid-format:transient"
    assert "by a name that stays the same" in come_back(client, provider, f"{LOGIN}?process=connect")
    provider.name_id_format = kept
    come_back(client, provider, f"{LOGIN}?process=connect")

    assert SocialAccount.objects.get().user == rex
    assert "Lab login" in client.get("/account/sign-on/").content.decode()


def test_our_metadata_name_the_address_of_answers(provider: SamlIdentityProvider) -> None:
    page = Client().get(f"{LOGIN}metadata/").content.decode()

    assert 'entityID="http://testserver/account/saml/sso/metadata/"' in page
    assert 'Location="http://testserver/account/saml/sso/acs/"' in page


def test_without_the_setting_there_are_no_such_pages(rex: User) -> None:
    for name in ("", "acs/finish/", "metadata/"):
        assert Client().get(LOGIN + name).status_code == 404


def test_metadata_that_cannot_be_used_are_refused_in_words(
    provider: SamlIdentityProvider, settings: Settings
) -> None:
    configuration = settings.SAML
    file = Path(configuration.metadata)
    two = f"{provider.metadata()}{provider.metadata('https://other.example.org')}"
    namespace = "urn:oasis:names:tc:SAML:2.0:metadata"
    together = f'<md:EntitiesDescriptor xmlns:md="{namespace}">{two}</md:EntitiesDescriptor>'

    for content, reason in (
        ("no XML", "is not XML"),
        ('<!DOCTYPE x [<!ENTITY a "b">]><x>&a;</x>', "is not XML"),
        ("<x/>", "describe no identity provider"),
        (together, "describe 2 providers"),
        (
            provider.metadata().replace("HTTP-Redirect", "HTTP-POST"),
            "no address for the binding HTTP-Redirect",
        ),
        (provider.metadata().replace("X509Certificate>", "X509SKI>"), "no certificate for signatures"),
    ):
        file.write_text(content)
        with pytest.raises(MetadataError, match=reason):
            read_identity_provider(configuration)
    file.write_text(together)
    assert read_identity_provider(replace(configuration, provider=ENTITY_ID))["entityId"] == ENTITY_ID
    with pytest.raises(MetadataError, match="do not describe https://third"):
        read_identity_provider(replace(configuration, provider="https://third.example.org"))
    file.unlink()
    page = Client().get(LOGIN).content.decode()
    assert "cannot be reached, or its metadata cannot be used" in page


@pytest.mark.parametrize(
    ("variables", "sentence"),
    [
        ({"METADATA": "http://login.example.org/saml"}, "is not an https address"),
        ({"METADATA": "/no/such/file"}, "is neither an address nor a file"),
        ({"PROVIDER": "a b"}, "is not an entity id"),
        ({"MAIL_DOMAINS": "a@example.org"}, "which is not a domain"),
        ({"ATTRIBUTES": "mail"}, "has 'mail', which cannot be read"),
    ],
)
def test_values_that_cannot_be_used_keep_programs_from_starting(
    monkeypatch: pytest.MonkeyPatch, variables: dict[str, str], sentence: str
) -> None:
    for name, value in ({"METADATA": __file__} | variables).items():
        monkeypatch.setenv(f"TURNWISE_SAML_{name}", value)
    with pytest.raises(SystemExit, match=sentence):
        read_saml_configuration(admits_new_people=False)


def test_doctor_says_whether_the_metadata_can_be_used(
    provider: SamlIdentityProvider, settings: Settings
) -> None:
    (found,) = check_saml(settings.SAML)
    assert (found.state, found.sentence) == (State.OK, f"The metadata describe {ENTITY_ID}.")

    (found,) = check_saml(replace(settings.SAML, metadata="/no/such/file"))
    assert found.state == State.PROBLEM
    assert found.sentence.startswith("The metadata at /no/such/file cannot be read")


def test_without_the_library_programs_do_not_start_once_saml_is_set(monkeypatch: pytest.MonkeyPatch) -> None:
    """A name that is no module stands for an environment without the extra."""
    monkeypatch.setattr(saml_configuration, "MODULES", ("onelogin", "no_such_module"))
    monkeypatch.setenv("TURNWISE_SAML_METADATA", __file__)

    with pytest.raises(SystemExit, match=r"Install it with pip install 'turnwise\[saml\]'"):
        read_saml_configuration(admits_new_people=False)
