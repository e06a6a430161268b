"""A bot that follows its configuration exactly: for demos, rehearsals, and tests of the code around bots."""

import time
from collections.abc import Sequence
from typing import Annotated

from pydantic import Field

from chatbots.base import Bot, BotConfiguration, Context, Kind, Response, Speaker
from chatbots.registry import register

TurnNumbers = frozenset[Annotated[int, Field(ge=1)]]


class PlannedFailureError(Exception):
    """A failure that the configuration asks for."""


@register("scripted")
class ScriptedBot(Bot):
    """Answers from a list, as late and as faulty as configured.

    The n-th human turn of a dialogue gets the n-th reply, whatever the bot said before; the list starts over
    at its end.
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
        return [self._play(_turn_number(context)) for context in contexts]

    def _play(self, number: int) -> Response:
        script = self.configuration
        time.sleep(script.hang_seconds if number in script.hang_on else script.seconds)
        if number in script.fail_on and self._may_fail():
            raise PlannedFailureError(f"Turn {number} was configured to fail.")
        return Response(script.replies[(number - 1) % len(script.replies)])

    def _may_fail(self) -> bool:
        if self._failures_left is None:
            return True
        self._failures_left -= 1
        return self._failures_left >= 0


def _turn_number(context: Context) -> int:
    """Count the human turns; 1 if there are none, as in a context of a bot's own turns."""
    return max(1, sum(turn.speaker is Speaker.HUMAN for turn in context.turns))
