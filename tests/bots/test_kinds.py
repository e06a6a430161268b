"""The page on which the kind of a new bot is chosen."""

import re

import pytest

from chatbots.registry import REGISTRY
from tests.planted import SignIn
from turnwise.accounts.models import User
from turnwise.bots.queries import COMMON_KINDS

pytestmark = pytest.mark.django_db


def linked(html: str) -> list[str]:
    return re.findall(r'href="/bots/new/([\w-]+)/"', html)


def test_five_kinds_come_first_and_all_are_folded_below(rex: User, sign_in: SignIn) -> None:
    page = sign_in(rex).get("/bots/new/").content.decode()

    first, rest = page.split('id="all-kinds"')
    assert linked(first) == list(COMMON_KINDS)
    assert len(COMMON_KINDS) == 5
    assert sorted(linked(rest)) == sorted(REGISTRY.registered_names())
    assert rest.startswith(">")  # closed


def test_a_search_opens_the_list_and_keeps_what_has_every_word(rex: User, sign_in: SignIn) -> None:
    client = sign_in(rex)

    found = client.get("/bots/new/?find=HUGGING+face").content.decode().split('id="all-kinds"')[1]
    none = client.get("/bots/new/", {"find": "<b>zeppelin"}).content.decode()

    assert found.startswith(" open")
    assert linked(found) == ["huggingface-causal", "huggingface-chat", "huggingface-seq2seq"]
    assert "No kind of bot has these words." in none
    assert "&lt;b&gt;zeppelin" in none


@pytest.mark.parametrize("name", COMMON_KINDS)
def test_every_common_kind_exists(name: str) -> None:
    assert REGISTRY.describe(name).summary
