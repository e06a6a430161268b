"""Errors of bots, as classes that callers tell apart."""

import traceback
from collections.abc import Sequence
from dataclasses import dataclass


class ChatbotError(Exception):
    """Base of the errors of bots; pages and the API show the messages unchanged."""


class UnknownBotError(ChatbotError):
    """No bot is registered under the requested name."""


class DuplicateBotError(ChatbotError):
    """Two classes claim one name."""


HIDDEN, NOTHING = "(hidden)", "(nothing)"


@dataclass(frozen=True, slots=True)
class Problem:
    """One setting that is wrong.

    Attributes:
        field: dotted path of the setting, as in `replies.0`.
        value: the wrong value, shortened; "(hidden)" for a secret, "(nothing)" if it is missing.
        cure: an instruction how to correct it.
    """

    field: str
    value: str
    cure: str

    def __str__(self) -> str:
        return f"{self.field} = {self.value}: {self.cure}"


class ConfigurationError(ChatbotError):
    """A bot's configuration is not valid; `problems` has one entry per wrong setting, for a form to show."""

    def __init__(self, bot: str, problems: Sequence[Problem]) -> None:
        self.bot = bot
        self.problems = tuple(problems)
        super().__init__(f"Configuration of bot '{bot}': " + "; ".join(map(str, self.problems)))


class HostingError(ChatbotError):
    """Base of the errors with which a resident bot ends a request."""


class BotBusyError(HostingError):
    """The bot takes no request now: its queue is full or it is stuck. Nothing was started; try later."""


class CircuitOpenError(BotBusyError):
    """The circuit breaker is open: the bot failed several times in a row and is not asked for a while."""


class BotLateError(HostingError):
    """The response did not come before the deadline. A later one is thrown away."""


class BotFailedError(HostingError):
    """The bot could not be loaded, raised an error, returned nothing usable, or was closed."""


class BotSilentError(BotFailedError):
    """The bot answered, but its text has no visible character."""


class BotNotHostedError(HostingError):
    """No process has the bot loaded now. Nothing was started; try again once a host is up."""


class BotHostGoneError(BotNotHostedError):
    """The process that had the bot loaded ended without notice. Another one may be starting."""


class LineLostError(HostingError):
    """The connection to the bot's process broke during a request; the request may be repeated."""


class OperatorAwayError(ChatbotError):
    """A person answers in the bot's place, and no operator is present."""


class OperatorLateError(ChatbotError):
    """A person answers in the bot's place, and did not reply within the configured time."""


class NobodyAnsweredError(ChatbotError):
    """No member of an ensemble gave a reply; the message gives each member's reason."""


class ServiceError(ChatbotError):
    """A service gave no usable answer; the message says what it did, and holds no secret."""


class RateLimitWaitError(ServiceError):
    """A service was not asked, because its rate limit is used up for longer than the request may wait."""


class ForbiddenAddressError(ChatbotError):
    """A service has a forbidden address; the message says which one and what an admin can do."""


class BotMemoryError(ChatbotError):
    """Loading the bot would take more memory than its process may use."""


def last_line(error: BaseException) -> str:
    """Return an error as one line of at most 500 characters; a `ChatbotError` without its class name."""
    message = str(error) if isinstance(error, ChatbotError) else ""
    text = message or "".join(traceback.format_exception_only(error))
    return " ".join(text.split())[:500]
