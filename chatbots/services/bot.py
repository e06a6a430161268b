"""What all bots that are services elsewhere have in common."""

import asyncio
from abc import abstractmethod
from collections.abc import Coroutine, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, ClassVar, Self, TypeVar

from pydantic import (
    AfterValidator,
    Field,
    SecretStr,
    StringConstraints,
    field_validator,
    model_validator,
)

from chatbots import messages
from chatbots.base import Bot, BotConfiguration, Context, Failure, Kind, Response
from chatbots.errors import ConfigurationError, Problem, ServiceError
from chatbots.hashing import hash_of
from chatbots.services.addresses import check_url
from chatbots.services.client import Client, Request
from chatbots.services.keys import PREFIX, MissingKeyError, check_key, check_variable, key_of_environment

CODE = Path(__file__).parent
MESSAGES = Path(messages.__file__)
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
