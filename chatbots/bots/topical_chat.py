"""The Transformer of Topical-Chat, with or without knowledge: a trained model named by its folder."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any, ClassVar, Literal

from pydantic import Field, field_validator

from chatbots.base import BotConfiguration, Context, Device, seed_of
from chatbots.local_files import trained_model
from chatbots.registry import register
from chatbots.replies import Response
from chatbots.word_models import WordModelBot, responses_of


@register("topical-chat")
class TopicalChatBot(WordModelBot):
    """A Transformer that was trained here to draw on what its seat has read: named by its folder.

    With knowledge it reads the sentence of its material that is nearest to what was said last; without, only
    the conversation. Source: Gopalakrishnan et al. 2019, Interspeech.
    """

    class Configuration(BotConfiguration):
        """The model, and the search for a reply."""

        checkpoint: str = Field(
            title="Model", description="Folder of the model: weights, configuration, vocabulary."
        )
        choose: Literal["best", "sampled"] = Field(
            "best", title="Choice", description="The best of the beam, or word by word without a beam."
        )
        beam: int = Field(5, ge=1, le=100, title="Beam", description="Replies followed at once.")
        temperature: float = Field(
            1.0, gt=0, title="Temperature", description="Divides the scores before sampling word by word."
        )
        top_p: float = Field(
            1.0,
            gt=0,
            le=1,
            title="Top-p",
            description="Sample from the fewest words of this probability; 1 for all.",
        )
        device: Device = "cpu"
        batch: int = Field(
            16, ge=1, le=1_000, title="Batch", description="Dialogues that are answered together, at most."
        )

        @field_validator("checkpoint")
        @classmethod
        def _is_there(cls, checkpoint: str) -> str:
            return trained_model(checkpoint, guide="docs/topical-chat-models.md")

    configuration: Configuration
    libraries: ClassVar[tuple[str, ...]] = ("torch", "scipy")
    package = "knowledge"

    def __init__(self, configuration: Configuration) -> None:
        """Load the model.

        Raises:
            CheckpointError: its files do not fit together.
            DeviceError: this machine does not have the device.
            ModuleNotFoundError: PyTorch or another library for models is not installed.
        """
        super().__init__(configuration)
        self._responder = load_responder(configuration)

    @classmethod
    def folder(cls, configuration: BotConfiguration) -> Path:
        """Folder of the checkpoint."""
        assert isinstance(configuration, cls.Configuration)
        return Path(configuration.checkpoint)

    @classmethod
    def size(cls, folder: Path) -> tuple[int, int]:
        """Numbers of parameters and of words of the checkpoint."""
        from chatbots.knowledge.model import count_parameters, read_config

        shape = read_config(folder)
        return count_parameters(shape)["total"], shape.vocabulary_size

    def respond(self, contexts: Sequence[Context]) -> list[Response]:
        """Reply to all contexts of a batch together, word by word."""
        replies = self._responder.reply(
            [[turn.text for turn in context.turns] for context in contexts],
            [[passage.text for passage in context.material] for context in contexts],
            [seed_of(context) for context in contexts],
        )
        return responses_of(replies)


def load_responder(configuration: TopicalChatBot.Configuration) -> Any:
    """Load the model of that folder in a `chatbots.knowledge.responder.Responder`."""
    from chatbots.knowledge.model import load_checkpoint
    from chatbots.knowledge.responder import DecodingSettings, Responder
    from chatbots.training.running import device_of_bot

    device = device_of_bot(configuration.device)
    model, vocabulary = load_checkpoint(Path(configuration.checkpoint), device=device)
    settings = DecodingSettings(
        choose=configuration.choose,
        beam=configuration.beam,
        temperature=configuration.temperature,
        top_p=configuration.top_p,
    )
    return Responder(model, vocabulary, settings)
