"""The life of a bot's thread: load the bot, answer who waits, release it."""

import logging
import time
from collections.abc import Callable, Sequence

from chatbots.base import Answering, Bot, Context
from chatbots.checks import check_bot, checked_batch, circumstances
from chatbots.errors import last_line
from chatbots.health import Outcome
from chatbots.request import Request
from chatbots.waiting import WaitingRoom

logger = logging.getLogger(__name__)


def serve(room: WaitingRoom, load: Callable[[], Bot], loaded: Callable[[], None]) -> None:
    """Answer everybody in the waiting room until it is closed. Returns when the bot is released.

    Args:
        room: where requests wait.
        load: makes the bot; may take minutes.
        loaded: called once, when the bot is loaded or cannot be.
    """
    try:
        bot = load()
        check_bot(bot)
        answering = bot.answering()
    except BaseException as error:  # a bot that calls sys.exit() must not leave its callers waiting
        room.fail(error)
        return
    else:
        room.ready()
    finally:
        loaded()
    _Serving(room, bot).until_closed(answering)


class _Serving:
    """Answers with a loaded bot."""

    def __init__(self, room: WaitingRoom, bot: Bot) -> None:
        self._room, self._bot = room, bot

    def until_closed(self, answering: Answering | None) -> None:
        """Serve whole batches, or with newcomers joining if the bot has begun so; then release the bot."""
        bot = self._bot
        try:
            while self._room.is_open:
                if answering is None:
                    self._serve(self._room.next_batch(bot.max_batch, bot.max_wait))
                elif not self._serve_joining(answering):
                    answering = bot.answering()
        except BaseException as error:
            logger.exception("Bot '%s' cannot go on.", self._room.name)
            self._room.fail(error)
        try:
            bot.close()
        except Exception:
            logger.exception("Bot '%s' raised an error while it was closed.", self._room.name)

    def _serve(self, batch: Sequence[Request]) -> None:
        """Compute and deliver. A batch that fails is asked again one by one, to fail only the guilty."""
        if not (batch := [request for request in batch if request.until > time.monotonic()]):
            return
        self._room.be_patient_with(batch)
        outcomes = self._attempt([request.context for request in batch])
        if outcomes is None:
            for request in batch:
                self._serve([request])
            return
        self._room.judge(batch, outcomes)
        for request, outcome in zip(batch, outcomes, strict=True):
            request.deliver(outcome)

    def _attempt(self, contexts: list[Context]) -> list[Outcome] | None:
        """One outcome per context; None if several contexts failed together and one may be to blame."""
        try:
            with self._room.busy(len(contexts)):
                returned = self._bot.respond(contexts)
        except BaseException as error:
            self._log_failure(len(contexts))
            if len(contexts) > 1:
                return None
            return [self._room.failure(f"failed: {last_line(error)}", circumstances(error, contexts[0]))]
        return [self._room.outcome(each) for each in checked_batch(returned, len(contexts))]

    def _serve_joining(self, answering: Answering) -> bool:
        """Answer with newcomers joining between two steps; True once all is closed, False if the bot failed.

        Whoever it was answering then is asked for again alone.
        """
        under_way: dict[int, Request] = {}
        joining: list[Request] = []
        try:
            while under_way or self._room.is_open:
                joining = self._joining(answering.room, idle=not under_way)
                with self._room.busy(len(under_way) + len(joining)):
                    if joining:
                        keys = answering.admit([request.context for request in joining])
                        under_way |= dict(zip(keys, joining, strict=True))
                        joining = []
                    done = answering.step()
                for key, returned in done.items():
                    self._end(under_way.pop(key), self._room.outcome(returned))
        except BaseException:
            requests = [*under_way.values(), *joining]
            self._log_failure(len(requests))
            for request in requests:
                self._serve([request])
            return False
        return True

    def _joining(self, most: int, *, idle: bool) -> list[Request]:
        return self._room.next_batch(most, self._bot.max_wait) if idle else self._room.newcomers(most)

    def _end(self, request: Request, outcome: Outcome) -> None:
        self._room.judge([request], [outcome])
        request.deliver(outcome)

    def _log_failure(self, contexts: int) -> None:
        logger.warning("Bot '%s' failed; contexts: %d.", self._room.name, contexts, exc_info=True)
