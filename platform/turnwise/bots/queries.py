import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from django.contrib.auth.models import AnonymousUser
from django.core.paginator import Page, Paginator
from django.db.models import Exists, OuterRef, QuerySet
from django.db.models.functions import Now
from django.utils.functional import Promise
from django.utils.translation import gettext_lazy

from chatbots.base import Kind
from chatbots.errors import ChatbotError
from chatbots.hosting.health import LATENCY_BOUNDS
from chatbots.registry import REGISTRY
from turnwise.accounts.access import visible_to
from turnwise.accounts.models import User
from turnwise.bots import composition
from turnwise.bots.budgets import OVER_BUDGET
from turnwise.bots.composition import visible_bots as visible_bots  # what pages ask for
from turnwise.bots.hosting import presence, resident_bots
from turnwise.bots.models import OUTSIDE, Bot, BotCopy, BotVersion
from turnwise.bots.search import filter_bots

WORDS = {
    "ready": "Ready",
    "loading": "Warming up",
    "failing": "Failing",
    "stuck": "Hangs",
    "failed": "Cannot be loaded",
    OVER_BUDGET: "Budget reached",
    "no operator": "No operator is there",
    "not hosted": "Not hosted anywhere",
    "off": "Switched off",
    "elsewhere": "Not run here",
}


@dataclass(frozen=True, slots=True)
class BotStatus:
    """A bot with its current state and, if requested, the name of its newest version."""

    bot: Bot
    state: str
    version: str = ""

    @property
    def words(self) -> str:
        return WORDS.get(self.state, self.state)


@dataclass(frozen=True, slots=True)
class CopyHealth:
    """Health of a bot in one process."""

    host: str
    words: str
    seen_at: datetime
    health: dict[str, Any]

    @property
    def failure(self) -> str:
        """Last error in one line."""
        return presence.last_error(self.health).removeprefix("failed: ")

    @property
    def latencies(self) -> list[tuple[str, int, int]]:
        """Bars of the histogram: label, count, percent of the highest."""
        labels = [f"up to {bound:g}\u00a0s" for bound in LATENCY_BOUNDS] + [
            f"over {LATENCY_BOUNDS[-1]:g}\u00a0s"
        ]
        return _bars(labels, self.health.get("latencies") or [])

    @property
    def batches(self) -> list[tuple[str, int, int]]:
        """Bars of the histogram of how many contexts the bot answered at once."""
        counts: dict[str, int] = self.health.get("batches") or {}
        sizes = sorted(counts, key=int)
        return _bars(sizes, [counts[size] for size in sizes])

    @property
    def megabytes(self) -> int | None:
        size = self.health.get("memory_bytes")
        return None if size is None else round(size / 1e6)

    @property
    def milliseconds(self) -> tuple[int, int] | None:
        """Median and 95th percentile of the time to a reply; None before the first."""
        median, p95 = self.health.get("median_seconds"), self.health.get("p95_seconds")
        return None if median is None or p95 is None else (round(1000 * median), round(1000 * p95))


def _bars(labels: Sequence[str], counts: Sequence[int]) -> list[tuple[str, int, int]]:
    highest = max(counts, default=0) or 1
    return [(label, n, round(100 * n / highest)) for label, n in zip(labels, counts, strict=False)]


def bot_statuses(user: User | AnonymousUser) -> list[BotStatus]:
    """Status of each bot that this person may see."""
    states = presence.bot_states()
    return [_status(bot, states) for bot in visible_bots(user).select_related("owner")]


def statuses_by_key(bots: Sequence[Bot]) -> dict[int, BotStatus]:
    """Status of these bots with their newest version, by key."""
    states = presence.bot_states(bot.name for bot in bots if bot.active)
    newest = BotVersion.objects.filter(bot__in=bots).order_by("bot_id", "-first_seen_at").distinct("bot_id")
    versions = {version.bot_id: version.name for version in newest.defer("details")}
    return {bot.pk: replace(_status(bot, states), version=versions.get(bot.pk, "")) for bot in bots}


KINDS = {
    Kind.SERVICE: gettext_lazy("Services"),
    Kind.MODEL: gettext_lazy("Models on this machine"),
    Kind.CLASSIC: gettext_lazy("Classic"),
    Kind.WRAPPER: gettext_lazy("Wrappers and ensembles"),
    Kind.PERSON: gettext_lazy("People in a chatbot's place"),
}
ELSEWHERE = gettext_lazy("Systems elsewhere")
_TITLES: list[str | Promise] = [*KINDS.values(), ELSEWHERE]
PER_PAGE = 100


@dataclass(frozen=True, slots=True)
class Group:
    """Bots of one kind on a page of a list, with their number in the whole list."""

    title: str | Promise
    total: int
    bot_statuses: Sequence[BotStatus]


