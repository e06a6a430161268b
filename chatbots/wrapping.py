"""Bots around bots: `{"bot": {"adapter": …, "configuration": {…}}, …}`, in any depth."""

from abc import abstractmethod
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from itertools import count
from typing import Annotated, Any, ClassVar

from pydantic import (
    Field,
    PlainValidator,
    SerializeAsAny,
    SerializerFunctionWrapHandler,
    ValidationInfo,
    WithJsonSchema,
    field_validator,
    model_serializer,
)
from pydantic_core import PydanticCustomError

from chatbots.base import Answering, Bot, BotConfiguration, Context, Kind
from chatbots.errors import ConfigurationError, UnknownBotError
from chatbots.hosting.response_checks import is_blank
from chatbots.rate_limit_queues import RateLimitQueue
from chatbots.registry import REGISTRY
from chatbots.replies import Failure, ReplyOutcome, Response


def _checked(settings: Any, info: ValidationInfo) -> BotConfiguration:
    """Validate the settings as the inner bot's configuration; errors and secrets stay the inner bot's."""
    adapter = info.data.get("adapter")
    if adapter is None:
        return BotConfiguration()  # reported as an error of `adapter`
    if not isinstance(settings, Mapping):
        raise ValueError("is not an object of settings. Write {} for none")
    try:
        return REGISTRY.configuration(adapter, settings)
    except ConfigurationError as error:
        raise PydanticCustomError("inner_bot", "has wrong settings", {"problems": error.problems}) from None


class InnerBot(BotConfiguration):
    """A bot inside another.

    On a platform with registered bots, `registered` and `revision` identify the bot: the platform fills in
    adapter and configuration before validation, and serialised settings leave them out.
    """

    adapter: str = Field(
        description="Registered name of the bot inside.", examples=["openai-chat", "dialogpt"]
    )
    configuration: Annotated[
        SerializeAsAny[BotConfiguration], PlainValidator(_checked), WithJsonSchema({"type": "object"})
    ] = Field({}, validate_default=True, description="Its settings.")
    registered: str | None = Field(None, description="Name of the registered bot that it is.")
    revision: int | None = Field(None, ge=1, description="Which revision of that bot's settings.")

    @property
    def label(self) -> str:
        """The name that remarks use."""
        return self.registered or self.adapter

    @model_serializer(mode="wrap")
    def _as_named(self, write: SerializerFunctionWrapHandler) -> dict[str, Any]:
        keys = ("registered", "revision") if self.registered else ("adapter", "configuration")
        written: dict[str, Any] = write(self)
        return {key: written[key] for key in keys}

    @field_validator("adapter")
    @classmethod
    def _registered(cls, adapter: str) -> str:
        try:
            REGISTRY.bot_class(adapter)
        except UnknownBotError as error:
            raise ValueError(str(error)) from None
        return adapter


class WrapperConfiguration(BotConfiguration):
    """The wrapped bot."""

    bot: InnerBot = Field(
        title="Bot inside",
        description="The bot that answers, with its settings.",
        examples=[{"adapter": "eliza", "configuration": {}}],
    )


