"""What all bots that are services elsewhere have in common.

What a service remembers of a dialogue, kept from turn to turn: a bounded number, for a bounded time.
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
from chatbots.base import Bot, BotConfiguration, Context, Failure, Kind, Response, Speaker, Turn
from chatbots.errors import ConfigurationError, Problem, ServiceError
from chatbots.hosting.response_checks import clean_text
from chatbots.local_files import hash_of
from chatbots.services.addresses import (
    PREFIX,
    MissingKeyError,
    check_key,
    check_url,
    check_variable,
    key_of_environment,
)
from chatbots.services.client import Client, Request


@dataclass(frozen=True, slots=True)
class Session:
    """How far a service has come in a dialogue.

    Attributes:
        state: the session's name or token at the service.
        seen: the turns that it has been told or has said.
        used: when, on the clock of `Sessions`.
    """

    state: str
    seen: tuple[Turn, ...]
    used: float


class Sessions:
    """Sessions by dialogue. Losing one is harmless: the service is then told the turns again.

    Args:
        most: sessions kept; the one unused for longest goes first.
        seconds: after which an unused one is over.
        clock: seconds that only grow.
    """

    def __init__(self, *, most: int, seconds: float, clock: Callable[[], float] = monotonic) -> None:
        self._most, self._seconds, self._clock = most, seconds, clock
        self._open: OrderedDict[str, Session] = OrderedDict()
        self._lost: list[str] = []

    def take(self, context: Context) -> str | None:
        """The state of the session that knows exactly the turns before the last one; None if none does.

        It is taken out: put it back with `keep` when the exchange has succeeded, so that a failed one, of
        which nobody knows how far it came, is not built upon.
        """
        session = self._open.pop(context.dialogue or "", None)
        if session is None:
            return None
        if session.seen == context.turns[:-1] and self._clock() - session.used <= self._seconds:
            return session.state
        self._lost.append(session.state)
        return None

    def keep(self, context: Context, reply: str, state: str) -> None:
        """Remember that the session with this state has heard the context and said the reply."""
        if context.dialogue is not None:
            said = Turn(Speaker.BOT, clean_text(reply))  # as it will stand in the next context
            self._open[context.dialogue] = Session(state, (*context.turns, said), self._clock())

    def lose(self, state: str) -> None:
        """Have this session among those that are over: it failed, or nobody will come back to it."""
        self._lost.append(state)

    def drop_over(self) -> list[str]:
        """Forget sessions that are unused for too long, too many, or overtaken; returns their states."""
        over = [
            dialogue
            for place, (dialogue, session) in enumerate(self._open.items())
            if place < len(self._open) - self._most or self._clock() - session.used > self._seconds
        ]
        lost, self._lost = self._lost, []
        return lost + [self._open.pop(dialogue).state for dialogue in over]

    def drop_all(self) -> list[str]:
        """Forget every session; returns their states."""
        states = self._lost + [session.state for session in self._open.values()]
        self._open.clear()
        self._lost = []
        return states


CODE = Path(__file__).parent
MESSAGES = Path(instruction_prompts.__file__)
Result = TypeVar("Result")
ServiceURL = Annotated[str, AfterValidator(check_url), StringConstraints(max_length=2000)]


class ServiceConfiguration(BotConfiguration):
    """How a service is reached."""

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
        15.0, gt=0, le=600, title="Time limit", description="Seconds for one reply, all attempts included."
    )
    retries: int = Field(
        2, ge=0, le=10, title="Retries", description="Further attempts after status 429 or 5xx, with pauses."
    )
    parallel: int = Field(
        16,
        ge=1,
        le=256,
        title="Requests at once",
        description="Dialogues that are answered at the same time.",
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
        """The API key for a service; empty if none is configured.

        Raises:
            MissingKeyError: the variable holds none for this address.
        """
        if self.api_key_variable:
            return key_of_environment(self.api_key_variable, url)
        return self.api_key.get_secret_value() if self.api_key else ""


class ServiceBot(Bot):
    """A bot that is a service elsewhere: one exchange per context, those of a batch at the same time.

    A context that fails does so alone. Subclasses say in `reply` what is sent and what comes back.
    """

    listed_as = Kind.SERVICE
    Configuration: ClassVar[type[BotConfiguration]] = ServiceConfiguration
    configuration: ServiceConfiguration

    def __init__(self, configuration: ServiceConfiguration) -> None:
        """Prepare; sends nothing.

        Raises:
            ConfigurationError: the variable of the API key holds none for this service.
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
        )
        # Its own loop, used by the bot's thread alone: connections stay open from batch to batch.
        self._runner = asyncio.Runner()

    @property
    @abstractmethod
    def url(self) -> str:
        """Where the service is."""

    @property
    def max_batch(self) -> int:
        """As configured."""
        return self.configuration.parallel

    @abstractmethod
    async def reply(self, context: Context) -> Response:
        """Answer one context.

        Raises:
            ServiceError: the service did not answer, or not as agreed.
        """

    def respond(self, contexts: Sequence[Context]) -> list[Response | Failure]:
        """Ask for all contexts at once."""
        return self.run(self.replies(contexts))

    def run(self, steps: Coroutine[Any, Any, Result]) -> Result:
        """Carry out a coroutine on the bot's own loop."""
        return self._runner.run(steps)

    async def replies(self, contexts: Sequence[Context]) -> list[Response | Failure]:
        """Of all contexts at once."""
        outcomes = await asyncio.gather(*map(self.reply, contexts), return_exceptions=True)
        return [_outcome(outcome) for outcome in outcomes]

    def fingerprint(self) -> Mapping[str, object]:
        """As of every bot, and the hash of the code that services share: how turns become messages, say."""
        return {**super().fingerprint(), "service_code": hash_of([*sorted(CODE.glob("*.py")), MESSAGES])}

    async def finish(self) -> None:
        """Whatever the service should hear before the connections close."""

    def close(self) -> None:
        """Say goodbye and close the connections."""
        try:
            self.run(self._close())
        finally:
            self._runner.close()

    async def _close(self) -> None:
        try:
            await self.finish()
        finally:
            await self.client.close()


def _outcome(outcome: Response | BaseException) -> Response | Failure:
    if isinstance(outcome, Response):
        return outcome
    if isinstance(outcome, Exception):
        return Failure(outcome)
    raise outcome


_KINDS = {type(None): "nothing", bool: "a truth value", int: "a number", float: "a number"} | {
    list: "a list",
    dict: "an object",
}


def text_of(value: Any, request: Request, place: str) -> str:
    """The reply in what a service answered.

    Args:
        value: what stands in the place of the reply.
        request: for the message.
        place: what the place is called, for the message.

    Raises:
        ServiceError: it is not text.
    """
    if isinstance(value, str):
        return value
    kind = _KINDS.get(type(value), "something else")
    raise ServiceError(
        f"{request.url} has {kind} in {place} instead of a text. Compare with its documentation."
    )


def object_of(value: Any, request: Request) -> Mapping[str, Any]:
    """The JSON object that a service answered.

    Raises:
        ServiceError: it is something else.
    """
    if isinstance(value, dict):
        return value
    raise ServiceError(f"{request.url} answered {_KINDS.get(type(value), 'a text')} instead of an object.")
