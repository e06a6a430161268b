"""Any service that answers JSON: a template gives the request, a JSON Pointer the place of the reply.

JSON Pointer: one place in a JSON document.
Source: RFC 6901.
"""

import re
from collections.abc import Mapping
from typing import Annotated, Any, Literal, Self

from pydantic import AfterValidator, Field, JsonValue, field_validator, model_validator

from chatbots.base import Context, seed_of
from chatbots.errors import ServiceError
from chatbots.instruction_prompts import messages_of
from chatbots.registry import register
from chatbots.replies import Response
from chatbots.services.bot import ServiceBot, ServiceConfiguration, ServiceURL, text_of
from chatbots.services.client import Request
from chatbots.services.headers import HEADER_NAME, check_headers


def check_pointer(pointer: str) -> str:
    """Refuse text that is no JSON Pointer.

    Returns:
        The pointer, unchanged.

    Raises:
        ValueError: it does not begin with a slash, or has a tilde that escapes nothing.
    """
    if pointer and not re.fullmatch(r"(/([^~/]|~[01])*)+", pointer):
        raise ValueError("is not a JSON Pointer. Write the path to the reply as /answers/0/text")
    return pointer


def at_pointer(document: Any, pointer: str) -> Any:
    """Return the value at a place of a document.

    Args:
        document: parsed JSON.
        pointer: one that `check_pointer` accepts; the empty one means the whole document.

    Raises:
        LookupError: there is no such place; the message says how far the path exists.
    """
    value, passed = document, ""
    for escaped in pointer.split("/")[1:]:
        name = escaped.replace("~1", "/").replace("~0", "~")
        passed += f"/{escaped}"
        if isinstance(value, dict) and name in value:
            value = value[name]
        elif isinstance(value, list) and re.fullmatch(r"0|[1-9][0-9]{0,8}", name) and int(name) < len(value):
            value = value[int(name)]
        else:
            raise LookupError(f"there is no {passed}")
    return value


PLACEHOLDERS = ("text", "turns", "messages", "dialogue", "seed")
_PLACEHOLDER = re.compile(r"\{\{(\w+)\}\}")


@register("http")
class HTTPBot(ServiceBot):
    """Any service that answers JSON over HTTP: a template says what is sent, a pointer where the reply is."""

    class Configuration(ServiceConfiguration):
        """The request, and the place of the reply."""

        first = ServiceConfiguration.first | frozenset({"template", "reply"})
        url: ServiceURL = Field(
            title="URL", description="Where requests go.", examples=["https://bot.example.org/reply"]
        )
        method: Literal["POST", "GET"] = Field(
            "POST", description="POST sends the template as JSON, GET as parameters of the URL."
        )
        template: dict[str, JsonValue] = Field(
            {"text": "{{text}}"},
            description="What is sent. {{text}} is the last turn, {{turns}} the list of all, {{messages}} "
            "the same with roles, {{dialogue}} a name of the dialogue, {{seed}} a number.",
            examples=[{"input": "{{text}}", "history": "{{turns}}"}],
        )
        reply: Annotated[str, AfterValidator(check_pointer)] = Field(
            "/reply",
            title="Place of the reply",
            description="JSON Pointer to the reply in the answer; empty if the answer is the reply.",
            examples=["/choices/0/text"],
        )
        headers: dict[str, str] = Field(
            {}, description="Further headers; never a key.", examples=[{"X-Study": "small talk"}]
        )
        key_header: str = Field(
            "Authorization",
            pattern=f"^{HEADER_NAME.pattern}$",
            title="Header of the API key",
            description="Where the API key goes, if there is one.",
            examples=["X-Api-Key"],
        )
        key_prefix: str = Field(
            "Bearer ", max_length=50, title="Before the API key", description="Written before the API key."
        )

        @field_validator("template")
        @classmethod
        def _known_placeholders(cls, template: dict[str, JsonValue]) -> dict[str, JsonValue]:
            named = set(_PLACEHOLDER.findall(str(template)))
            if unknown := sorted(named - set(PLACEHOLDERS)):
                names = ", ".join(PLACEHOLDERS)
                raise ValueError(f"{{{{{unknown[0]}}}}} is not a placeholder. There are {names}")
            return template

        _harmless = field_validator("headers")(check_headers)

        @model_validator(mode="after")
        def _flat_for_get(self) -> Self:
            if self.method == "GET" and not all(isinstance(value, str) for value in self.template.values()):
                raise ValueError("template: parameters of a URL are texts. Use POST, or texts only")
            return self

    configuration: Configuration

    @property
    def url(self) -> str:
        """The configured address."""
        return self.configuration.url

    async def reply(self, context: Context) -> Response:
        """Return the text at the place of the reply."""
        request = self._request(context)
        document = await self.client.exchange(request)
        try:
            value = at_pointer(document, self.configuration.reply)
        except LookupError as error:
            raise ServiceError(
                f"{request.url} answered JSON in which {error}. Correct the setting 'reply'."
            ) from None
        return Response(text_of(value, request, self.configuration.reply or "its answer"))

    def _request(self, context: Context) -> Request:
        settings = self.configuration
        headers = dict(settings.headers)
        if self.key:
            headers[settings.key_header] = settings.key_prefix + self.key
        filled = filled_template(settings.template, values_of(context))
        if settings.method == "GET":
            return Request(
                self.url, "GET", query={name: str(value) for name, value in filled.items()}, headers=headers
            )
        return Request(self.url, headers=headers, content=filled)


def values_of(context: Context) -> Mapping[str, Any]:
    """Compute the value of each of `PLACEHOLDERS`."""
    return {
        "text": context.turns[-1].text,
        "turns": [turn.text for turn in context.turns],
        "messages": messages_of(context.turns),
        "dialogue": context.dialogue or "",
        "seed": seed_of(context) >> 33,
    }


def filled_template(template: Any, values: Mapping[str, Any]) -> Any:
    """Fill in the template's placeholders.

    A text that is just a placeholder becomes its value, for instance a list; inside a longer text the value
    becomes text. Values are not filled in again, so a turn that holds a placeholder stays unchanged.
    """
    match template:
        case dict():
            return {name: filled_template(part, values) for name, part in template.items()}
        case list():
            return [filled_template(part, values) for part in template]
        case str():
            whole = _PLACEHOLDER.fullmatch(template)
            return values[whole[1]] if whole else _PLACEHOLDER.sub(lambda hit: str(values[hit[1]]), template)
    return template
