"""Bots around bots: `{"bot": {"adapter": …, "configuration": {…}}, …}`, in any depth."""

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Annotated, Any, ClassVar

from pydantic import Field, PlainValidator, SerializeAsAny, ValidationInfo, WithJsonSchema, field_validator
from pydantic_core import PydanticCustomError

from chatbots.base import Bot, BotConfiguration, Context, Failure, Response, is_blank
from chatbots.errors import ConfigurationError, UnknownBotError
from chatbots.registry import REGISTRY


def _checked(settings: Any, info: ValidationInfo) -> BotConfiguration:
    """The settings as the inner bot's own configuration, so that its errors and its secrets stay its own."""
    adapter = info.data.get("adapter")
    if adapter is None:
        return BotConfiguration()  # told as an error of `adapter`
    if not isinstance(settings, Mapping):
        raise ValueError("is not an object of settings. Write {} for none")
    try:
        return REGISTRY.configuration(adapter, settings)
    except ConfigurationError as error:
        raise PydanticCustomError("inner_bot", "has wrong settings", {"problems": error.problems}) from None


class InnerBot(BotConfiguration):
    """The bot inside a wrapper."""

    adapter: str = Field(
        description="Registered name of the bot inside.", examples=["openai-chat", "dialogpt"]
    )
    configuration: Annotated[
        SerializeAsAny[BotConfiguration], PlainValidator(_checked), WithJsonSchema({"type": "object"})
    ] = Field({}, validate_default=True, description="Its settings.")

    @field_validator("adapter")
    @classmethod
    def _registered(cls, adapter: str) -> str:
        try:
            REGISTRY.bot_class(adapter)
        except UnknownBotError as error:
            raise ValueError(str(error)) from None
        return adapter


class WrapperConfiguration(BotConfiguration):
    """Which bot is wrapped."""

    bot: InnerBot = Field(
        title="Bot inside",
        description="The bot that answers, with its settings.",
        examples=[{"adapter": "eliza", "configuration": {}}],
    )


class WrapperBot(Bot):
    """A bot around another; batches, waits and closes as that one does.

    Subclasses override `respond`, or `revised` if they change one response at a time.
    """

    Configuration: ClassVar[type[BotConfiguration]] = WrapperConfiguration
    configuration: WrapperConfiguration

    def __init__(self, configuration: WrapperConfiguration) -> None:
        """Load the bot inside.

        Raises:
            Exception: whatever it raises.
        """
        super().__init__(configuration)
        self.inner = REGISTRY.bot_class(configuration.bot.adapter)(configuration.bot.configuration)

    @classmethod
    def memory_needed(cls, configuration: BotConfiguration) -> int | None:
        """Of the bot inside."""
        assert isinstance(configuration, WrapperConfiguration)
        inner = configuration.bot
        return REGISTRY.bot_class(inner.adapter).memory_needed(inner.configuration)

    @property
    def max_batch(self) -> int:
        """Of the bot inside."""
        return self.inner.max_batch

    @property
    def max_wait(self) -> float:
        """Of the bot inside."""
        return self.inner.max_wait

    def respond(self, contexts: Sequence[Context]) -> list[Response | Failure]:
        """What the bot inside says, revised; its failures as they are."""
        return [
            self.revised(context, outcome) if isinstance(outcome, Response) else outcome
            for context, outcome in zip(contexts, self.inner.respond(contexts), strict=True)
        ]

    def revised(self, context: Context, response: Response) -> Response:
        """The response to say instead; the same one if nothing is to be changed."""
        return response

    def remark(self, what: str) -> str:
        """A remark for `Response.remarks` that says whose it is."""
        return f"{self.name}: {what}"

    def fingerprint(self) -> Mapping[str, object]:
        """As of every bot, and that of the bot inside."""
        return {**super().fingerprint(), "bot": self.inner.fingerprint()}

    def close(self) -> None:
        """Close the bot inside."""
        self.inner.close()


class CandidateFilter(WrapperBot):
    """Says another candidate where there is an objection to the first, and a fallback where there is to all.

    What was done stands in the response's remarks; its candidates stay as they were.
    """

    fault: ClassVar[str]
    """What is the matter with a text that is objected to, for the remark: "is unsafe"."""

    @abstractmethod
    def objections(self, context: Context, texts: Sequence[str]) -> list[bool]:
        """For each text, whether it must not be the reply to this context."""

    @abstractmethod
    def fallback(self, context: Context, response: Response) -> str:
        """What is said if there is an objection to everything."""

    def revised(self, context: Context, response: Response) -> Response:
        """The first text without an objection."""
        texts = [response.text, *(candidate.text for candidate in response.candidates)]
        objections = self.objections(context, texts)
        if not objections[0]:
            return response
        allowed = (
            text
            for text, objected in zip(texts, objections, strict=True)
            if not objected and not is_blank(text)
        )
        text = next(allowed, None)
        if text is None:
            did = f"every candidate {self.fault}; said a fallback"
            text = self.fallback(context, response)
        else:
            did = f"the first candidate {self.fault}; said another"
        return replace(response, text=text, tokens=None, remarks=(*response.remarks, self.remark(did)))
