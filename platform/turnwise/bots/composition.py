"""Registered bots inside wrappers and ensembles, and the bots that a person may see.

Settings name a bot inside as `{"registered": "eliza", "revision": 2}`. A revision never changes, so the
outer bot stays the same when the inner one gets other settings. The inner settings, which may hold secrets,
are filled in only where the bot is checked or loaded.
"""

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from django.contrib.auth.models import AnonymousUser
from django.db.models import Q, QuerySet

from chatbots.base import BotConfiguration
from chatbots.errors import ConfigurationError, Problem, UnknownBotError
from chatbots.registry import REGISTRY
from turnwise.accounts.access import shared_with
from turnwise.accounts.models import User
from turnwise.bots.models import OPERATED, OUTSIDE, Bot, BotRevision


def visible_bots(user: User | AnonymousUser) -> QuerySet[Bot]:
    """The bots that this person may see with settings and figures, talk with and choose for studies.

    Of other bots in their studies they see only the title. An outside system has no settings; it is visible
    to anyone whose study has conversations with it.
    """
    talked_here = Q(adapter=OUTSIDE, study_bots__study__owner=user.pk)
    return shared_with(
        user,
        Bot.objects.all(),
        owner="owner",
        named="shared_with",
        everybody=Q(open_to_all=True) | talked_here,
    )


MOST_INSIDE = 16
"""Limit of bots inside one, at any depth: each takes memory and answers at every turn."""

Settings = Mapping[str, Any]


def configuration_of(adapter: str, settings: Settings) -> BotConfiguration:
    """Validated configuration of a bot, with the settings of the bots inside filled in.

    Raises:
        chatbots.errors.ChatbotError: the adapter refuses it, or a bot inside is gone.
    """
    return REGISTRY.configuration(adapter, filled(adapter, settings))


def filled(adapter: str, settings: Settings) -> dict[str, Any]:
    """The settings, with adapter and configuration of every registered bot inside.

    Raises:
        chatbots.errors.ChatbotError: there is no such adapter, or a bot inside is gone.
    """
    revisions = _revisions([inner for inner in _within(adapter, settings) if is_named(inner)])

    def fill(inner: dict[str, Any]) -> dict[str, Any]:
        if not is_named(inner):
            return inner
        revision = revisions.get((inner["registered"], inner.get("revision")))
        if revision is None:
            named = f"{inner['registered']} v{inner.get('revision')}"
            raise _refused(adapter, named, "there is no such bot any more. Choose another")
        settings = filled(revision.bot.adapter, revision.configuration)
        return inner | {"adapter": revision.bot.adapter, "configuration": settings}

    return _changed(adapter, settings, fill)


def pinned(adapter: str, settings: Settings, *, by: User | None, of: Bot | None = None) -> dict[str, Any]:
    """Settings with a revision for each registered bot inside; the newest if none is given.

    Args:
        adapter: adapter of the bot.
        settings: as entered.
        by: the person, who may not choose private bots of others; None: the installation itself.
        of: the bot that is changed; it may keep the bots that it has.

    Raises:
        chatbots.errors.ChatbotError: a bot inside cannot be chosen; nothing is stored.
    """
    named = [inner for inner in _within(adapter, settings) if is_named(inner)]
    if not named:
        return dict(settings)
    inner_names = [
        inner for inner in (_within(of.adapter, of.configuration) if of else ()) if is_named(inner)
    ]
    newest = _newest(named, by)

    def pin(inner: dict[str, Any]) -> dict[str, Any]:
        if not is_named(inner) or inner in inner_names:
            return inner
        name = inner["registered"]
        if others := sorted(set(inner) - {"registered", "revision"}):
            cure = f"a registered bot brings its own settings. Leave {', '.join(others)} out"
            raise _refused(adapter, name, cure)
        if name not in newest:
            raise _refused(adapter, name, "there is no such bot that you can use. Choose another")
        revision = inner.get("revision") or newest[name]
        if not isinstance(revision, int) or not 1 <= revision <= newest[name]:
            raise _refused(adapter, f"{name} v{revision}", f"its revisions go from 1 to {newest[name]}")
        return {"registered": name, "revision": revision}

    settings_with_pins = _changed(adapter, settings, pin)
    _refuse_circles(adapter, filled(adapter, settings_with_pins), of)
    return settings_with_pins


