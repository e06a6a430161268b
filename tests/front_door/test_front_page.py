"""The first page of an installation, and the demo conversation that anybody may have."""

import json
from pathlib import Path
from typing import Any

import pytest
from django.core.cache import cache
from django.test import Client
from pytest_django.fixtures import Settings

from turnwise.accounts.models import User
from turnwise.bots.models import Bot
from turnwise.bots.services import register_bot
from turnwise.dialogues.models import Dialogue
from turnwise.front_door import demo

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture(autouse=True)
def _uncounted() -> None:
    cache.clear()


@pytest.fixture
def bot() -> Bot:
    return register_bot(name="generic", title="GenericBot", adapter="generic")


def sent(client: Client, *turns: str, **more: Any) -> Any:
    return client.post("/demo/reply/", json.dumps({"turns": turns, **more}), content_type="application/json")


def test_a_stranger_reads_what_this_is_and_can_sign_in(client: Client, bot: Bot) -> None:
    page = client.get("/").content.decode()

    for words in ("You were sent a link", "You run studies", "You read a report", "Try it for a minute"):
        assert words in page
    assert 'action="/sign-in/"' in page


def test_it_offers_every_way_to_sign_in(client: Client, bot: Bot, settings: Settings) -> None:
    settings.OIDC_ISSUER, settings.OIDC_NAME = "https://login.example.org", "the university"

    page = client.get("/").content.decode()

    assert "Username or e-mail address" in page
    assert "Sign in with the university" in page
    assert 'href="/sign-in/">Sign in with a passkey' in page
    assert 'href="/password/reset/">Forgot your password?' in page


def test_who_is_signed_in_goes_on_to_home(client: Client, rex: User) -> None:
    client.force_login(rex)

    assert client.get("/")["Location"] == "/home/"


def test_signing_in_on_the_first_page(client: Client, rex: User) -> None:
    rex.set_password("correct horse")
    rex.save()

    answer = client.post("/sign-in/", {"username": "rex", "password": "correct horse"})

    assert answer["Location"] == "/home/"


def test_the_name_logo_and_texts_are_the_installations(
    client: Client, settings: Settings, tmp_path: Path
) -> None:
    (tmp_path / "logo.svg").write_text('<svg xmlns="http://www.w3.org/2000/svg"/>')
    (tmp_path / "imprint.md").write_text("**Dialogue lab**\n\n<script>alert(1)</script>")
    settings.INSTALLATION_NAME, settings.CONTACT = "Lab <of> dialogue", "lab@example.org"
    settings.LOGO, settings.IMPRINT = tmp_path / "logo.svg", tmp_path / "imprint.md"

    page = client.get("/").content.decode()
    imprint = client.get("/imprint/").content.decode()

    assert "Lab &lt;of&gt; dialogue" in page
    assert 'href="mailto:lab@example.org"' in page
    assert 'src="/logo"' in page
    assert 'href="/imprint/"' in page
    assert 'href="/privacy-notice/"' not in page
    assert client.get("/logo")["Content-Type"] == "image/svg+xml"
    assert "<strong>Dialogue lab</strong>" in imprint
    assert "<script>alert" not in imprint


@pytest.mark.parametrize("address", ["/logo", "/imprint/", "/privacy-notice/"])
def test_what_the_installation_has_not_set_is_not_found(client: Client, address: str) -> None:
    assert client.get(address).status_code == 404


def test_the_demo_answers_and_stores_nothing(client: Client, bot: Bot) -> None:
    answer = sent(client, "Hello", "Hi there", "How are you?")

    assert answer.status_code == 200
    assert answer.json()["text"]
    assert set(answer.json()) == {"text"}
    assert not Dialogue.objects.exists()
    assert "sessionid" not in answer.cookies


def test_a_message_needs_the_token_of_the_page(bot: Bot) -> None:
    assert sent(Client(enforce_csrf_checks=True), "Hello").status_code == 403


@pytest.mark.parametrize(
    ("turns", "says"),
    [
        (["Hi"] * 11, "The demo ends after 5 messages."),
        (["x" * 301], "A message of the demo has at most 300 characters."),
        (["Hi", "x" * 2001, "Hi"], "One of the replies is longer"),
        ([" "], "The last turn is empty"),
        ([], '"turns" must be a list'),
    ],
)
def test_what_is_no_demo_conversation_is_refused(
    client: Client, bot: Bot, turns: list[str], says: str
) -> None:
    answer = sent(client, *turns)

    assert answer.status_code == 422
    assert says in answer.json()["error"]


def test_what_is_no_json_is_refused(client: Client, bot: Bot) -> None:
    assert client.post("/demo/reply/", {"turns": "Hi"}).status_code == 422


def test_one_network_cannot_ask_without_end(client: Client, bot: Bot) -> None:
    statuses = [sent(client, "Hello").status_code for _ in range(21)]

    assert statuses == [200] * 20 + [429]


def test_an_operator_chooses_the_bot_or_none(client: Client, settings: Settings, bot: Bot) -> None:
    other = register_bot(name="mine", title="Mine", adapter="scripted", configuration={"replies": ["Moin"]})
    assert demo.demo_bot() == bot
    settings.DEMO_BOT = "mine"
    assert demo.demo_bot() == other
    assert sent(client, "Hello").json() == {"text": "Moin"}

    settings.DEMO_BOT = "none"

    assert "Try it for a minute" not in client.get("/").content.decode()
    assert sent(client, "Hello").status_code == 404


def test_a_bot_of_another_kind_with_a_shipped_name_is_not_offered(client: Client) -> None:
    register_bot(name="eliza", title="Paid", adapter="scripted", configuration={"replies": ["Hm"]})

    assert demo.demo_bot() is None


def test_a_bot_that_fails_tells_strangers_nothing_of_its_settings(client: Client, settings: Settings) -> None:
    register_bot(
        name="broken",
        title="Broken",
        adapter="openai-chat",
        configuration={"base_url": "https://secret-host.invalid/v1", "model": "secret-model"},
    )
    settings.DEMO_BOT = "broken"

    answer = sent(client, "Hello")

    assert answer.status_code == 503
    assert answer.json() == {"error": "The chatbot did not answer. Send it again."}
