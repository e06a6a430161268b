"""The base of bots that are language models behind a chat API: settings, requests and streaming."""

import asyncio
import re
from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import replace
from time import monotonic
from typing import Any, ClassVar

from pydantic import Field, JsonValue, field_validator

from chatbots.base import Context, Response, Speaker, Turn
from chatbots.errors import ServiceError
from chatbots.instruction_prompts import (
    Message,
    alternating_messages_of,
    has_place,
    material_field,
    messages_of,
    newest_turns,
    sentences_field,
    with_material,
)
from chatbots.services.answering import Show
from chatbots.services.bot import ServiceBot, ServiceConfiguration, ServiceURL
from chatbots.services.client import ByteStream, Request, StatusError, TooManyBytesError
from chatbots.services.event_streams import DONE, BodyParser, ServerSentEvents, WholeBody
from chatbots.services.headers import HEADER_NAME, check_headers, check_query
from chatbots.services.model_lists import names_of_models
from chatbots.services.replies import ReplyReader, kind_of

SECONDS_AFTER_FINAL = 2.0
"""Longest wait for the usage and the end of a stream after the final event of its text."""

SECONDS_AFTER_DONE = 0.05
"""Longest wait for the end of a stream after its mark, so that the connection can be used again."""

STREAM_REFUSALS = frozenset({400, 404, 405, 406, 415, 422, 501})
"""Statuses with which services refuse a parameter."""


_STREAM = re.compile(rb"(?i)\bstream")


class ChatConfiguration(ServiceConfiguration):
    """The model, the prompt, and the settings of its requests."""

    first = ServiceConfiguration.first | frozenset({"system", "temperature"})
    ours: ClassVar[frozenset[str]] = frozenset({"messages", "model", "stream"})
    """Names in a request that `parameters` must not change."""

    base_url: ServiceURL = Field(
        title="Base URL",
        description="Address of the service up to and including /v1.",
        examples=["https://api.example.org/v1", "http://127.0.0.1:11434/v1"],
    )
    model: str = Field(
        min_length=1,
        max_length=300,
        description="Name of the model, as the service calls it.",
        examples=["llama3.2"],
    )
    system: str = Field(
        "",
        max_length=20_000,
        title="System prompt",
        description="Instructions that the model gets before the dialogue; empty for none.",
        examples=["You are a friendly chat partner. Answer in one or two sentences."],
    )
    temperature: float | None = Field(
        None, ge=0, le=10, description="Sampling temperature; empty for the service's own."
    )
    top_p: float | None = Field(
        None, gt=0, le=1, description="Nucleus sampling; empty for the service's own."
    )
    most_tokens: int | None = Field(
        None,
        ge=1,
        title="Longest reply",
        description="Most tokens of a reply; empty for the service's own.",
    )
    stream: bool = Field(
        True, description="Receive the text as the model writes it, if the service can send it so."
    )
    material: str = material_field()
    material_sentences: int | None = sentences_field(None)
    stop: tuple[str, ...] = Field((), max_length=4, description="Texts at which a reply ends.")
    history: int | None = Field(
        None, ge=1, title="Turns sent", description="Only so many newest turns are sent; empty for all."
    )
    parameters: dict[str, JsonValue] = Field(
        {},
        title="Further parameters",
        description="Added to each request as they are.",
        examples=[{"presence_penalty": 0.5}],
    )
    headers: dict[str, str] = Field(
        {},
        description="Headers that the service needs besides the key; never a key.",
        examples=[{"X-Title": "My study"}],
    )
    query: dict[str, str] = Field(
        {},
        title="Parameters of the URL",
        description="Added to the address of each request; never a key.",
        examples=[{"api-version": "2024-10-21"}],
    )
    key_header: str = Field(
        "Authorization",
        pattern=f"^{HEADER_NAME.pattern}$",
        title="Header of the API key",
        description="Where the API key goes.",
        examples=["api-key"],
    )
    key_prefix: str = Field(
        "Bearer ",
        max_length=50,
        pattern=r"^[ -~]*$",
        title="Before the API key",
        description="Written before the API key.",
    )

    _has_place = field_validator("material")(has_place)
    _can_be_sent_on = field_validator("headers")(check_headers)
    _holds_no_key = field_validator("query")(check_query)

    @field_validator("parameters")
    @classmethod
    def _not_ours(cls, parameters: dict[str, JsonValue]) -> dict[str, JsonValue]:
        if taken := sorted(cls.ours & parameters.keys()):
            raise ValueError(f"{', '.join(taken)}: has a setting of its own, or is not yours to change")
        return parameters