def list_bots(user: User | AnonymousUser, sought: str, number: str | None) -> tuple[Page[int], list[Group]]:
    """One page of the visible bots that match the search, sorted and grouped by kind."""
    visible = visible_bots(user)
    if sought:
        visible = filter_bots(visible, sought) | visible.filter(owner__username=sought)
    rows = list(visible.order_by("name").values_list("pk", "name", "adapter"))
    # Compare positions, not titles: lazy titles are translated at every comparison.
    kind_of = {adapter: _TITLES.index(_title(adapter)) for adapter in {adapter for _, _, adapter in rows}}
    totals = Counter(kind_of[adapter] for _, _, adapter in rows)
    in_order = sorted(rows, key=lambda row: kind_of[row[2]])
    page = Paginator([pk for pk, *_ in in_order], PER_PAGE).get_page(number)
    bots = Bot.objects.select_related("owner").in_bulk(list(page))
    states = presence.bot_states(bot.name for bot in bots.values() if bot.active)
    groups = group_by_kind([_status(bots[pk], states) for pk in page if pk in bots])
    return page, [Group(title, totals[_TITLES.index(title)], standings) for title, standings in groups]


def group_by_kind(statuses: Sequence[BotStatus]) -> list[tuple[str | Promise, list[BotStatus]]]:
    """Group bots under the titles of their kinds, in the order of the kinds."""
    groups: dict[str | Promise, list[BotStatus]] = {title: [] for title in _TITLES}
    for each in statuses:
        groups[_title(each.bot.adapter)].append(each)
    return [(title, rows) for title, rows in groups.items() if rows]


def _title(adapter: str) -> str | Promise:
    if adapter == OUTSIDE:
        return ELSEWHERE
    try:
        return KINDS[REGISTRY.bot_class(adapter).listed_as]
    except ChatbotError:  # an adapter that is gone
        return KINDS[Kind.MODEL]


def is_service(bot: Bot) -> bool:
    """True if the bot stands behind a chat service elsewhere; these answer in Markdown."""
    try:
        return REGISTRY.bot_class(bot.adapter).listed_as is Kind.SERVICE
    except ChatbotError:  # a system elsewhere, or an adapter that is gone
        return False


def can_sample(bot: Bot) -> bool:
    """True if the bot samples and ranks, so that N and T can be varied."""
    try:
        configuration = composition.configuration_of(bot.adapter, bot.configuration)
        return REGISTRY.bot_class(bot.adapter).draws(configuration)
    except ChatbotError:  # an adapter that is gone, or one that takes its settings no more
        return False


def bot_status(bot: Bot) -> BotStatus:
    """Status of a bot; one registered or changed moments ago counts as loading."""
    status = _status(bot, presence.bot_states([bot.name] if bot.active else []))
    if (
        status.state == "not hosted"
        and bot.revisions.filter(made_at__gt=Now() - presence.LOADED_WITHIN).exists()
    ):
        return replace(status, state="loading")
    return status


def _status(bot: Bot, states: Mapping[str, str]) -> BotStatus:
    return BotStatus(bot, "elsewhere" if bot.is_outside else states.get(bot.name, "off"))


def copies(bot: Bot, *, in_full: bool) -> list[CopyHealth]:
    """Health of the bot in each process; `in_full` includes the traceback of its last error."""
    fresh = bot.copies.filter(seen_at__gt=Now() - presence.SILENT_AFTER).order_by("host")
    return [
        CopyHealth(
            copy.host,
            WORDS.get(copy.state, copy.state),
            copy.seen_at,
            copy.health if in_full else _in_one_line(copy.health),
        )
        for copy in fresh
    ]


def next_step_sentence(bot: Bot) -> str:
    """Sentence on what happens next to a bot that was just registered or switched on."""
    if bot.is_operated:
        return "People are admitted as soon as somebody is at its operator's page."
    any_host = BotCopy.objects.filter(seen_at__gt=Now() - presence.SILENT_AFTER)
    if resident_bots.is_named_here(bot.name) or any_host.exists():
        return "Within seconds it is loaded where it is to be hosted; its state is below."
    return f"No process hosts bots at the moment. Start one: manage.py hostbots {bot.name}"


def _in_one_line(health: dict[str, Any]) -> dict[str, Any]:
    return health | {"last_error": presence.last_error(health)}


def changeable_by(user: User | AnonymousUser) -> QuerySet[Bot]:
    """The bots that this person may change: their own; admins may change all that can run."""
    return visible_to(user, Bot.objects.exclude(adapter=OUTSIDE), owner="owner")


def permissions_for(user: User | AnonymousUser, bot: Bot) -> tuple[bool, bool]:
    """Return whether this person may change the bot, and whether they may see a study in which it talked."""
    same = OuterRef("pk")
    may_change = Exists(changeable_by(user).filter(pk=same))
    has_history = Exists(
        visible_to(user, Bot.objects.all(), owner="study_bots__study__owner").filter(pk=same)
    )
    flags: tuple[bool, bool] = Bot.objects.filter(pk=bot.pk).values_list(may_change, has_history).get()
    return flags


def format_settings(settings: dict[str, Any]) -> dict[str, str]:
    """Format settings for a page."""
    return {key: _format_setting(value) for key, value in settings.items()}


def _format_setting(value: Any) -> str:
    if value in (None, "", [], {}):
        return "not set"
    if isinstance(value, list) and all(map(composition.is_named, value)):
        return ", ".join(map(_format_setting, value))
    if composition.is_named(value):
        return f"{value['registered']} v{value['revision']}"
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def masked_settings(bot: Bot) -> dict[str, Any]:
    """A bot's configuration with defaults filled in and secrets masked, for people to read."""
    try:
        return composition.configuration_of(bot.adapter, bot.configuration).model_dump(mode="json")
    except ChatbotError as error:  # an adapter that has changed since, or is gone
        return {"(cannot be read)": str(error)}
