import hashlib
import json
import logging
import math
from collections.abc import Iterable, Mapping
from typing import Any

from django.core.exceptions import ValidationError
from django.db import transaction
from django.db.models import Max
from django.utils.text import slugify
from django.utils.translation import gettext
from pydantic import SecretStr

from chatbots.errors import ChatbotError, DuplicateBotError
from turnwise.accounts.models import User
from turnwise.bots import composition
from turnwise.bots.models import LONGEST_NOTE, OUTSIDE, RESERVED_NAMES, Bot, BotRevision, BotVersion

MASK = str(SecretStr("any"))
"""Pydantic's mask of a secret."""

log = logging.getLogger(__name__)


@transaction.atomic
def register_bot(
    *,
    name: str,
    title: str,
    adapter: str,
    configuration: Mapping[str, Any] | None = None,
    owner: User | None = None,
) -> Bot:
    """Register a bot with a valid configuration. Idempotent for the same values.

    The bot is private until it is shared; a bot that comes with Turnwise has no owner and is open to all.

    Raises:
        chatbots.errors.ChatbotError: no such adapter, a configuration it refuses, or the name belongs to
            another bot or page; nothing is stored.
    """
    settings = dict(configuration or {})
    if name in RESERVED_NAMES:
        raise DuplicateBotError(f"'{name}' is the address of another page. Choose another name.")
    settings = composition.pinned(adapter, settings, by=owner)
    composition.configuration_of(adapter, settings)  # the host loads it, which may take minutes
    bot, is_new = Bot.objects.get_or_create(
        name=name,
        defaults={
            "title": title,
            "adapter": adapter,
            "configuration": settings,
            "owner": owner,
            "open_to_all": owner is None,
        },
    )
    if is_new:
        BotRevision.objects.create(bot=bot, number=1, configuration=settings, made_by=owner)
    elif (bot.title, bot.adapter, bot.configuration, bot.owner) != (title, adapter, settings, owner):
        raise DuplicateBotError(f"A bot is called '{name}' already. Choose another name, or change that bot.")
    return bot


@transaction.atomic
def share(
    bot: Bot, *, named: Iterable[User], open_to_all: bool, operators: Iterable[User] | None = None
) -> None:
    """Set who may see and use the bot besides its owner and admins: these people, or everyone who signs in.

    Studies that have it already keep it. `operators` may answer in its place; None: unchanged.
    """
    Bot.objects.filter(pk=bot.pk).update(open_to_all=open_to_all)
    bot.open_to_all = open_to_all
    bot.shared_with.set(named)
    if operators is not None:
        bot.operators.set(operators)


@transaction.atomic
def change_bot(
    bot_id: int,
    *,
    title: str,
    configuration: Mapping[str, Any],
    by: User | None,
    seen_revision: int | None = None,
) -> Bot:
    """Give a bot another title or configuration; another configuration is a new revision.

    Its hosts reload it within seconds. Earlier replies keep their version.

    Args:
        bot_id: which bot.
        title: the new one, or the one that it has.
        configuration: the whole of it.
        by: who changes it.
        seen_revision: the newest revision that they saw; None: do not check it.

    Raises:
        chatbots.errors.ChatbotError: the adapter refuses the configuration, or somebody made a revision
            that was not seen; nothing is stored.
    """
    bot = Bot.objects.select_for_update().get(pk=bot_id)
    newest = newest_revision(bot)
    if seen_revision is not None and seen_revision != newest:
        raise ChatbotError(
            f"The settings were changed meanwhile: this is revision {seen_revision}, the newest is {newest}. "
            "Reload the page and make your change there."
        )
    settings = {key: with_secrets(value, bot.configuration.get(key)) for key, value in configuration.items()}
    settings = composition.pinned(bot.adapter, settings, by=by, of=bot)
    if _means_the_same(bot, settings):
        settings = bot.configuration
    else:
        BotRevision.objects.create(bot=bot, number=newest + 1, configuration=settings, made_by=by)
        bot.memory_bytes = None  # was measured with other settings
    bot.title, bot.configuration = title, settings
    bot.save(update_fields=["title", "configuration", "memory_bytes"])
    return bot


def newest_revision(bot: Bot) -> int:
    """Number of the newest revision; 0 if there is none."""
    newest = bot.revisions.first()
    return newest.number if newest else 0


def _means_the_same(bot: Bot, settings: Mapping[str, Any]) -> bool:
    """True if the settings equal those of the bot once defaults are filled in.

    Raises:
        chatbots.errors.ChatbotError: the adapter refuses them.
    """
    configuration = composition.configuration_of(bot.adapter, settings)
    try:
        return configuration == composition.configuration_of(bot.adapter, bot.configuration)
    except ChatbotError:  # an adapter that has changed since
        return False


