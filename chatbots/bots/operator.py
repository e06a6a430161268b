"""A person of the team answers in the bot's place: Wizard of Oz."""

from collections.abc import Sequence
from typing import Annotated, NoReturn

from pydantic import Field

from chatbots.base import Bot, BotConfiguration, Context, Kind
from chatbots.errors import BotFailedError
from chatbots.registry import register

PreparedText = Annotated[str, Field(min_length=1, max_length=1000)]


@register("operator")
class OperatorBot(Bot):
    """A person of the team answers in the bot's place, in conversations of studies (Wizard of Oz).

    It is never loaded: the platform shows the conversations to those who may operate it, and takes their
    messages for its replies.
    """

    class Configuration(BotConfiguration):
        """Instructions for operators, and delays that keep their replies from revealing a person."""

        first = frozenset({"instructions", "prepared"})
        instructions: str = Field(
            "",
            max_length=8000,
            description="How operators are to answer. They read it beside the conversations.",
            json_schema_extra={"format": "multiline"},
        )
        prepared: tuple[PreparedText, ...] = Field(
            (),
            max_length=30,
            title="Prepared texts",
            description="Put into the message by a key, and edited before they are sent.",
        )
        at_once: int = Field(
            3,
            ge=1,
            le=20,
            title="Conversations at once",
            description="This many people are admitted for each operator who is there.",
        )
        seconds: float = Field(
            2.0, ge=0, le=60, title="Floor", description="No reply comes sooner than this, in seconds."
        )
        seconds_per_character: float = Field(
            0.05, ge=0, le=1, title="Typing", description="Added for each character of the reply."
        )
        most_seconds: float = Field(
            15.0, ge=0, le=60, title="Ceiling", description="Replies are held back for no longer than this."
        )
        patience: float = Field(
            180.0,
            ge=10,
            le=3600,
            description="After this many seconds without a reply people can end the conversation; they are "
            "paid in full.",
        )

        def least_seconds(self, text: str) -> float:
            """Least time from the partner's message to this reply."""
            return min(self.seconds + self.seconds_per_character * len(text), self.most_seconds)

    configuration: Configuration
    listed_as = Kind.PERSON

    def respond(self, contexts: Sequence[Context]) -> NoReturn:
        """Refuse: a person answers, not this process.

        Raises:
            BotFailedError: always.
        """
        raise BotFailedError("A person answers in this bot's place, and only in conversations of studies.")
