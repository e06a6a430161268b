"""Bots resident in this process, one `Resident` each, and the memory that they may take."""

import logging
import math
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from typing import Any

import psutil
from django.conf import settings
from django.db import connection

from chatbots import base
from chatbots.errors import BotMemoryError, ChatbotError
from chatbots.hosting.health import State
from chatbots.hosting.resident import Resident
from chatbots.registry import REGISTRY
from evaluation.files.writing import with_unit
from turnwise.bots import composition
from turnwise.bots.hosting.growth import OnPartial, PartialReply
from turnwise.bots.hosting.rate_limits import share_rate_limits
from turnwise.bots.hosting.spending import count_loading
from turnwise.bots.models import OPERATED, Bot
from turnwise.bots.services import record_memory, version_of

# Bots load one at a time, so that the growth of the process measures each one's memory. A bot that hangs
# while loading must not block the others for ever.
LOADING_TIMEOUT_SECONDS = 120.0
_MB = 1_000_000
_loading = threading.Lock()


@contextmanager
def loading_lock() -> Iterator[bool]:
    """Hold the lock for loading a bot; yields False if waiting for it took too long."""
    alone = _loading.acquire(timeout=LOADING_TIMEOUT_SECONDS)
    try:
        yield alone
    finally:
        if alone:
            _loading.release()


def memory_used() -> int:
    """Bytes that this process holds in memory."""
    return int(psutil.Process().memory_info().rss)


def memory_budget() -> int:
    """Bytes that this process may hold: TURNWISE_BOT_MEMORY_GB, else four fifths of the machine."""
    return settings.BOT_MEMORY_BYTES or int(0.8 * psutil.virtual_memory().total)


def refuse_over_budget(title: str, needed: int) -> None:
    """Refuse a bot that needs too many further bytes.

    Raises:
        BotMemoryError: they would take the process past its budget.
    """
    if memory_used() + needed > memory_budget():
        raise BotMemoryError(
            f"{title} needs {_in_mb(needed)}; this process holds {_in_mb(memory_used())} already and may "
            f"hold {_in_mb(memory_budget())}. Switch another bot off, host this one in a process of its own "
            "(manage.py hostbots), or raise TURNWISE_BOT_MEMORY_GB."
        )


def _in_mb(size: int) -> str:
    return with_unit(f"{size / _MB:,.0f}", "MB")


log = logging.getLogger(__name__)

# Hundreds of people talk to one bot, and all their requests may arrive before its thread runs.
# A slow bot's queue is bounded by the deadline of each request.
MOST_WAITING = 1000

# A bot that failed to load is reloaded when it is asked, at most this often. Without requests the delay
# doubles each time.
RELOAD_SECONDS = 30.0
MOST_DOUBLINGS = 5

# A hanging thread cannot be ended, only abandoned with the memory of its bot. After this many threads of one
# bot the process must be replaced.
MAX_ABANDONED = 3


@dataclass(slots=True)
class HostedBot:
    """A bot in this process; `row` is its record as it was when it was loaded, `bot` is None until then."""

    row: Bot
    resident: Resident
    bot: base.Bot | None = None
    version_id: int | None = None
    memory_bytes: int | None = None
    reply_seconds: float = 0.0
    """The bot's own limit for a reply (`chatbots.base.Bot.reply_seconds`)."""
    since: float = field(default_factory=time.monotonic)
    attempts: int = 0
    """Number of failed attempts to load it."""

    def is_due_for_reload(self, *, asked: bool) -> bool:
        """True if the bot failed to load, and its backoff has passed."""
        patience = RELOAD_SECONDS * (1 if asked else 2 ** min(self.attempts, MOST_DOUBLINGS))
        return self.resident.state is State.FAILED and time.monotonic() - self.since > patience

    @property
    def is_loading(self) -> bool:
        return self.resident.state is State.LOADING

    def on_text(self, on_partial: OnPartial) -> Callable[[str], None]:
        """Receiver of a request's texts so far that passes them on with the bot's version."""

        def receive(text: str) -> None:
            if self.version_id is not None:
                on_partial(PartialReply(text, self.version_id))

        return receive

    def health(self) -> dict[str, Any]:
        """Health of the resident, with the bot's memory, its own limit and its queues for rate limits."""
        queues = self.bot.rate_limit_queues() if self.bot else ()
        figures = {
            "memory_bytes": self.memory_bytes,
            "rate_limits": [asdict(queue) for queue in queues],
            "reply_seconds": self.reply_seconds,
        }
        return asdict(self.resident.health()) | figures


_hosted: dict[int, HostedBot] = {}
_abandoned: dict[int, int] = {}
_lock = threading.Lock()


