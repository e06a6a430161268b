"""Any service with the chat completions of OpenAI: vLLM, TGI, Ollama, llama.cpp, commercial ones."""

from collections.abc import Mapping
from typing import Any, Literal

from pydantic import Field, JsonValue, field_validator

from chatbots.base import Candidate, Context, Response, Speaker, Turn, Usage, seed_of
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
from chatbots.registry import register
from chatbots.services.bot import ServiceBot, ServiceConfiguration, ServiceURL, object_of, text_of
from chatbots.services.client import Request

OURS = frozenset({"messages", "model", "stream", "n", "seed", "temperature", "top_p", "stop"})


@register("openai-chat")
class OpenAIChatBot(ServiceBot):
    """A model behind chat completions as OpenAI defined them: vLLM, TGI, Ollama, commercial services.

    Loading sends one short request, so that a wrong address, key or model name is reported at once and the
    fingerprint can hold the service's own name of the model.
    """

    class Configuration(ServiceConfiguration):
        """The model, and the settings of its requests."""

        first = ServiceConfiguration.first | frozenset({"system", "temperature"})
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
            description="What the model is told before the dialogue; empty for nothing.",
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
        token_limit_name: Literal["max_tokens", "max_completion_tokens"] = Field(
            "max_tokens",
            title="Name of the limit",
            description="What the service calls that limit; newer models of OpenAI want the second.",
        )
        material: str = material_field()
        material_sentences: int | None = sentences_field(None)
        stop: tuple[str, ...] = Field((), max_length=4, description="Texts at which a reply ends.")
        candidates: int = Field(
            1,
            ge=1,
            le=20,
            description="Replies asked for per turn; the first is said, wrappers may choose another.",
        )
        send_seed: bool = Field(
            True,
            title="Send a seed",
            description="Whether replies should be repeatable, where the service can.",
        )
        history: int | None = Field(
            None, ge=1, title="Turns sent", description="Only so many newest turns are sent; empty for all."
        )
        alternate: bool = Field(
            False,
            title="Strict roles",
            description="For models that insist that the user begins and roles alternate.",
        )
        parameters: dict[str, JsonValue] = Field(
            {},
            title="Further parameters",
            description="Added to each request as they are.",
            examples=[{"presence_penalty": 0.5}],
        )

        _has_place = field_validator("material")(has_place)

        @field_validator("parameters")
        @classmethod
        def _not_ours(cls, parameters: dict[str, JsonValue]) -> dict[str, JsonValue]:
            if taken := sorted(OURS & parameters.keys()):
                raise ValueError(f"{', '.join(taken)}: has a setting of its own, or is not yours to change")
            return parameters

    configuration: Configuration

    def __init__(self, configuration: Configuration) -> None:
        """Send one request to learn the model's reported name.

        Raises:
            ConfigurationError: the variable of the API key holds no key for this service.
            ServiceError: the service cannot be reached or does not answer as agreed.
        """
        super().__init__(configuration)
        self._reported = ""
        try:
            hello = Context((Turn(Speaker.HUMAN, "Hi!"),), seed=1)
            self._reported = str(self.run(self._complete(hello)).get("model", ""))
        except BaseException:
            self.close()
            raise

    @property
    def url(self) -> str:
        """Address of the chat completions."""
        return f"{self.configuration.base_url.rstrip('/')}/chat/completions"

    async def reply(self, context: Context) -> Response:
        """Return the first choice, with the others as candidates."""
        answer = await self._complete(context)
        texts = [
            text_of(text, self._request(context), "message.content") for text in _texts(answer, self.url)
        ]
        usage = answer.get("usage")
        tokens = usage.get("completion_tokens") if isinstance(usage, dict) and len(texts) == 1 else None
        # The service does not score them, so they are ranked in its order.
        candidates = tuple(Candidate(text, -float(place)) for place, text in enumerate(texts))
        return Response(
            texts[0],
            candidates if len(texts) > 1 else (),
            Usage(completion=tokens) if isinstance(tokens, int) else None,
            self._remarks(answer),
        )

    def fingerprint(self) -> Mapping[str, object]:
        """Return the fingerprint of every bot, with the service's name of its model."""
        return {**super().fingerprint(), "reported_model": self._reported}

    def _remarks(self, answer: Mapping[str, Any]) -> tuple[str, ...]:
        model = str(answer.get("model", ""))[:300]
        if model == self._reported[:300]:
            return ()
        return (f"{self.name}: the service answered as model '{model}', not '{self._reported}'",)

    async def _complete(self, context: Context) -> Mapping[str, Any]:
        request = self._request(context)
        return object_of(await self.client.exchange(request), request)

    def _request(self, context: Context) -> Request:
        headers = {"Authorization": f"Bearer {self.key}"} if self.key else {}
        return Request(self.url, headers=headers, content=self._content(context))

    def _content(self, context: Context) -> dict[str, Any]:
        settings = self.configuration
        optional = {
            "temperature": settings.temperature,
            "top_p": settings.top_p,
            settings.token_limit_name: settings.most_tokens,
            "stop": list(settings.stop) or None,
            "n": settings.candidates if settings.candidates > 1 else None,
            # 31 bits: the largest seed that every service takes.
            "seed": seed_of(context) >> 33 if settings.send_seed and context.seed is not None else None,
        }
        given = {name: value for name, value in optional.items() if value is not None}
        return {
            **settings.parameters,
            "model": settings.model,
            "messages": self._messages(context),
            "stream": False,
            **given,
        }

    def _messages(self, context: Context) -> list[Message]:
        settings = self.configuration
        build = alternating_messages_of if settings.alternate else messages_of
        system = with_material(settings.system, context, settings.material, settings.material_sentences)
        return build(newest_turns(context, settings.history), system)


def _texts(answer: Mapping[str, Any], url: str) -> list[Any]:
    """List the texts of the choices; None for an empty one."""
    choices = answer.get("choices")
    if (
        not isinstance(choices, list)
        or not choices
        or not all(isinstance(choice, dict) for choice in choices)
    ):
        raise ServiceError(f"{url} answered without 'choices'. Is it an address of chat completions?")
    messages = [choice.get("message") for choice in choices]
    return [message.get("content") if isinstance(message, dict) else None for message in messages]
