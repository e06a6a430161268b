"""Bots with HRED, VHRED, VHCR and their EI variants: trained ones by their folder, and the shipped pair."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any, ClassVar, Literal

from pydantic import Field, field_validator

from chatbots.base import BotConfiguration, Context, Device, seed_of
from chatbots.local_files import trained_model
from chatbots.registry import register
from chatbots.replies import Response
from chatbots.word_models import CHATBOTS, WordModelBot, responses_of

SHIPPED = CHATBOTS / "hierarchical" / "pretrained"
"""Folder of the models in this repository, one folder each."""


class DecodingConfiguration(BotConfiguration):
    """Settings of the search for a reply."""

    choose: Literal["best", "drawn", "sampled"] = Field(
        "best",
        title="Choice",
        description="The best of the beam, one drawn from it by rank, or word by word without a beam.",
    )
    beam: int = Field(5, ge=1, le=100, title="Beam", description="Replies followed at once.")
    temperature: float = Field(
        1.0, gt=0, title="Temperature", description="Divides the scores before sampling word by word."
    )
    history: int = Field(5, ge=1, le=100, title="Turns read", description="The newest turns that it reads.")
    device: Device = "cpu"
    batch: int = Field(
        32, ge=1, le=1_000, title="Batch", description="Dialogues that are answered together, at most."
    )


class HierarchicalConfiguration(DecodingConfiguration):
    """The model, and the search for a reply."""

    checkpoint: str = Field(
        title="Model", description="Folder of the model: weights, configuration, vocabulary."
    )

    @field_validator("checkpoint")
    @classmethod
    def _is_there(cls, checkpoint: str) -> str:
        return trained_model(checkpoint, guide="docs/hierarchical.md")


@register("hierarchical")
class HierarchicalBot(WordModelBot):
    """HRED, VHRED or VHCR, with or without EI, that was trained here: named by its folder.

    Source: Ghandeharioun et al. 2019, arXiv:1906.09308, section 3.
    """

    Configuration: ClassVar[type[BotConfiguration]] = HierarchicalConfiguration
    configuration: DecodingConfiguration
    libraries: ClassVar[tuple[str, ...]] = ("torch",)
    package = "hierarchical"

    def __init__(self, configuration: DecodingConfiguration) -> None:
        """Load the model.

        Raises:
            CheckpointError: its files do not fit together.
            DeviceError: this machine does not have the device.
            ModuleNotFoundError: PyTorch or another library for models is not installed.
        """
        super().__init__(configuration)
        self._responder = load_responder(self.folder(configuration), configuration)

    @classmethod
    def folder(cls, configuration: BotConfiguration) -> Path:
        """Return the folder of the model."""
        assert isinstance(configuration, HierarchicalConfiguration)
        return Path(configuration.checkpoint)

    @classmethod
    def size(cls, folder: Path) -> tuple[int, int]:
        """Numbers of parameters and of words of the checkpoint."""
        from chatbots.hierarchical.model import count_parameters, read_config

        shape = read_config(folder)
        return count_parameters(shape)["total"], shape.vocabulary_size

    def respond(self, contexts: Sequence[Context]) -> list[Response]:
        """Reply to all contexts of a batch together, word by word."""
        conversations = [[turn.text for turn in context.turns] for context in contexts]
        return responses_of(self._responder.reply(conversations, [seed_of(context) for context in contexts]))


class SmallConfiguration(DecodingConfiguration):
    """Settings of the search for a reply: sampled, because the best of the beam is nearly always the same."""

    choose: Literal["best", "drawn", "sampled"] = Field(
        "sampled",
        title="Choice",
        description="The best of the beam, one drawn from it by rank, or word by word without a beam.",
    )
    temperature: float = Field(
        0.7, gt=0, title="Temperature", description="Divides the scores before sampling word by word."
    )


class SmallBot(HierarchicalBot):
    """A model of this repository, in the folder of the bot's name."""

    Configuration: ClassVar[type[BotConfiguration]] = SmallConfiguration

    @classmethod
    def folder(cls, configuration: BotConfiguration) -> Path:
        """Return the folder of the model."""
        return SHIPPED / cls.name


@register("vhred")
class VHREDBot(SmallBot):
    """A small VHRED: hierarchical recurrent, with a latent variable for each reply. Baseline of vhred-ei."""


@register("vhred-ei")
class VHREDEIBot(SmallBot):
    """A small VHRED that also learnt the sentiment and meaning of what it reads (EI). Compare with vhred."""


def load_responder(folder: Path, configuration: DecodingConfiguration) -> Any:
    """Load the model of that folder in a `chatbots.hierarchical.responder.Responder`."""
    from chatbots.hierarchical.model import load_checkpoint
    from chatbots.hierarchical.responder import DecodingSettings, Responder
    from chatbots.training.running import device_of_bot

    model, vocabulary = load_checkpoint(folder, device=device_of_bot(configuration.device))
    settings = DecodingSettings(
        choose=configuration.choose, beam=configuration.beam, temperature=configuration.temperature
    )
    return Responder(model, vocabulary, settings, history=configuration.history)
