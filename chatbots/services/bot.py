"""The base of all bots that are services elsewhere, and the sessions of dialogues at a service.

Sessions are kept from turn to turn: a bounded number, for a bounded time.
"""

import asyncio
from abc import abstractmethod
from collections import OrderedDict
from collections.abc import Callable, Coroutine, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from time import monotonic
from typing import Annotated, Any, ClassVar, Self, TypeVar

from pydantic import (
    AfterValidator,
    Field,
    SecretStr,
    StringConstraints,
    field_validator,
    model_validator,
)

from chatbots import instruction_prompts
from chatbots.base import Answering, BotConfiguration, Context, Kind, Speaker, Turn
from chatbots.continuous import ContinuousBot
from chatbots.errors import ConfigurationError, Problem, ServiceError
from chatbots.hosting.response_checks import clean_text
from chatbots.local_files import hash_of
from chatbots.rate_limit_queues import RateLimitQueue
from chatbots.replies import Response
from chatbots.services.addresses import (
    PREFIX,
    MissingKeyError,
    check_key,
    check_url,
    check_variable,
    key_of_environment,
    origin_of,
)
from chatbots.services.answering import ServiceAnswering, Show
from chatbots.services.client import Client, Request
from chatbots.services.rate_limits import RateLimit, bucket_name, limiter_in_use
from chatbots.services.replies import kind_of


@dataclass(frozen=True, slots=True)
class Session:
    """A dialogue's progress at a service.

    Attributes:
        state: the session's name or token at the service.
        seen: the turns that the service knows.
        used: time of the last use, on the clock of `Sessions`.
    """

    state: str
    seen: tuple[Turn, ...]
    used: float


class Sessions:
    """Sessions by dialogue. Losing one is harmless: the service then gets all turns again.

    Args:
        most: largest number of sessions; the one unused for longest is dropped first.
        seconds: until an unused session is over.
        clock: monotonic seconds.
    """

    def __init__(self, *, most: int, seconds: float, clock: Callable[[], float] = monotonic) -> None:
        self._most, self._seconds, self._clock = most, seconds, clock
        self._open: OrderedDict[str, Session] = OrderedDict()
        self._lost: list[str] = []

    def take(self, context: Context) -> str | None:
        """Take out the session that knows exactly the turns before the last one; return its state, or None.

        Put it back with `keep` after a successful exchange. A failed exchange leaves the session in an
        unknown state, so it must not be used again.
        """
        session = self._open.pop(context.dialogue or "", None)
        if session is None:
            return None
        if session.seen == context.turns[:-1] and self._clock() - session.used <= self._seconds:
            return session.state
        self._lost.append(session.state)
        return None

    def keep(self, context: Context, reply: str, state: str) -> None:
        """Store that the session with this state knows the context and the reply."""
        if context.dialogue is not None:
            reply_turn = Turn(Speaker.BOT, clean_text(reply))  # in the form of the next context
            self._open[context.dialogue] = Session(state, (*context.turns, reply_turn), self._clock())

    def lose(self, state: str) -> None:
        """Mark this session as over: it failed, or its dialogue will not continue."""
        self._lost.append(state)

    def drop_over(self) -> list[str]:
        """Drop sessions that are unused for too long, too many, or replaced; return their states."""
        over = [
            dialogue
            for place, (dialogue, session) in enumerate(self._open.items())
            if place < len(self._open) - self._most or self._clock() - session.used > self._seconds
        ]
        lost, self._lost = self._lost, []
        return lost + [self._open.pop(dialogue).state for dialogue in over]

    def drop_all(self) -> list[str]:
        """Drop every session; return their states."""
        states = self._lost + [session.state for session in self._open.values()]
        self._open.clear()
        self._lost = []
        return states


CODE = Path(__file__).parent
MESSAGES = Path(instruction_prompts.__file__)
Result = TypeVar("Result")
ServiceURL = Annotated[str, AfterValidator(check_url), StringConstraints(max_length=2000)]


class ServiceConfiguration(BotConfiguration):
    """The connection to a service."""

    first = frozenset({"api_key", "api_key_variable"})

    api_key: SecretStr | None = Field(
        None,
        title="API key",
        description="Sent to the service. It is safer in the environment of the host: see the next field.",
    )
    api_key_variable: str | None = Field(
        None,
        title="Environment variable of the API key",
        pattern=f"^{PREFIX}[A-Z0-9_]+$",
        description=f"Variable of the host that holds the key; its name begins with {PREFIX}.",
        examples=[f"{PREFIX}OPENAI_KEY"],
    )
    timeout: float = Field(
        60.0, gt=0, le=600, title="Time limit", description="Seconds for one reply, all attempts included."
    )
    retries: int = Field(
        2,
        ge=0,
        le=10,
        title="Retries",
        description="Further attempts after status 408, 429 or 5xx, with pauses.",
    )
    parallel: int = Field(
        64,
        ge=1,
        le=1000,
        title="Requests at once",
        description="Requests that the service gets at the same time, at most; further ones wait.",
    )
    requests_per_minute: int | None = Field(
        None,
        ge=1,
        title="Requests per minute",
        description="The service's limit for the key; requests of all bots with this key wait for it. Empty "
        "for none.",
    )

    @field_validator("api_key")
    @classmethod
    def _can_be_sent(cls, key: SecretStr | None) -> SecretStr | None:
        if key:
            check_key(key.get_secret_value())
        return key

    @field_validator("api_key_variable")
    @classmethod
    def _is_a_key(cls, variable: str | None) -> str | None:
        return variable and check_variable(variable)

    @model_validator(mode="after")
    def _one_key(self) -> Self:
        if self.api_key and self.api_key_variable:
            raise ValueError("api_key and api_key_variable are both given. Keep one of them")
        return self

    def key_for(self, url: str) -> str:
        """Return the API key for a service; empty if none is configured.

        Raises:
            MissingKeyError: the variable holds no key for this address.
        """
        if self.api_key_variable:
            return key_of_environment(self.api_key_variable, url)
        return self.api_key.get_secret_value() if self.api_key else ""


