"""DialoGPT as the SSA paper compared it."""

from typing import Literal

from pydantic import Field

from chatbots.base import Context
from chatbots.huggingface.bot import ModelBot, ModelConfiguration
from chatbots.huggingface.prompts import joined_by_end
from chatbots.registry import register

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
        """Which size, and the settings of every model."""

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
            """The own copy, else the name of the size's model on the hub."""
            return self.model or SIZES[self.size]

    def prompt(self, context: Context, room: int) -> list[int]:
        """The turns, each with the end-of-text token."""
        return joined_by_end(self.tokenizer, context.turns, room)
