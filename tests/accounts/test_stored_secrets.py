"""Secrets that people type are encrypted in the database, and keys can be rotated."""

import logging

import pytest
from django.core.management import call_command
from django.db import connection
from pytest_django.fixtures import Settings

from chatbots.base import BotConfiguration
from turnwise.accounts.models import User
from turnwise.bots.models import Bot, BotRevision
from turnwise.bots.services import register_bot
from turnwise.live.encryption.ciphers import MARK, decrypt, encrypt
from turnwise.live.encryption.fields import SECRET_NAMES, opened, sealed
from turnwise.webhooks import services as webhooks
from turnwise.webhooks.models import Webhook

KEY = "sk-typed-into-a-form"
OLD, NEW = "old key " * 5, "new key " * 5


def raw(sql: str) -> str:
    with connection.cursor() as cursor:
        cursor.execute(sql)
        return " ".join(str(value) for row in cursor.fetchall() for value in row)


@pytest.mark.django_db
def test_a_dump_holds_no_key_of_a_bot_and_no_secret_of_a_webhook(rex: User) -> None:
    configuration = {"base_url": "https://example.org/v1", "model": "m", "api_key": KEY}
    bot = register_bot(
        name="paid", title="Paid", adapter="openai-chat", configuration=configuration, owner=rex
    )
    hook = webhooks.create(
        rex, address="https://lab.example.org/", events=["study.filled"], study=None, site="http://t"
    )

    stored = raw("SELECT configuration FROM bots_bot UNION ALL SELECT configuration FROM bots_botrevision")
    assert KEY not in stored
    assert stored.count(MARK) == 2
    assert "https://example.org/v1" in stored
    assert Bot.objects.get(pk=bot.pk).configuration["api_key"] == KEY
    assert BotRevision.objects.get().configuration["api_key"] == KEY
    kept = raw("SELECT secret FROM webhooks_webhook")
    assert kept.startswith(MARK)
    assert hook.secret not in kept
    assert Webhook.objects.get().secret == hook.secret


@pytest.mark.django_db
def test_after_a_rotation_the_old_key_is_not_needed(settings: Settings, rex: User) -> None:
    settings.SECRET_KEYS = (OLD,)
    hook = webhooks.create(
        rex, address="https://lab.example.org/", events=["study.filled"], study=None, site="http://t"
    )
    before = raw("SELECT secret FROM webhooks_webhook")
    settings.SECRET_KEYS = (NEW, OLD)
    assert Webhook.objects.get().secret == hook.secret

    call_command("rotate_secrets")

    assert raw("SELECT secret FROM webhooks_webhook") != before
    settings.SECRET_KEYS = (NEW,)
    assert Webhook.objects.get().secret == hook.secret


def test_a_secret_whose_key_is_gone_is_kept_and_named_in_the_log(
    settings: Settings, caplog: pytest.LogCaptureFixture
) -> None:
    settings.SECRET_KEYS = (OLD,)
    stored = encrypt("a secret")
    settings.SECRET_KEYS = (NEW,)

    with caplog.at_level(logging.ERROR):
        unread = decrypt(stored)

    assert "TURNWISE_SECRET_KEYS" in caplog.text
    assert encrypt(unread) == stored
    settings.SECRET_KEYS = (NEW, OLD)
    assert decrypt(stored) == "a secret"


def test_secrets_at_any_depth_are_sealed_and_nothing_else() -> None:
    settings = {"title": "T", "inner": [{"api_key": "one"}, {"api_key": "", "keys": 3}], "token": ["two"]}
    stored = sealed(settings)

    assert stored["title"] == "T"
    assert str(stored).count(MARK) == 2
    assert opened(stored) == settings


def test_no_bot_declares_a_secret_under_another_name() -> None:
    declared = {
        name
        for model in subclasses(BotConfiguration)
        for name, field in model.model_fields.items()
        if "SecretStr" in str(field.annotation)
    }
    assert "api_key" in declared
    assert declared <= SECRET_NAMES


def subclasses(model: type[BotConfiguration]) -> set[type[BotConfiguration]]:
    return {each for child in model.__subclasses__() for each in (child, *subclasses(child))}
