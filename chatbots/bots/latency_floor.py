"""A wrapper that lets a fast bot take the time that a person would."""

from dataclasses import replace
from random import Random

from pydantic import Field

from chatbots.base import Context, Response, seed_of
from chatbots.registry import register
from chatbots.wrapping import WrapperBot, WrapperConfiguration


@register("latency-floor")
class LatencyFloorBot(WrapperBot):
    """Around a bot: lets no reply out before the time that reading and typing would take.

    The reply says how long it is to be held back (`Response.least_seconds`), and whoever asked waits that
    long: neither the bot's thread nor the other dialogues of its batch do. A bot that is slower by itself is
    not held back any longer.
    """

    class Configuration(WrapperConfiguration):
        """Which bot, and how long its replies take at least."""

        first = frozenset({"seconds", "seconds_per_character"})
        seconds: float = Field(
            1.0, ge=0, le=60, title="Floor", description="No reply comes sooner than this, in seconds."
        )
        seconds_per_character: float = Field(
            0.03, ge=0, le=1, title="Typing", description="Added for each character of the reply."
        )
        jitter: float = Field(
            0.2,
            ge=0,
            le=1,
            description="Share by which the typing varies up or down, from the dialogue's seed.",
        )
        most_seconds: float = Field(
            8.0, ge=0, le=60, title="Ceiling", description="Replies are held back for no longer than this."
        )

    configuration: Configuration

    def revised(self, context: Context, response: Response) -> Response:
        """The same response, held back."""
        settings = self.configuration
        varied = 1 + settings.jitter * Random(f"latency {seed_of(context)}").uniform(-1, 1)
        typing = settings.seconds_per_character * len(response.text) * varied
        seconds = min(settings.seconds + typing, settings.most_seconds)
        return replace(response, least_seconds=max(seconds, response.least_seconds))
