import hashlib
import json
from collections.abc import Mapping
from typing import Any

from django.utils.text import slugify

from bots.models import OUTSIDE, Bot, BotVersion
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


def outside_system(title: str) -> Bot:
    """The system outside that is known by this title, whatever its case; registered on first sight.

    It is a bot without an adapter that could be loaded, so that everything that groups by bot works.
    """
    found = Bot.objects.filter(adapter=OUTSIDE, title__iexact=title).order_by("pk").first()
    if found:
        return found
    digest = hashlib.sha256(title.casefold().encode()).hexdigest()[:8]
    name = slugify(title)[:40] or "system"
    if name == "system" or Bot.objects.filter(name=name).exists():  # no Latin letters, or taken
        name = f"{name}-{digest}"
    bot, _ = Bot.objects.get_or_create(
        name=name, defaults={"title": title, "adapter": OUTSIDE, "active": False}
    )
    return bot


def version_of(bot: Bot, details: Mapping[str, Any]) -> BotVersion:
    """The stored version with exactly these details; created on first sight."""
    canonical = json.dumps(details, sort_keys=True, separators=(",", ":"), default=str)
    version, _ = BotVersion.objects.get_or_create(
        bot=bot,
        fingerprint=hashlib.sha256(canonical.encode()).hexdigest(),
        defaults={"details": json.loads(canonical)},
    )
    return version