class ServiceBot(ContinuousBot):
    """A bot that is a service elsewhere: one exchange per context, up to `parallel` at the same time.

    A finished reply is delivered at once, and a new request is sent at once. A context that fails does so
    alone. Subclasses implement the exchange in `reply`, or in `streamed_reply` if the text comes in parts.
    """

    listed_as = Kind.SERVICE
    Configuration: ClassVar[type[BotConfiguration]] = ServiceConfiguration
    configuration: ServiceConfiguration

    @classmethod
    def reply_seconds(cls, configuration: BotConfiguration) -> float:
        """The time limit of an exchange."""
        assert isinstance(configuration, ServiceConfiguration)
        return configuration.timeout

    def __init__(self, configuration: ServiceConfiguration) -> None:
        """Prepare; sends nothing.

        Raises:
            ConfigurationError: the variable of the API key holds no key for this service.
        """
        super().__init__(configuration)
        try:
            self.key = configuration.key_for(self.url)
        except MissingKeyError as error:
            variable = str(configuration.api_key_variable)
            raise ConfigurationError(self.name, [Problem("api_key_variable", variable, str(error))]) from None
        self.client = Client(
            timeout=configuration.timeout,
            retries=configuration.retries,
            connections=configuration.parallel,
            hidden=[self.key],
            rate_limit=self._rate_limit(),
        )
        # A separate loop for the bot's thread alone: connections stay open from request to request.
        self._runner = asyncio.Runner()

    def _rate_limit(self) -> RateLimit | None:
        settings = self.configuration
        if not settings.requests_per_minute and not self.tokens_per_minute:
            return None
        return RateLimit(
            limiter_in_use(),
            bucket_name(origin_of(self.url), self.key),
            settings.requests_per_minute,
            self.tokens_per_minute,
        )

    @property
    def tokens_per_minute(self) -> int | None:
        """The service's limit of tokens in a minute; None unless overridden."""
        return None

    @property
    @abstractmethod
    def url(self) -> str:
        """Address of the service."""

    @property
    def max_batch(self) -> int:
        """The configured number of requests at once."""
        return self.configuration.parallel

    @abstractmethod
    async def reply(self, context: Context) -> Response:
        """Answer one context.

        Raises:
            ServiceError: the service did not answer, or not as agreed.
        """

    async def streamed_reply(self, context: Context, show: Show) -> Response:
        """Answer one context, and pass the visible text so far to `show` each time it has grown.

        Unless overridden, the text is shown only when it is complete.

        Raises:
            ServiceError: as `reply`.
        """
        return await self.reply(context)

    def answering(self) -> Answering:
        """Answer every context in a task of its own."""
        return ServiceAnswering(self._runner, self.streamed_reply, self.configuration.parallel)

    def run(self, steps: Coroutine[Any, Any, Result]) -> Result:
        """Run a coroutine on the bot's loop."""
        return self._runner.run(steps)

    def fingerprint(self) -> Mapping[str, object]:
        """Return the fingerprint of every bot, with the hash of the code that services share."""
        return {**super().fingerprint(), "service_code": hash_of([*sorted(CODE.glob("*.py")), MESSAGES])}

    async def finish(self) -> None:
        """Send final messages to the service before the connections close."""

    def rate_limit_queues(self) -> Sequence[RateLimitQueue]:
        """Return the queue for the limit of the service; empty if none is configured."""
        limit = self.client.rate_limit
        if limit is None:
            return ()
        return [RateLimitQueue(limit.name, limit.requests, limit.tokens, *self.client.waiting.times())]

    def close(self) -> None:
        """End the sessions and close the connections."""
        try:
            self.run(self._close())
        finally:
            self._runner.close()

    async def _close(self) -> None:
        try:
            await self.finish()
        finally:
            await self.client.close()


def text_of(value: Any, request: Request, place: str) -> str:
    """Return the reply in a service's answer.

    Args:
        value: found at the place of the reply.
        request: for the message.
        place: its name, for the message.

    Raises:
        ServiceError: the value is not text.
    """
    if isinstance(value, str):
        return value
    raise ServiceError(
        f"{request.url} has {kind_of(value)} in {place} instead of a text. Compare with its documentation."
    )


def object_of(value: Any, request: Request) -> Mapping[str, Any]:
    """Return the JSON object that a service answered.

    Raises:
        ServiceError: the answer is no object.
    """
    if isinstance(value, dict):
        return value
    raise ServiceError(f"{request.url} answered {kind_of(value)} instead of an object.")
