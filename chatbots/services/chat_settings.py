"""Settings of bots that are language models behind a chat API."""

from typing import Any, ClassVar

from pydantic import Field, JsonValue, field_validator

from chatbots.instruction_prompts import has_place, material_field, sentences_field, system_field
from chatbots.prompt_variables import check_variables
from chatbots.services.bot import ServiceConfiguration, ServiceURL
from chatbots.services.headers import HEADER_NAME, check_headers, check_query


def stop_field() -> Any:
    """Create the setting for the texts at which a reply ends."""
    return Field((), max_length=4, description="Texts at which a reply ends.")


def key_header_field(name: str) -> Any:
    """Create the setting for the header of the API key, with a service's own name for it."""
    return Field(
        name,
        pattern=f"^{HEADER_NAME.pattern}$",
        title="Header of the API key",
        description="Where the API key goes.",
        examples=["api-key"],
    )


def key_prefix_field(prefix: str) -> Any:
    """Create the setting for what is written before the API key."""
    return Field(
        prefix,
        max_length=50,
        pattern=r"^[ -~]*$",
        title="Before the API key",
        description="Written before the API key.",
    )


def base_url_field(default: str) -> Any:
    """Create the setting for the address of a service that has one known to everybody."""
    return Field(default, title="Base URL", description="Address of the service.")


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
    system: str = system_field()
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
    history: int | None = Field(
        None, ge=1, title="Turns sent", description="Only so many newest turns are sent; empty for all."
    )
    parameters: dict[str, JsonValue] = Field(
        {},
        title="Further parameters",
        description="Added to each request as they are.",
        examples=[{"presence_penalty": 0.5}],
    )
    tokens_per_minute: int | None = Field(
        None,
        ge=1,
        title="Tokens per minute",
        description="The service's limit for the key, prompts and replies together; requests of all bots "
        "with this key wait for it. Empty for none.",
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
    key_header: str = key_header_field("Authorization")
    key_prefix: str = key_prefix_field("Bearer ")

    _knows_variables = field_validator("system")(check_variables)
    _has_place = field_validator("material")(has_place)
    _can_be_sent_on = field_validator("headers")(check_headers)
    _holds_no_key = field_validator("query")(check_query)

    @field_validator("parameters")
    @classmethod
    def _not_ours(cls, parameters: dict[str, JsonValue]) -> dict[str, JsonValue]:
        if conflicts := sorted(cls.ours & parameters.keys()):
            raise ValueError(f"{', '.join(conflicts)}: has a setting of its own, or is not yours to change")
        return parameters
