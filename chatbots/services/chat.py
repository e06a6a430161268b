"""The base of bots that are language models behind a chat API: settings, requests and streaming."""

import json
import re
from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, ClassVar

from chatbots.base import Context, Speaker, Turn
from chatbots.instruction_prompts import (
    Message,
    alternating_messages_of,
    messages_of,
    newest_turns,
    system_of,
)
from chatbots.replies import Response
from chatbots.services.answering import Show
from chatbots.services.bot import ServiceBot, ServiceConfiguration
from chatbots.services.chat_settings import ChatConfiguration
from chatbots.services.client import Request, StatusError
from chatbots.services.event_streams import BodyParser, ServerSentEvents, WholeBody
from chatbots.services.model_lists import names_of_models
from chatbots.services.reception import Reception
from chatbots.services.replies import ReplyReader

STREAM_REFUSALS = frozenset({400, 404, 405, 406, 415, 422, 501})
"""Statuses with which services refuse a parameter."""


CHARS_PER_TOKEN = 4
TOKENS_OF_REPLY = 300
"""Estimates for the rate limit, until the service reports the usage."""

_STREAM = re.compile(rb"(?i)\bstream")


def _show_nothing(text: str) -> None:
    """Keep a text so far from people."""


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

    def __init__(self, configuration: ChatConfiguration, *, says_hello: bool = True) -> None:
        """Send one request to learn the model's reported name, and whether the service streams.

        Args:
            configuration: the settings.
            says_hello: False to send nothing.

        Raises:
            ConfigurationError: the variable of the API key holds no key for this service.
            ServiceError: the service cannot be reached or does not answer as agreed.
        """
        super().__init__(configuration)
        self._reported = ""
        self._modes = self.stream_modes() if configuration.stream else (False,)
        self._stream_refusal = ""
        # True once the model marked its reasoning by a closing tag alone: its texts so far may be reasoning.
        self._holds_text = False
        if not says_hello:
            return
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
    def tokens_per_minute(self) -> int | None:
        """As configured."""
        return self.configuration.tokens_per_minute

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
        """Return the system prompt with its variables and the context's material; empty for none."""
        settings = self.configuration
        return system_of(settings.system, context, settings.material, settings.material_sentences)

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
        return replace(response, remarks=(*response.remarks, *self._remarks_on_service(response)))

    @classmethod
    def preview(cls, configuration: ChatConfiguration, context: Context) -> Mapping[str, Any]:
        """Build the JSON that a bot with this configuration would send for a context; sends nothing."""
        without_key = configuration.model_copy(update={"api_key": None, "api_key_variable": None})
        bot = cls(without_key, says_hello=False)
        try:
            mode = bot.stream_modes()[0] if configuration.stream else False
            return {**configuration.parameters, **bot.content(context, mode)}
        finally:
            bot.close()

    @classmethod
    def list_models(cls, configuration: ChatConfiguration) -> list[str]:
        """List the names of the models that a service offers, sorted; the configured model is not used.

        Raises:
            ConfigurationError: the variable of the API key holds no key for this service.
            ServiceError: the service has no such list, or did not answer.
        """
        bot = cls(configuration, says_hello=False)
        try:
            headers = bot._headers("application/json")
            request = Request(bot.models_url, "GET", query=configuration.query, headers=headers)
            return names_of_models(bot.run(bot.client.exchange(request)), request.url)
        finally:
            bot.close()

    def fingerprint(self) -> Mapping[str, object]:
        """Return the fingerprint of every bot, with the service's name of its model."""
        return {**super().fingerprint(), "reported_model": self._reported}

    async def _received(self, context: Context, show: Show) -> Response:
        """Ask in the preferred mode; if the service refuses it, in the next one, which is then preferred."""
        modes, refused = self._modes, ""
        for place, mode in enumerate(modes, start=1):
            try:
                response = await self._request(context, mode, show)
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

    async def _request(self, context: Context, mode: object, show: Show) -> Response:
        url = self.request_url(mode)
        accept = "text/event-stream" if mode and self.stream_body is ServerSentEvents else "application/json"
        content = {**self.configuration.parameters, **self.content(context, mode)}
        request = Request(
            url,
            query=self.configuration.query,
            headers=self._headers(accept),
            content=content,
            tokens=self._expected_tokens(content),
        )
        reception = Reception(self.reader(), _show_nothing if self._holds_text else show)
        parser = self.stream_body(url) if mode else WholeBody(url)
        async with self.client.stream(request) as stream:
            await reception.receive(stream, parser)
            response = reception.reader.response(None if parser.is_whole else reception.first_seconds)
        self._holds_text = self._holds_text or reception.reader.had_bare_close
        await self._settle(request, response)
        return response

    def _expected_tokens(self, content: Mapping[str, Any]) -> float:
        """Estimate the tokens of a request and its reply, for the rate limit."""
        if not self.tokens_per_minute:
            return 0.0
        prompt = len(json.dumps(content, ensure_ascii=False)) / CHARS_PER_TOKEN
        return prompt + (self.configuration.most_tokens or TOKENS_OF_REPLY)

    async def _settle(self, request: Request, response: Response) -> None:
        """Correct the estimate by the usage that the service reports."""
        usage = response.usage
        if self.client.rate_limit and request.tokens and usage and usage.prompt and usage.completion:
            await self.client.rate_limit.settle(usage.prompt + usage.completion - request.tokens)

    def _headers(self, accept: str) -> dict[str, str]:
        settings = self.configuration
        key = {settings.key_header: settings.key_prefix + self.key} if self.key else {}
        return {"Accept": accept, **self.service_headers(), **settings.headers, **key}

    def _remarks_on_service(self, response: Response) -> list[str]:
        remarks = []
        if response.model != self._reported:
            model = f"'{response.model}', not '{self._reported}'"
            remarks.append(f"{self.name}: the service answered as model {model}")
        if self._stream_refusal:
            remarks.append(f"{self.name}: not streamed, the service refused it: {self._stream_refusal}"[:500])
        return remarks