def with_secrets(sent: Any, stored: Any) -> Any:
    """Replace masks in submitted settings by the stored secrets."""
    if isinstance(sent, Mapping):
        inner = stored if isinstance(stored, Mapping) else {}
        return {key: with_secrets(value, inner.get(key)) for key, value in sent.items()}
    return stored if sent == MASK and isinstance(stored, str) else sent


def set_active(bot_id: int, active: bool) -> None:
    """Switch a bot on or off. Hosts unload a bot that is off, and it gets no new workers."""
    Bot.objects.filter(pk=bot_id).update(active=active)


def set_watched(bot_id: int, watched: bool) -> None:
    """Begin or end the daily check for drift, as for a service that is paid by the request."""
    Bot.objects.filter(pk=bot_id).update(watched=watched)


def record_memory(bot: Bot, memory_bytes: int) -> None:
    """Store the bot's memory use, so that the next load can be refused in advance."""
    bot.memory_bytes = memory_bytes
    Bot.objects.filter(pk=bot.pk).update(memory_bytes=memory_bytes)


def outside_system(title: str) -> Bot:
    """Get or create the outside system with this title, ignoring case.

    It is a bot that cannot be loaded, so that everything that groups by bot works.
    """
    system = Bot.objects.filter(adapter=OUTSIDE, title__iexact=title).order_by("pk").first()
    if system:
        return system
    digest = hashlib.sha256(title.casefold().encode()).hexdigest()[:8]
    name = slugify(title)[:40] or "system"
    if (
        name in ("system", *RESERVED_NAMES) or Bot.objects.filter(name=name).exists()
    ):  # no Latin letters, or taken
        name = f"{name}-{digest}"
    bot, _ = Bot.objects.get_or_create(
        name=name, defaults={"title": title, "adapter": OUTSIDE, "active": False}
    )
    return bot


def version_of(bot: Bot, details: Mapping[str, Any]) -> BotVersion:
    """The stored version with exactly these details; created on first sight, with the bot's next number."""
    canonical = json.dumps(details, sort_keys=True, separators=(",", ":"), default=str)
    same = {"bot": bot, "fingerprint": hashlib.sha256(canonical.encode()).hexdigest()}
    if existing := BotVersion.objects.filter(**same).first():
        return existing
    with transaction.atomic():
        Bot.objects.select_for_update(no_key=True).get(pk=bot.pk)  # serialises the numbering of versions
        newest = bot.versions.aggregate(number=Max("number"))["number"] or 0
        new = {"number": newest + 1, "details": json.loads(canonical), **_reported_perplexity(details)}
        return BotVersion.objects.get_or_create(**same, defaults=new)[0]


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
    """True if the bot reports the perplexity of this version itself, so that nobody can enter it."""
    return bool(_reported_perplexity(version.details))


def record_perplexity(
    version: BotVersion, *, perplexity: float | None, data: str, tokenizer: str, by: User
) -> None:
    """Record the measured perplexity of a version; None removes it.

    Raises:
        ValidationError: an impossible value, no note on the data, a version whose bot reports its perplexity
            itself, or a record that only others may change.
    """
    if reports_perplexity(version):
        raise ValidationError(
            gettext(
                "The bot reports the perplexity of this version itself, with its fingerprint. To change it, "
                "correct what the bot reports; that makes a new version."
            )
        )
    if version.perplexity is not None and not _may_overwrite(version, by):
        who = version.perplexity_entered_by or "Somebody"
        raise ValidationError(
            gettext("%(who)s entered this perplexity. They, the owner of the bot or an admin can change it.")
            % {"who": who}
        )
    fields = {"perplexity": None, "perplexity_data": "", "perplexity_tokenizer": ""}
    entered_by = None
    if perplexity is not None:
        fields, entered_by = _perplexity_fields(perplexity, data, tokenizer), by
    BotVersion.objects.filter(pk=version.pk).update(**fields, perplexity_entered_by=entered_by)


def _may_overwrite(version: BotVersion, by: User) -> bool:
    return by.is_superuser or by.pk in (version.perplexity_entered_by_id, version.bot.owner_id)


def _perplexity_fields(perplexity: float, data: str, tokenizer: str) -> dict[str, Any]:
    if not math.isfinite(perplexity) or not 1 <= perplexity < 1e12:
        raise ValidationError(
            gettext("%(perplexity)s is not a perplexity. Give a number of at least 1.")
            % {"perplexity": f"{perplexity:g}"}
        )
    notes = {"perplexity_data": " ".join(data.split()), "perplexity_tokenizer": " ".join(tokenizer.split())}
    if not notes["perplexity_data"]:
        raise ValidationError(gettext("Say on which held-out data the perplexity was measured."))
    for note in notes.values():
        if len(note) > LONGEST_NOTE:
            raise ValidationError(
                gettext("A note has %(n)s characters. Shorten it to %(longest_note)s.")
                % {"n": len(note), "longest_note": LONGEST_NOTE}
            )
    return {"perplexity": perplexity, **notes}
