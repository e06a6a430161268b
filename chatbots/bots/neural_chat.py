"""Bots written for the neural.chat platform: `handle_messages(list of texts) -> text`.

Source: github.com/asmadotgh/neural_chat_web, dialog/chatbots.py; Ghandeharioun et al. 2019, arXiv:1906.09308.
"""

import inspect
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any

from pydantic import AfterValidator, Field

from chatbots.base import Bot, BotConfiguration, Context
from chatbots.errors import ConfigurationError, Problem
from chatbots.local_files import check_path, hash_of, lab_object
from chatbots.registry import register
from chatbots.replies import Failure, Response


@register("neural-chat")
class NeuralChatBot(Bot):
    """A bot of the neural.chat platform: a class or module of the lab with handle_messages(list of texts)."""

    class Configuration(BotConfiguration):
        """The bot's code, and the length of its history."""

        path: Annotated[str, AfterValidator(check_path)] = Field(
            title="Class or module",
            description="As module or module:Class, in a folder of TURNWISE_BOT_PATH.",
            examples=["our_bot:HRED"],
        )
        history: int | None = Field(
            5, ge=1, title="Turns told", description="The newest turns that it is given; empty for all."
        )

    configuration: Configuration

    def __init__(self, configuration: Configuration) -> None:
        """Import the module and make the bot.

        Raises:
            ConfigurationError: the named object has no `handle_messages`.
            Exception: any error that the bot raises while it is created.
        """
        super().__init__(configuration)
        lab_bot = lab_object(configuration.path)
        if not callable(getattr(lab_bot, "handle_messages", None)):
            cure = "it has no handle_messages(list of texts). Name the class or module that has."
            raise ConfigurationError(self.name, [Problem("path", configuration.path, cure)])
        self._file = Path(inspect.getfile(lab_bot))
        self._bot: Any = lab_bot() if inspect.isclass(lab_bot) else lab_bot

    def respond(self, contexts: Sequence[Context]) -> list[Response | Failure]:
        """Pass the newest turns of each context to the bot."""
        return [self._reply(context) for context in contexts]

    def _reply(self, context: Context) -> Response | Failure:
        turns = (
            context.turns
            if self.configuration.history is None
            else context.turns[-self.configuration.history :]
        )
        try:
            return Response(self._bot.handle_messages([turn.text for turn in turns]))
        except Exception as error:
            return Failure(error)

    def fingerprint(self) -> Mapping[str, object]:
        """Return the fingerprint of every bot, with the hash of the file that defines it."""
        return {**super().fingerprint(), "bot_code": hash_of([self._file])}