class ChatServiceBot(ServiceBot):
    """A language model behind a chat API.

    Loading sends one short request, so that a wrong address, key or model name is reported at once and the
    fingerprint can hold the service's own name of the model. Subclasses build the request and read its
    answer; this class streams, if the service can, and falls back to whole answers.
    """

    Configuration: ClassVar[type[ServiceConfiguration]] = ChatConfiguration
    configuration: ChatConfiguration

    stream_body: ClassVar[type[BodyParser]] = ServerSentEvents
    """Parser of a streamed answer."""

    def __init__(self, configuration: ChatConfiguration) -> None:
        """Send one request to learn the model's reported name, and whether the service streams.

        Raises:
            ConfigurationError: the variable of the API key holds no key for this service.
            ServiceError: the service cannot be reached or does not answer as agreed.
        """
        super().__init__(configuration)
        self._reported = ""
        self._modes = self.stream_modes() if configuration.stream else (False,)
        self._stream_refusal = ""
        try:
            hello = Context((Turn(Speaker.HUMAN, "Hi!"),), seed=1)
            self._reported = self.run(self._received(hello, lambda text: None)).model
        except BaseException:
            self.close()
            raise

    # --- what a service decides ---

    @abstractmethod
    def content(self, context: Context, stream: object) -> dict[str, Any]:
        """Build the JSON of a request.

        Args:
            context: the dialogue to answer.
            stream: one of `stream_modes`; False for a whole answer.
        """

    @abstractmethod
    def reader(self) -> ReplyReader:
        """Create the reader of an answer."""

    def stream_modes(self) -> Sequence[object]:
        """List the forms of an answer, the preferred one first; False is a whole answer."""
        return (True, False)

    def request_url(self, stream: object) -> str:
        """Return the address of a request; `url` unless overridden."""
        return self.url

    def response_of_error(self, error: StatusError) -> Response | None:
        """Return the reply that an error stands for, such as a filtered prompt; None for none."""
        return None

    def service_headers(self) -> Mapping[str, str]:
        """Return further headers that the service needs."""
        return {}

    @property
    def must_alternate(self) -> bool:
        """True if the service insists that the user begins and roles alternate."""
        return False

    @property
    def models_url(self) -> str:
        """Address of the list of models."""
        return f"{self.base_url}/models"

    # --- for subclasses ---

    @property
    def base_url(self) -> str:
        """The configured address without a slash at its end."""
        return self.configuration.base_url.rstrip("/")

    def system_prompt(self, context: Context) -> str:
        """Return the system prompt with the context's material; empty for none."""
        settings = self.configuration
        return with_material(settings.system, context, settings.material, settings.material_sentences)

    def messages(self, context: Context, system: str = "") -> list[Message]:
        """Convert the newest turns to messages, the system prompt first unless it is empty."""
        build = alternating_messages_of if self.must_alternate else messages_of
        return build(newest_turns(context, self.configuration.history), system)

    # --- exchange ---

    async def reply(self, context: Context) -> Response:
        """Answer one context and show nothing before it is complete."""
        return await self.streamed_reply(context, lambda text: None)

    async def streamed_reply(self, context: Context, show: Show) -> Response:
        """Answer one context; the text so far is shown as it grows.

        Raises:
            ServiceError: the service did not answer, or not as agreed.
        """
        response = await self._received(context, show)
        return replace(response, remarks=(*response.remarks, *self._own_remarks(response)))

    async def models(self) -> list[str]:
        """List the names of the models that the service offers, sorted.

        Raises:
            ServiceError: the service has no such list, or did not answer.
        """
        request = Request(
            self.models_url, "GET", query=self.configuration.query, headers=self._headers("application/json")
        )
        return names_of_models(await self.client.exchange(request), request.url)

    def fingerprint(self) -> Mapping[str, object]:
        """Return the fingerprint of every bot, with the service's name of its model."""
        return {**super().fingerprint(), "reported_model": self._reported}

    async def _received(self, context: Context, show: Show) -> Response:
        """Ask in the preferred mode; if the service refuses it, in the next one, which is then preferred."""
        modes, refused = self._modes, ""
        for place, mode in enumerate(modes, start=1):
            try:
                response = await self._asked(context, mode, show)
            except StatusError as error:
                if place == len(modes) or not self._refuses_stream(error):
                    return self._instead_of(error)
                refused = str(error)
            else:
                if refused:
                    self._modes = modes[place - 1 :]
                    self._stream_refusal = "" if mode else refused
                return response
        raise AssertionError("The last mode returns or raises.")

    def _refuses_stream(self, error: StatusError) -> bool:
        return error.status in STREAM_REFUSALS and bool(_STREAM.search(error.body))

    def _instead_of(self, error: StatusError) -> Response:
        response = self.response_of_error(error)
        if response is None:
            raise error
        return response

    async def _asked(self, context: Context, mode: object, show: Show) -> Response:
        url = self.request_url(mode)
        accept = "text/event-stream" if mode and self.stream_body is ServerSentEvents else "application/json"
        request = Request(
            url,
            query=self.configuration.query,
            headers=self._headers(accept),
            content={**self.configuration.parameters, **self.content(context, mode)},
        )
        reception = _Reception(self.reader(), show)
        parser = self.stream_body(url) if mode else WholeBody(url)
        async with self.client.stream(request) as stream:
            await reception.receive(stream, parser)
            return reception.reader.response(None if parser.is_whole else reception.first_seconds)

    def _headers(self, accept: str) -> dict[str, str]:
        settings = self.configuration
        key = {settings.key_header: settings.key_prefix + self.key} if self.key else {}
        return {"Accept": accept, **self.service_headers(), **settings.headers, **key}

    def _own_remarks(self, response: Response) -> list[str]:
        remarks = []
        if response.model != self._reported:
            model = f"'{response.model}', not '{self._reported}'"
            remarks.append(f"{self.name}: the service answered as model {model}")
        if self._stream_refusal:
            remarks.append(f"{self.name}: not streamed, the service refused it: {self._stream_refusal}"[:500])
        return remarks


