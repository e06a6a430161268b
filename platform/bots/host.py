"""The bots that this process keeps resident. One `Resident` per active bot, loaded once."""

import threading
import time
from dataclasses import dataclass, field

from django.db import connection

from bots.models import Bot
from bots.services import version_of
from chatbots import base
from chatbots.health import Health, State
from chatbots.registry import create_bot
from chatbots.resident import Resident

# Hundreds talk to one bot, and the requests of all of them may arrive before its thread gets a turn.
# A slow bot's queue is bounded by the deadline of each request.
MOST_WAITING = 1000

# A bot that could not be loaded is loaded again when it is asked, but not more often than this.
RELOAD_SECONDS = 30.0


@dataclass(slots=True)
class HostedBot:
    resident: Resident
    version_id: int | None = None
    since: float = field(default_factory=time.monotonic)

    @property
    def is_to_be_loaded_again(self) -> bool:
        """Whether what it failed for, a database or a configuration, may have been mended by now."""
        return self.resident.state is State.FAILED and time.monotonic() - self.since > RELOAD_SECONDS


_hosted: dict[int, HostedBot] = {}
_lock = threading.Lock()


def start() -> None:
    """Begin loading every active bot; returns at once, pages need not wait for models."""
    for bot in Bot.objects.filter(active=True):
        host(bot)


def host(bot: Bot) -> HostedBot:
    """The hosted bot, begun to load if this process does not have it yet."""
    with _lock:
        if hosted_here(bot.pk) is None:
            hosted = HostedBot(resident=None)  # type: ignore[arg-type]  # set on the next line
            hosted.resident = Resident(bot.name, lambda: _load(bot, hosted), queue_size=MOST_WAITING)
            _hosted[bot.pk] = hosted
        return _hosted[bot.pk]


def _load(bot: Bot, hosted: HostedBot) -> base.Bot:
    try:
        loaded = create_bot(bot.adapter, bot.configuration)
        hosted.version_id = version_of(bot, loaded.fingerprint()).pk
        return loaded
    finally:
        connection.close()  # the bot's own thread needs no database after this


def hosted_here(bot_id: int) -> HostedBot | None:
    """The bot as this process has it; None if `host` should load it."""
    hosted = _hosted.get(bot_id)
    return None if hosted is None or hosted.is_to_be_loaded_again else hosted


def health() -> list[Health]:
    return [hosted.resident.health() for hosted in list(_hosted.values())]


def close() -> None:
    with _lock:
        residents = [hosted.resident for hosted in _hosted.values()]
        _hosted.clear()
    for resident in residents:
        resident.close()
