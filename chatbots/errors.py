"""What can go wrong with a bot, as classes that callers tell apart."""

import traceback
from collections.abc import Sequence
from dataclasses import dataclass


class ChatbotError(Exception):
    """Base of the errors of bots, whose messages people read as they are, on pages and over the API."""


class UnknownBotError(ChatbotError):
    """No bot is registered under the name asked for."""


class DuplicateBotError(ChatbotError):
    """Two classes claim one name."""


HIDDEN, NOTHING = "(hidden)", "(nothing)"


@dataclass(frozen=True, slots=True)
class Problem:
    """One setting that is wrong.

    Attributes:
        field: dotted path of the setting, as in `replies.0`.
        value: what was given, shortened; "(hidden)" for a secret, "(nothing)" if it is missing.
        cure: what to give instead.
    """

    field: str
    value: str
    cure: str

    def __str__(self) -> str:
        return f"{self.field} = {self.value}: {self.cure}"


class ConfigurationError(ChatbotError):
    """A bot's configuration is not valid; `problems` has one entry per wrong setting, for a form to place."""

    def __init__(self, bot: str, problems: Sequence[Problem]) -> None:
        self.bot = bot
        self.problems = tuple(problems)
        super().__init__(f"Configuration of bot '{bot}': " + "; ".join(map(str, self.problems)))


class HostingError(ChatbotError):
    """Base of the ways in which a resident bot does not answer a request."""


class BotBusyError(HostingError):
    """The bot takes no request now: its queue is full or it is stuck. Nothing was started; try later."""


class BotRestingError(BotBusyError):
    """The bot has failed several times in a row and is left alone for a while."""


class BotLateError(HostingError):
    """The answer did not come before the deadline. If it still comes it is thrown away."""


class BotFailedError(HostingError):
    """The bot could not be loaded, raised an error, answered nothing usable, or was closed."""


class BotSilentError(BotFailedError):
    """The bot answered, but said nothing that can be seen."""


class BotNotHostedError(HostingError):
    """No process has the bot loaded now. Nothing was started; try again once a host is up."""


class BotHostGoneError(BotNotHostedError):
    """The process that had the bot loaded has ended without saying so. Another one may be on its way."""


class LineLostError(HostingError):
    """The line to the process that has the bot broke while it was asked; it may be asked again."""


class OperatorAwayError(ChatbotError):
    """A person answers in the bot's place, and nobody is there who could."""


class OperatorLateError(ChatbotError):
    """A person answers in the bot's place, and has not done so in the time for which people are to wait."""


class NobodyAnsweredError(ChatbotError):
    """None of the bots inside an ensemble gave a reply; the message says why each did not."""


class ServiceError(ChatbotError):
    """A service gave no usable answer; the message says what it did, and holds no secret."""


class ForbiddenAddressError(ChatbotError):
    """A service has an address that nobody allowed; the message says which and what an admin can do."""


class BotMemoryError(ChatbotError):
    """Loading the bot would take more memory than its process may use."""


def last_line(error: BaseException) -> str:
    """The error as a traceback ends, or one of ours as it is: on one line, at most 500 characters."""
    own = str(error) if isinstance(error, ChatbotError) else ""
    said = own or "".join(traceback.format_exception_only(error))
    return " ".join(said.split())[:500]
