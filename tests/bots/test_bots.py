from concurrent.futures import ThreadPoolExecutor

import pytest
from asgiref.sync import sync_to_async
from django.db import connection

from chatbots.base import Context
from chatbots.errors import BotFailedError, ChatbotError
from turnwise.bots.hosting import client, resident_bots
from turnwise.bots.models import Bot, BotVersion
from turnwise.bots.services import register_bot, version_of

HELLO = Context.from_texts(["Hello"])


@pytest.mark.parametrize(
    ("adapter", "configuration", "message"),
    [
        ("skripted", {}, "Did you mean 'scripted'"),
        ("scripted", {"replies": []}, "replies"),
        ("scripted", {"colour": "red"}, "colour"),
    ],
)
def test_a_bot_that_cannot_be_made_is_not_stored(
    db: None, adapter: str, configuration: dict[str, object], message: str
) -> None:
    with pytest.raises(ChatbotError, match=message):
        register_bot(name="wrong", title="Wrong", adapter=adapter, configuration=configuration)

    assert Bot.objects.count() == 0


def test_a_version_is_stored_once_and_a_change_is_a_new_one(db: None) -> None:
    bot = register_bot(name="scripty", title="Scripty", adapter="scripted")

    first = version_of(bot, {"adapter": "scripted", "configuration": {"a": 1, "b": 2}})
    again = version_of(bot, {"configuration": {"b": 2, "a": 1}, "adapter": "scripted"})
    other = version_of(bot, {"adapter": "scripted", "configuration": {"a": 1, "b": 3}})

    assert first == again != other
    assert BotVersion.objects.count() == 2
    assert first.name == f"v1 · {first.fingerprint[:7]}"
    assert other.name.startswith("v2 · ")


def test_versions_that_come_at_once_have_different_numbers(transactional_db: None) -> None:
    bots = [register_bot(name=name, title=name, adapter="scripted") for name in ("one", "two")]

    def see(of: int) -> None:
        try:
            version_of(bots[of % 2], {"of": of % 10})
        finally:
            connection.close()

    with ThreadPoolExecutor(8) as threads:
        list(threads.map(see, range(40)))

    for bot in bots:
        assert sorted(bot.versions.values_list("number", flat=True)) == [1, 2, 3, 4, 5]


async def test_a_bot_registered_later_is_hosted_when_it_is_asked(transactional_db: None) -> None:
    bot = await sync_to_async(register_bot)(name="late", title="Late", adapter="generic")
    try:
        reply = await client.reply(bot.pk, HELLO)
    finally:
        resident_bots.close()

    assert reply.response.text == "ok"
    version = await BotVersion.objects.aget(pk=reply.version_id)
    assert version.details["adapter"] == "generic"


async def test_a_bot_switched_off_fails_with_the_cure(transactional_db: None) -> None:
    bot = await sync_to_async(register_bot)(name="off", title="Off", adapter="generic")
    await Bot.objects.filter(pk=bot.pk).aupdate(active=False)

    with pytest.raises(BotFailedError, match=r"Off is switched off.*switch it on under Bots"):
        await client.reply(bot.pk, HELLO)


async def test_a_bot_that_failed_to_load_is_loaded_again_once_it_is_mended(
    transactional_db: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    bot = await Bot.objects.acreate(name="odd", adapter="scripted", configuration={"replies": []})
    try:
        with pytest.raises(BotFailedError, match="could not be loaded"):
            await client.reply(bot.pk, HELLO)
        await Bot.objects.filter(pk=bot.pk).aupdate(configuration={"replies": ["Mended."]})
        with pytest.raises(BotFailedError, match="could not be loaded"):  # not at every request
            await client.reply(bot.pk, HELLO)
        monkeypatch.setattr(resident_bots, "RELOAD_SECONDS", -1.0)
        reply = await client.reply(bot.pk, HELLO)
    finally:
        resident_bots.close()

    assert reply.response.text == "Mended."
