"""Decoder-only models of Hugging Face that were trained on turns joined by the end-of-text token."""

from typing import ClassVar

from chatbots.base import BotConfiguration, Context
from chatbots.huggingface.bot import ModelBot, SampledConfiguration
from chatbots.huggingface.prompts import joined_by_end
from chatbots.registry import register


@register("huggingface-causal")
class CausalBot(ModelBot):
    """A causal language model of Hugging Face, given the turns joined by its end-of-text token.

    For models trained as DialoGPT was. Instruction models belong in `huggingface-chat`.
    """

    Configuration: ClassVar[type[BotConfiguration]] = SampledConfiguration

    def prompt(self, context: Context, room: int) -> list[int]:
        """The turns, each with the end-of-text token."""
        return joined_by_end(self.tokenizer, context.turns, room)