class _Reception:
    """Passes the body of one answer to its reader, and the text so far to whoever shows it."""

    def __init__(self, reader: ReplyReader, show: Show) -> None:
        self.reader, self._show = reader, show
        self._started = monotonic()
        self._shown_chars = 0
        self.first_seconds: float | None = None

    async def receive(self, stream: ByteStream, parser: BodyParser) -> None:
        """Read the body to its end, or as far as it matters.

        Raises:
            ServiceError: the body is broken, or ends before the reply does.
        """
        try:
            if not await self._read_parts(stream, parser):
                self._read(parser.finish())
        except TooManyBytesError as error:
            if not self.reader.characters or parser.is_whole:
                raise
            self.reader.cut(f"{error} The rest was not read.")
            return
        except ServiceError as error:
            if not self.reader.is_final:
                raise
            self.reader.remark(f"after the final event: {error}")
        self._check_end()

    async def _read_parts(self, stream: ByteStream, parser: BodyParser) -> bool:
        """Read until the end of the body; True if the service marked the end of its events."""
        loop, is_done = asyncio.get_running_loop(), False
        try:
            async with asyncio.timeout(None) as limit:
                async for part in stream.parts():
                    if is_done:
                        continue
                    is_done = self._read(parser.feed(part))
                    if self.reader.is_final:
                        rest = SECONDS_AFTER_DONE if is_done else SECONDS_AFTER_FINAL
                        limit.reschedule(loop.time() + rest)
        except TimeoutError:
            if is_done:
                return True
            self.reader.remark("the service did not end its stream after the final event")
            return True
        return is_done

    def _read(self, events: Any) -> bool:
        """Read the events; True if one of them was the mark of the end."""
        for event in events:
            if event is DONE:
                self.reader.is_final = True
                return True
            if not isinstance(event, Mapping):
                raise ServiceError(f"{self.reader.url} answered {kind_of(event)} instead of an object.")
            self.reader.read(event)
        if len(text := self.reader.shown) > self._shown_chars:
            self._shown_chars = len(text)
            if self.first_seconds is None:
                self.first_seconds = monotonic() - self._started
            self._show(text)
        return False

    def _check_end(self) -> None:
        reader = self.reader
        if not reader.is_final:
            received = f"{reader.characters:,} characters" if reader.characters else "nothing"
            raise ServiceError(
                f"{reader.url} ended its answer before the reply was complete, after {received}. Ask again."
            )
