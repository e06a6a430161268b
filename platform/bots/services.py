import hashlib
import json
import logging
import math
from collections.abc import Mapping
from typing import Any

from django.core.exceptions import ValidationError

from accounts.models import User
from bots.models import LONGEST_NOTE, Bot, BotVersion
from chatbots.registry import REGISTRY

log = logging.getLogger(__name__)


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


def version_of(bot: Bot, details: Mapping[str, Any]) -> BotVersion:
    """The stored version with exactly these details; created on first sight."""
    canonical = json.dumps(details, sort_keys=True, separators=(",", ":"), default=str)
    version, _ = BotVersion.objects.get_or_create(
        bot=bot,
        fingerprint=hashlib.sha256(canonical.encode()).hexdigest(),
        defaults={"details": json.loads(canonical), **_reported_perplexity(details)},
    )
    return version


def _reported_perplexity(details: Mapping[str, Any]) -> dict[str, Any]:
    """The fields of a version whose bot tells its own perplexity: {"perplexity", "data", "tokenizer"}."""
    reported = details.get("perplexity")
    if reported is None:
        return {}
    try:
        fields = _perplexity_fields(
            float(reported["perplexity"]), str(reported["data"]), str(reported.get("tokenizer", ""))
        )
    except (TypeError, ValueError, KeyError, AttributeError, ValidationError) as error:
        log.warning("The reported perplexity %r is left out: %s", reported, error)
        return {}
    return fields


def reports_perplexity(version: BotVersion) -> bool:
    """Whether the perplexity of this version is what the bot tells, and so nobody else's to enter."""
    return bool(_reported_perplexity(version.details))


def record_perplexity(
    version: BotVersion, *, perplexity: float | None, data: str, tokenizer: str, by: User
) -> None:
    """Note the perplexity that was measured of a version; None takes the note back.

    Raises:
        ValidationError: a value that no perplexity has, no word on the data, or a version whose bot reports
            its perplexity itself.
    """
    if reports_perplexity(version):
        raise ValidationError(
            "The bot reports the perplexity of this version itself, with its fingerprint. To change it, "
            "correct what the bot reports; that makes a new version."
        )
    fields = {"perplexity": None, "perplexity_data": "", "perplexity_tokenizer": ""}
    entered_by = None
    if perplexity is not None:
        fields, entered_by = _perplexity_fields(perplexity, data, tokenizer), by
    BotVersion.objects.filter(pk=version.pk).update(**fields, perplexity_entered_by=entered_by)


def _perplexity_fields(perplexity: float, data: str, tokenizer: str) -> dict[str, Any]:
    if not math.isfinite(perplexity) or not 1 <= perplexity < 1e12:
        raise ValidationError(f"{perplexity:g} is no perplexity. Give a number of at least 1.")
    notes = {"perplexity_data": " ".join(data.split()), "perplexity_tokenizer": " ".join(tokenizer.split())}
    if not notes["perplexity_data"]:
        raise ValidationError("Say on which held-out data the perplexity was measured.")
    for note in notes.values():
        if len(note) > LONGEST_NOTE:
            raise ValidationError(f"A note has {len(note)} characters. Shorten it to {LONGEST_NOTE}.")
    return {"perplexity": perplexity, **notes}