def is_named_here(name: str) -> bool:
    """True if this process should host the bot: TURNWISE_BOTS is all, none, or names."""
    return settings.BOTS_HERE is None or name in settings.BOTS_HERE


def update_hosted_bots() -> None:
    """Load new bots, reload changed or stuck ones, and unload all others that should not be here."""
    loadable = Bot.objects.filter(active=True).exclude(adapter=OPERATED)
    to_host = {bot.pk: bot for bot in loadable if is_named_here(bot.name)}
    for bot_id, hosted in list(_hosted.items()):
        if bot_id not in to_host or _is_outdated(hosted, to_host[bot_id]) or _must_be_abandoned(hosted):
            _unload(bot_id)
    # Bots load one after the other, small ones first, so that few wait for a large model.
    for bot in sorted(
        to_host.values(), key=lambda bot: math.inf if bot.memory_bytes is None else bot.memory_bytes
    ):
        present = _hosted.get(bot.pk)
        if present is None or present.is_due_for_reload(asked=False):
            host(bot)


def _is_outdated(hosted: HostedBot, row: Bot) -> bool:
    return (hosted.row.adapter, hosted.row.configuration) != (row.adapter, row.configuration)


def _must_be_abandoned(hosted: HostedBot) -> bool:
    """True if the bot hangs and should be reloaded on another thread; counts it."""
    if hosted.resident.state is not State.STUCK or needs_new_process(hosted.row.pk):
        return False
    _abandoned[hosted.row.pk] = times = _abandoned.get(hosted.row.pk, 0) + 1
    log.error("%s hangs in an answer. It is being reloaded (%s of %s).", hosted.row, times, MAX_ABANDONED)
    return True


def needs_new_process(bot_id: int | None = None) -> bool:
    """True if the bot, or any bot, has hung so often that the process must be replaced."""
    counts = _abandoned.values() if bot_id is None else [_abandoned.get(bot_id, 0)]
    return any(times >= MAX_ABANDONED for times in counts)


def _unload(bot_id: int) -> None:
    with _lock:
        hosted = _hosted.pop(bot_id, None)
    if hosted:
        hosted.resident.close()


def host(bot: Bot) -> HostedBot:
    """Return the hosted bot, and start to load it if this process does not have it yet."""
    with _lock:
        if hosted_here(bot.pk) is None:
            own_limit = _reply_seconds(bot)
            hosted = HostedBot(bot, resident=None, reply_seconds=own_limit)  # type: ignore[arg-type]  # set on the next line
            if failed := _hosted.get(bot.pk):
                hosted.attempts = failed.attempts + 1
            hosted.resident = Resident(
                bot.name,
                lambda: _load(hosted),
                queue_size=MOST_WAITING,
                deadline=deadline_for(own_limit),
            )
            _hosted[bot.pk] = hosted
        return _hosted[bot.pk]


def deadline_for(reply_seconds: float) -> float:
    """Seconds that people wait for a reply: the installation's, or the bot's own limit if that is longer."""
    return max(float(settings.BOT_DEADLINE_SECONDS), reply_seconds)


def _reply_seconds(row: Bot) -> float:
    try:
        configuration = composition.configuration_of(row.adapter, row.configuration)
        return REGISTRY.bot_class(row.adapter).reply_seconds(configuration)
    except ChatbotError:  # it cannot be loaded either
        return 0.0


def _load(hosted: HostedBot) -> base.Bot:
    """Load the bot, on its own thread."""
    row = hosted.row
    share_rate_limits()
    try:
        with loading_lock() as alone:
            configuration = composition.configuration_of(row.adapter, row.configuration)
            adapter = REGISTRY.bot_class(row.adapter)
            declared = adapter.memory_needed(configuration) or 0
            refuse_over_budget(row.title, max(declared, row.memory_bytes or 0))
            before = memory_used()
            loaded = adapter(configuration)
            if alone:
                hosted.memory_bytes = max(0, memory_used() - before)
                record_memory(row, hosted.memory_bytes)
        hosted.version_id = version_of(row, loaded.fingerprint()).pk
        hosted.bot = loaded
        count_loading(row.pk, loaded.loading_responses())
        return loaded
    finally:
        connection.close()  # the bot's own thread needs no database after this


def hosted_here(bot_id: int) -> HostedBot | None:
    """The hosted bot of this process; None if `host` should load it."""
    hosted = _hosted.get(bot_id)
    return None if hosted is None or hosted.is_due_for_reload(asked=True) else hosted


def hosted_bots() -> list[HostedBot]:
    return list(_hosted.values())


def close() -> None:
    with _lock:
        residents = [hosted.resident for hosted in _hosted.values()]
        _hosted.clear()
        _abandoned.clear()
    for resident in residents:
        resident.close()