class WrapperBot(Bot):
    """A bot around another; takes its batches, waiting time, joining contexts and closing from that bot.

    Subclasses override `revised` to change a response, and `instead` to answer in the bot's place. Each
    response is revised as soon as it is complete; an error in `revised` fails that context alone. A subclass
    that overrides `respond` gets whole batches. Replies are shown as they grow only if `passes_on` says so.
    """

    listed_as = Kind.WRAPPER
    inner_setting = "bot"
    Configuration: ClassVar[type[BotConfiguration]] = WrapperConfiguration
    configuration: WrapperConfiguration

    def __init__(self, configuration: WrapperConfiguration) -> None:
        """Load the bot inside.

        Raises:
            Exception: any error of the inner bot.
        """
        super().__init__(configuration)
        self.inner = REGISTRY.bot_class(configuration.bot.adapter)(configuration.bot.configuration)

    @classmethod
    def memory_needed(cls, configuration: BotConfiguration) -> int | None:
        """Return the memory of the inner bot."""
        assert isinstance(configuration, WrapperConfiguration)
        inner = configuration.bot
        return REGISTRY.bot_class(inner.adapter).memory_needed(inner.configuration)

    @classmethod
    def draws(cls, configuration: BotConfiguration) -> bool:
        """True if the inner bot samples and ranks."""
        assert isinstance(configuration, WrapperConfiguration)
        inner = configuration.bot
        return REGISTRY.bot_class(inner.adapter).draws(inner.configuration)

    @classmethod
    def sees_pictures(cls, configuration: BotConfiguration) -> bool:
        """True if the inner bot takes in pictures."""
        assert isinstance(configuration, WrapperConfiguration)
        inner = configuration.bot
        return REGISTRY.bot_class(inner.adapter).sees_pictures(inner.configuration)

    @classmethod
    def reply_seconds(cls, configuration: BotConfiguration) -> float:
        """The inner bot's limit."""
        assert isinstance(configuration, WrapperConfiguration)
        inner = configuration.bot
        return REGISTRY.bot_class(inner.adapter).reply_seconds(inner.configuration)

    @property
    def max_batch(self) -> int:
        """Batch size of the inner bot."""
        return self.inner.max_batch

    @property
    def max_wait(self) -> float:
        """Waiting time of the inner bot."""
        return self.inner.max_wait

    def respond(self, contexts: Sequence[Context]) -> list[Response | Failure]:
        """Answer from `instead`, else by the inner bot's response, revised; its failures pass unchanged."""
        first = enumerate(self.decided(contexts))
        done = {number: outcome for number, outcome in first if outcome is not None}
        if left := [number for number in range(len(contexts)) if number not in done]:
            outcomes = self.inner.respond([contexts[number] for number in left])
            for number, outcome in zip(left, outcomes, strict=True):
                done[number] = self.concluded(contexts[number], outcome)
        return [done[number] for number in range(len(contexts))]

    def answering(self) -> Answering | None:
        """Answer as the inner bot does; each response is revised when it is done."""
        if type(self).respond is not WrapperBot.respond:
            return None
        inner = self.inner.answering()
        return None if inner is None else _Revising(self, inner)

    def instead(self, contexts: Sequence[Context]) -> Sequence[Response | None]:
        """For each context, a response that replaces the inner bot's; None to ask the inner bot."""
        return [None] * len(contexts)

    def revised(self, context: Context, response: Response) -> Response:
        """Return the response to give; the same object if nothing changes."""
        return response

    def passes_on(self, context: Context) -> bool:
        """True if the inner bot's reply to this context may be shown as it grows.

        It must stay a prefix of the reply after `revised`. Unless overridden, wrappers that override
        `revised` hold their replies back until they are complete.
        """
        return type(self).revised is WrapperBot.revised

    def decided(self, contexts: Sequence[Context]) -> list[Response | Failure | None]:
        """Call `instead`; a context for which it raises an error gets a `Failure`."""
        try:
            return list(self.instead(contexts))
        except Exception as error:
            if len(contexts) == 1:
                return [Failure(error)]
            return [outcome for context in contexts for outcome in self.decided([context])]

    def concluded(self, context: Context, outcome: Response | Failure) -> Response | Failure:
        """Revise an outcome of the inner bot; an error becomes a `Failure`."""
        if not isinstance(outcome, Response):
            return outcome
        try:
            return self.revised(context, outcome)
        except Exception as error:  # such as an error of a lab's classifier: other replies must not fail
            return Failure(error)

    def remark(self, what: str) -> str:
        """Create a remark for `Response.remarks` that names this wrapper."""
        return f"{self.name}: {what}"

    def fingerprint(self) -> Mapping[str, object]:
        """Return the fingerprint of every bot, with that of the inner bot."""
        return {**super().fingerprint(), "bot": self.inner.fingerprint()}

    def loading_responses(self) -> Sequence[Response]:
        """List those of the inner bot."""
        return self.inner.loading_responses()

    def rate_limit_queues(self) -> Sequence[RateLimitQueue]:
        """List those of the inner bot."""
        return self.inner.rate_limit_queues()

    def close(self) -> None:
        """Close the bot inside."""
        self.inner.close()


