"""Bots with models of Hugging Face: causal, with an encoder, DialoGPT, and instruction models."""

from typing import ClassVar, Literal

from pydantic import Field, field_validator

from chatbots.base import BotConfiguration, Context
from chatbots.errors import ConfigurationError, Problem
from chatbots.huggingface.bot import ModelBot, ModelConfiguration, SampledConfiguration
from chatbots.huggingface.prompts import joined_by_end, joined_by_text, through_template
from chatbots.instruction_prompts import has_place, material_field, sentences_field, system_field, system_of
from chatbots.prompt_variables import check_variables
from chatbots.registry import register


@register("huggingface-causal")
class CausalBot(ModelBot):
    """A causal language model of Hugging Face, given the turns joined by its end-of-text token.

    For models trained as DialoGPT was. Instruction models belong in `huggingface-chat`.
    """

    Configuration: ClassVar[type[BotConfiguration]] = SampledConfiguration

    def prompt(self, context: Context, room: int) -> list[int]:
        """Join the turns, each with the end-of-text token."""
        return joined_by_end(self.tokenizer, context.turns, room)


@register("huggingface-seq2seq")
class Seq2SeqBot(ModelBot):
    """A model of Hugging Face that reads the dialogue with an encoder: BlenderBot, T5 and the like.

    Replies are sampled or greedy; the beam search that BlenderBot's authors used is not offered.
    """

    class Configuration(SampledConfiguration):
        """The separator of turns, and the settings of every model."""

        separator: str = Field(
            "  ",
            max_length=20,
            description="Written between two turns; two spaces for BlenderBot.",
            examples=["  ", "\n"],
        )

    architecture = "seq2seq"
    configuration: Configuration

    def prompt(self, context: Context, room: int) -> list[int]:
        """Join the turns to one text."""
        return joined_by_text(self.tokenizer, context.turns, room, separator=self.configuration.separator)


SIZES = {
    "117M": "microsoft/DialoGPT-small",
    "345M": "microsoft/DialoGPT-medium",
    "762M": "microsoft/DialoGPT-large",
}


@register("dialogpt")
class DialoGPTBot(ModelBot):
    """DialoGPT: GPT-2 trained on conversations of Reddit, top-k 10 sampling, no reranking.

    Source: Zhang et al. 2020, arXiv:1911.00536; the settings are those of the SSA paper, arXiv:2001.09977.
    """

    class Configuration(ModelConfiguration):
        """The size, and the settings of every model."""

        first = frozenset({"size"})
        size: Literal["117M", "345M", "762M"] = Field("762M", description="Number of the model's parameters.")
        model: str = Field(
            "",
            max_length=500,
            title="Own copy",
            description="A folder with the model, or another name on the hub; empty for the usual one.",
            examples=["/srv/models/dialogpt-large"],
        )
        top_k: int | None = Field(
            10, ge=1, title="Top-k", description="Draw from this many likeliest tokens; empty for all."
        )

        @property
        def source(self) -> str:
            """The configured model, else the name of the size's model on the hub."""
            return self.model or SIZES[self.size]

    def prompt(self, context: Context, room: int) -> list[int]:
        """Join the turns, each with the end-of-text token."""
        return joined_by_end(self.tokenizer, context.turns, room)


@register("huggingface-chat")
class ChatModelBot(ModelBot):
    """An instruction model of Hugging Face, asked through the chat template that comes with it.

    Large ones are served faster by an engine of their own, such as vLLM: see `openai-chat`.
    """

    class Configuration(SampledConfiguration):
        """The system prompt, and the settings of every model."""

        first = frozenset({"system", "temperature"})

        system: str = system_field()
        material: str = material_field()
        material_sentences: int | None = sentences_field(5)

        _knows_variables = field_validator("system")(check_variables)
        _has_place = field_validator("material")(has_place)

    configuration: Configuration

    def __init__(self, configuration: Configuration) -> None:
        """Fetch and load the model.

        Raises:
            ConfigurationError: as for every model, or it has no chat template.
        """
        super().__init__(configuration)
        if not self.tokenizer.chat_template:
            cure = "it has no chat template. Take its instruction variant, or the bot huggingface-causal."
            raise ConfigurationError(self.name, [Problem("model", configuration.source, cure)])

    def prompt(self, context: Context, room: int) -> list[int]:
        """Write the turns by the template, after the system prompt and the reading material."""
        settings = self.configuration
        system = system_of(settings.system, context, settings.material, settings.material_sentences)
        return through_template(self.tokenizer, context.turns, room, system=system)
