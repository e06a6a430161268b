"""Instruction models of Hugging Face, through their chat template."""

from pydantic import Field, field_validator

from chatbots.base import Context
from chatbots.errors import ConfigurationError, Problem
from chatbots.huggingface.bot import ModelBot, SampledConfiguration
from chatbots.huggingface.prompts import through_template
from chatbots.material import has_place, material_field, sentences_field, with_material
from chatbots.registry import register


@register("huggingface-chat")
class ChatModelBot(ModelBot):
    """An instruction model of Hugging Face, asked through the chat template that comes with it.

    Large ones are served faster by an engine of their own, such as vLLM: see `openai-chat`.
    """

    class Configuration(SampledConfiguration):
        """What the model is told, and the settings of every model."""

        first = frozenset({"system", "temperature"})

        system: str = Field(
            "",
            max_length=20_000,
            title="System prompt",
            description="What the model is told before the dialogue; empty for nothing.",
            examples=["You are a friendly chat partner. Answer in one or two sentences."],
        )
        material: str = material_field()
        material_sentences: int | None = sentences_field(5)

        _has_place = field_validator("material")(has_place)

    configuration: Configuration

    def __init__(self, configuration: Configuration) -> None:
        """Fetch and load the model.

        Raises:
            ConfigurationError: as of every model, or it has no chat template.
        """
        super().__init__(configuration)
        if not self.tokenizer.chat_template:
            cure = "it has no chat template. Take its instruction variant, or the bot huggingface-causal."
            raise ConfigurationError(self.name, [Problem("model", configuration.source, cure)])

    def prompt(self, context: Context, room: int) -> list[int]:
        """The turns as the template writes them, after the system prompt and what was read."""
        settings = self.configuration
        system = with_material(settings.system, context, settings.material, settings.material_sentences)
        return through_template(self.tokenizer, context.turns, room, system=system)
