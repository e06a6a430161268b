import hashlib
import json
from collections.abc import Mapping
from typing import Any

from bots.models import Bot, BotVersion
from chatbots.registry import REGISTRY


def register_bot(
    *, name: str, title: str, adapter: str, configuration: Mapping[str, Any] | None = None
) -> Bot:
    """Store a bot once its configuration is known to be right.

    Raises:
        chatbots.errors.ChatbotError: no such adapter, or a configuration it refuses; nothing is stored.
    """
    REGISTRY.configuration(adapter, configuration or {})  # loading it is the host's, and may take minutes
    bot, _ = Bot.objects.get_or_create(
        name=name, defaults={"title": title, "adapter": adapter, "configuration": dict(configuration or {})}
    )
    return bot


def note_memory(bot: Bot, memory_bytes: int) -> None:
    """Remember how much memory the bot took, so that the next load can be refused before it starts."""
    bot.memory_bytes = memory_bytes
    Bot.objects.filter(pk=bot.pk).update(memory_bytes=memory_bytes)


def version_of(bot: Bot, details: Mapping[str, Any]) -> BotVersion:
    """The stored version with exactly these details; created on first sight."""
    canonical = json.dumps(details, sort_keys=True, separators=(",", ":"), default=str)
    version, _ = BotVersion.objects.get_or_create(
        bot=bot,
        fingerprint=hashlib.sha256(canonical.encode()).hexdigest(),
        defaults={"details": json.loads(canonical)},
    )
    return version