class _Revising(Answering):
    """Contexts that the bot inside a wrapper is answering."""

    def __init__(self, wrapper: WrapperBot, inner: Answering) -> None:
        self._wrapper, self._inner = wrapper, inner
        self._keys = count()
        self._asked: dict[int, tuple[int, Context]] = {}  # by the key of the bot inside
        self._passed_on: dict[int, bool] = {}  # whether the reply is shown as it grows, by the same key
        self._done: dict[int, Response | Failure] = {}

    @property
    def room(self) -> int:
        return self._inner.room

    def admit(self, contexts: Sequence[Context]) -> Sequence[int]:
        keys = [next(self._keys) for _ in contexts]
        passed_on: list[tuple[int, Context]] = []
        for key, context, outcome in zip(keys, contexts, self._wrapper.decided(contexts), strict=True):
            if outcome is None:
                passed_on.append((key, context))
            else:
                self._done[key] = outcome
        if passed_on:
            inner_keys = self._inner.admit([context for _, context in passed_on])
            self._asked |= dict(zip(inner_keys, passed_on, strict=True))
        return keys

    def step(self) -> dict[int, Response | Failure]:
        done, self._done = self._done, {}
        if self._asked:
            if done:
                self._inner.wake()  # the inner bot may wait for a service, these replies must not
            for inner_key, outcome in self._inner.step().items():
                key, context = self._asked.pop(inner_key)
                self._passed_on.pop(inner_key, None)
                done[key] = self._wrapper.concluded(context, outcome)
        return done

    def partial_texts(self) -> Mapping[int, str]:
        if not self._asked:
            return {}
        grown = self._inner.partial_texts()
        visible = [
            inner_key for inner_key in grown if inner_key in self._asked and self._passes_on(inner_key)
        ]
        return {self._asked[inner_key][0]: grown[inner_key] for inner_key in visible}

    def _passes_on(self, inner_key: int) -> bool:
        """Ask the wrapper once for each reply: a classifier may decide."""
        if inner_key not in self._passed_on:
            self._passed_on[inner_key] = self._wrapper.passes_on(self._asked[inner_key][1])
        return self._passed_on[inner_key]

    def wake(self) -> None:
        self._inner.wake()

    def cancel(self, keys: Collection[int]) -> None:
        for key in keys:
            self._done.pop(key, None)
        inner_keys = [inner_key for inner_key, (key, _) in self._asked.items() if key in keys]
        if inner_keys:
            self._inner.cancel(inner_keys)
        for inner_key in inner_keys:
            del self._asked[inner_key]
            self._passed_on.pop(inner_key, None)


class CandidateFilter(WrapperBot):
    """Wrapper that replaces a rejected response by its best allowed candidate, or by a fallback.

    Replies are held back until they are complete. The remarks say what was done; the candidates stay
    unchanged. An outer filter uses none of the texts that this one rejects.
    """

    fault: ClassVar[str]
    """The reason for rejecting a text, for the remark: "is unsafe"."""

    @abstractmethod
    def objections(self, context: Context, texts: Sequence[str]) -> list[bool]:
        """For each text, True if it must not be the reply to this context."""

    @abstractmethod
    def fallback(self, context: Context, response: Response) -> str | None:
        """The text to use if all are rejected; None to keep the bot's response all the same."""

    def revised(self, context: Context, response: Response) -> Response:
        """Choose the first text that neither this filter nor an inner one rejects."""
        texts = [response.text, *(candidate.text for candidate in response.candidates)]
        objections = self.objections(context, texts)
        objected = {text for text, is_objected in zip(texts, objections, strict=True) if is_objected}
        response = replace(response, ruled_out=response.ruled_out | objected)
        if not objections[0]:
            return response
        allowed = (text for text in texts if text not in response.ruled_out and not is_blank(text))
        if (text := next(allowed, None)) is not None:
            return self._replaced(response, text, f"the first candidate {self.fault}; said another")
        if (text := self.fallback(context, response)) is not None:
            return self._replaced(
                response,
                text,
                f"every candidate {self.fault}; said a fallback",
                ReplyOutcome.FALLBACK,
            )
        did = f"every candidate {self.fault}, and so does every fallback; said the first anyway"
        return replace(response, remarks=(*response.remarks, self.remark(did)))

    def _replaced(
        self, response: Response, text: str, did: str, outcome: ReplyOutcome = ReplyOutcome.COMPLETE
    ) -> Response:
        remarks = (*response.remarks, self.remark(did))
        return replace(response, text=text, remarks=remarks, outcome=outcome, reasoning="")
