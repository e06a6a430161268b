"""A bot that follows its configuration exactly: for demos, rehearsals, and tests of the code around bots."""

import time
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import count
from typing import Annotated

from pydantic import Field

from chatbots.base import Answering, Bot, BotConfiguration, Context, Kind, Speaker
from chatbots.registry import register
from chatbots.replies import Failure, Response

TurnNumbers = frozenset[Annotated[int, Field(ge=1)]]


class PlannedFailureError(Exception):
    """A failure that the configuration asks for."""


@register("scripted")
class ScriptedBot(Bot):
    """Answers from a list, as late and as faulty as configured.

    The n-th human turn of a dialogue gets the n-th reply, whatever the bot said before; the list starts over
    at its end. With `characters_per_second`, replies may be shown as they grow.
    """

    listed_as = Kind.CLASSIC

    class Configuration(BotConfiguration):
        """The replies, delays and failures by turn."""

        first = frozenset({"replies"})
        replies: tuple[str, ...] = Field(
            ("Hi! How are you today?", "I see. Tell me more.", "Why do you think so?"),
            min_length=1,
            description="What the bot says, in order; it starts over at the end.",
        )
        seconds: float = Field(0.0, ge=0, le=3600, description="Time that each reply takes.")
        characters_per_second: float | None = Field(
            None,
            gt=0,
            le=1_000_000,
            title="Writing",
            description="Speed at which a reply grows, after the time above. Empty: it is there at once.",
        )
        fail_on: TurnNumbers = Field(frozenset(), description="Turns that raise an error, counted from 1.")
        fail_times: int | None = Field(
            None,
            ge=1,
            description="After this many failures, of all dialogues together, turns succeed. Empty: never.",
        )
        hang_on: TurnNumbers = Field(frozenset(), description="Turns that take hang_seconds, counted from 1.")
        hang_seconds: float = Field(60.0, ge=0, le=3600, description="Time that a hanging turn takes.")
        load_seconds: float = Field(0.0, ge=0, le=3600, description="Time that the bot takes to be loaded.")

    configuration: Configuration

    def __init__(self, configuration: Configuration) -> None:
        """Store the script, after the configured loading time."""
        super().__init__(configuration)
        if configuration.load_seconds:
            time.sleep(configuration.load_seconds)
        # State between calls, against the rule for bots: without it no retry could be rehearsed.
        self._failures_left = configuration.fail_times

    def respond(self, contexts: Sequence[Context]) -> list[Response]:
        """Play the current turn of each context.

        Raises:
            PlannedFailureError: `fail_on` names the turn and `fail_times` is not used up.
        """
        return [self._play(context) for context in contexts]

    def _play(self, context: Context) -> Response:
        script = self.configuration
        time.sleep(script.hang_seconds if _turn_number(context) in script.hang_on else script.seconds)
        reply = self.reply_to(context)
        if isinstance(reply, Failure):
            raise reply.error
        return reply

    def answering(self) -> Answering | None:
        """Let replies grow, all at the same time, if a speed is set."""
        return None if self.configuration.characters_per_second is None else _Writing(self)

    def reply_to(self, context: Context) -> Response | Failure:
        """The reply to a context or its planned failure, without any delay."""
        number = _turn_number(context)
        if number in self.configuration.fail_on and self._may_fail():
            return Failure(PlannedFailureError(f"Turn {number} was configured to fail."))
        return Response(self.configuration.replies[(number - 1) % len(self.configuration.replies)])

    def _may_fail(self) -> bool:
        if self._failures_left is None:
            return True
        self._failures_left -= 1
        return self._failures_left >= 0


AT_ONCE = 1000
"""Replies that grow at the same time."""

STEP_SECONDS = 0.005


@dataclass
class _Written:
    """A reply that is being written."""

    reply: Response | Failure
    begins_at: float
    shown: int = field(default=0)

    def length(self, now: float, speed: float) -> int:
        """Characters that are written by now."""
        return max(0, int((now - self.begins_at) * speed))


class _Writing(Answering):
    """Contexts to which the script is being written."""

    def __init__(self, bot: ScriptedBot) -> None:
        self._bot, self._speed = bot, bot.configuration.characters_per_second or 1.0
        self._keys = count()
        self._written: dict[int, _Written] = {}

    @property
    def room(self) -> int:
        return AT_ONCE - len(self._written)

    def admit(self, contexts: Sequence[Context]) -> Sequence[int]:
        script, keys = self._bot.configuration, [next(self._keys) for _ in contexts]
        for key, context in zip(keys, contexts, strict=True):
            hangs = _turn_number(context) in script.hang_on
            begins_at = time.monotonic() + (script.hang_seconds if hangs else script.seconds)
            self._written[key] = _Written(self._bot.reply_to(context), begins_at)
        return keys

    def step(self) -> dict[int, Response | Failure]:
        time.sleep(STEP_SECONDS)
        now = time.monotonic()
        done = [key for key, each in self._written.items() if self._is_done(each, now)]
        return {key: self._written.pop(key).reply for key in done}

    def _is_done(self, written: _Written, now: float) -> bool:
        if now < written.begins_at or isinstance(written.reply, Failure):
            return now >= written.begins_at
        return written.length(now, self._speed) >= len(written.reply.text)

    def partial_texts(self) -> Mapping[int, str]:
        now, grown = time.monotonic(), dict[int, str]()
        for key, each in self._written.items():
            length = each.length(now, self._speed)
            if isinstance(each.reply, Response) and length > each.shown:
                each.shown = length
                grown[key] = each.reply.text[:length]
        return grown

    def cancel(self, keys: Collection[int]) -> None:
        for key in keys:
            self._written.pop(key, None)


def _turn_number(context: Context) -> int:
    """Count the human turns; 1 if there are none, as in a context of a bot's own turns."""
    return max(1, sum(turn.speaker is Speaker.HUMAN for turn in context.turns))
