"""The form of a chat service shows the messages as sent, and the service's models."""

import html
import json
from typing import Any

import pytest

from tests.chatbots.local_service import Sent, running
from turnwise.accounts.models import User
from turnwise.bots.models import Bot

FORM = {
    "name": "llm",
    "title": "LLM",
    "setting-base_url": "https://api.example.org/v1",
    "setting-model": "m",
    "setting-system": "Be kind.",
    "setting-stream": "on",
    "setting-material": "Know: {material}",
    "setting-timeout": "60",
    "setting-retries": "2",
    "setting-parallel": "64",
    "setting-parameters": "{}",
    "setting-headers": "{}",
    "setting-query": "{}",
    "setting-key_header": "Authorization",
    "setting-key_prefix": "Bearer ",
    "setting-token_limit_name": "max_tokens",
    "setting-candidates": "1",
}
NEW = "/bots/new/openai-chat/"


@pytest.fixture(autouse=True)
def _this_machine_is_allowed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TURNWISE_ALLOWED_NETWORKS", "127.0.0.0/8")


def test_the_messages_are_shown_as_sent_and_nothing_is_stored(rex: User, sign_in: Any) -> None:
    page = sign_in(rex).post(NEW, FORM | {"preview": "messages"}).content.decode()

    text = page.partition("<pre ")[2].partition(">")[2].partition("</pre>")[0]
    shown = json.loads(html.unescape(text))
    assert shown["messages"][0]["content"].startswith("Be kind.\n\nKnow: A title\n")
    assert [message["role"] for message in shown["messages"]] == ["system", "user", "assistant", "user"]
    assert not Bot.objects.filter(name="llm").exists()


def test_lines_of_a_text_area_end_as_the_model_expects(rex: User, sign_in: Any) -> None:
    sent = FORM | {"setting-system": "Be kind.\r\nBe short.", "preview": "messages"}

    page = sign_in(rex).post(NEW, sent).content.decode()

    assert "Be kind.\\nBe short." in html.unescape(page)


def test_a_key_is_not_shown(rex: User, sign_in: Any) -> None:
    page = sign_in(rex).post(NEW, FORM | {"preview": "messages", "setting-api_key": "sk-9"}).content.decode()

    assert "&quot;messages&quot;" in page
    assert "sk-9" not in page


def test_the_models_of_the_service_can_be_chosen(rex: User, sign_in: Any) -> None:
    with running(lambda received: Sent({"data": [{"id": "m-1"}, {"id": "<m-2>"}]})) as service:
        sent = FORM | {"setting-base_url": service.url, "setting-model": "", "setting-api_key": "sk-9"}
        page = sign_in(rex).post(NEW, sent | {"preview": "models"}).content.decode()

    assert "The service offers 2 models." in page
    assert '<option value="&lt;m-2&gt;">' in page
    assert 'list="models"' in page
    assert service.received[0].headers["authorization"] == "Bearer sk-9"
    assert "sk-9" not in page


def test_why_no_models_can_be_listed_is_said(rex: User, sign_in: Any) -> None:
    with running(lambda received: Sent({"error": "bad key sk-9"}, status=401)) as service:
        sent = FORM | {"setting-base_url": service.url, "setting-api_key": "sk-9", "preview": "models"}
        page = sign_in(rex).post(NEW, sent).content.decode()

    assert "401 Unauthorized" in page
    assert "bad key (hidden)" in page


@pytest.mark.parametrize("address", ["http://10.0.0.1/v1", "http://127.0.0.1.nip.invalid/"])
def test_no_list_is_fetched_from_elsewhere(rex: User, sign_in: Any, address: str) -> None:
    sent = FORM | {"setting-base_url": address, "preview": "models"}

    page = sign_in(rex).post(NEW, sent).content.decode()

    assert "The service offers" not in page
    assert "note--bad" in page


def test_a_bot_that_is_no_chat_service_has_no_previews(rex: User, sign_in: Any) -> None:
    assert "Preview the messages" not in sign_in(rex).get("/bots/new/scripted/").content.decode()


def test_enter_saves(rex: User, sign_in: Any) -> None:
    page = sign_in(rex).get(NEW).content.decode()

    form = page.partition('<form method="post" novalidate>')[2]
    assert form.partition("<button")[2].startswith(' class="button--main"')  # browsers press the first button


def test_the_system_prompt_has_several_lines(rex: User, sign_in: Any) -> None:
    page = sign_in(rex).get(NEW).content.decode()

    assert '<textarea name="setting-system"' in page