def choosable(user: User) -> QuerySet[Bot]:
    """The bots that this person may put inside another."""
    return visible_bots(user).filter(active=True).exclude(adapter__in=(OUTSIDE, OPERATED))


def is_named(inner: Any) -> bool:
    """True if the settings of an inner bot name a registered one."""
    return isinstance(inner, Mapping) and isinstance(inner.get("registered"), str)


def _newest(named: list[dict[str, Any]], by: User | None) -> dict[str, int]:
    """The number of the newest revision of each of these bots that this person may choose, by name."""
    bots = (choosable(by) if by else Bot.objects.exclude(adapter__in=(OUTSIDE, OPERATED))).filter(
        name__in={inner["registered"] for inner in named}
    )
    rows = BotRevision.objects.filter(bot__in=bots.order_by().values("pk")).order_by("number")
    return dict(rows.values_list("bot__name", "number"))


def _revisions(named: list[dict[str, Any]]) -> dict[tuple[str, Any], BotRevision]:
    condition = Q()
    for inner in named:
        if isinstance(inner.get("revision"), int):
            condition |= Q(bot__name=inner["registered"], number=inner["revision"])
    rows = BotRevision.objects.filter(condition).select_related("bot") if condition else ()
    return {(row.bot.name, row.number): row for row in rows}


def _refuse_circles(adapter: str, whole: Settings, of: Bot | None) -> None:
    inside = list(_within(adapter, whole))
    if of and any(inner.get("registered") == of.name for inner in inside):
        raise _refused(adapter, of.name, "a bot cannot be inside itself. Choose another")
    if len(inside) > MOST_INSIDE:
        cure = f"at most {MOST_INSIDE} bots can be inside one, those inside them counted. Take some out"
        raise _refused(adapter, str(len(inside)), cure)


def _refused(adapter: str, value: str, cure: str) -> ConfigurationError:
    return ConfigurationError(adapter, [Problem(_setting(adapter), f"'{value}'", cure)])


def _setting(adapter: str) -> str:
    """Name of the setting with the bots inside; empty if the adapter has none or is unknown."""
    try:
        return REGISTRY.bot_class(adapter).inner_setting
    except UnknownBotError:
        return ""


def _within(adapter: str, settings: Settings) -> Iterator[dict[str, Any]]:
    """All bots inside, depth first."""
    value = settings.get(_setting(adapter))
    for inner in value if isinstance(value, list | tuple) else [value]:
        if isinstance(inner, Mapping):
            yield dict(inner)
            if isinstance(inner.get("adapter"), str) and isinstance(inner.get("configuration"), Mapping):
                yield from _within(inner["adapter"], inner["configuration"])


def _changed(
    adapter: str, settings: Settings, change: Callable[[dict[str, Any]], dict[str, Any]]
) -> dict[str, Any]:
    """Apply `change` to each bot inside; for an unregistered one, to the bots inside it."""
    setting = _setting(adapter)

    def changed(inner: Any) -> Any:
        if not isinstance(inner, Mapping):
            return inner
        if (
            is_named(inner)
            or not isinstance(inner.get("adapter"), str)
            or not isinstance(inner.get("configuration"), Mapping)
        ):
            return change(dict(inner))
        return {**inner, "configuration": _changed(inner["adapter"], inner["configuration"], change)}

    if setting not in settings:
        return dict(settings)
    value = settings[setting]
    return {
        **settings,
        setting: [*map(changed, value)] if isinstance(value, list | tuple) else changed(value),
    }
