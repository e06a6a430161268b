"""HRED, VHRED, VHCR and their EI variants: any trained one by its folder, and the small pair that ships."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar, Literal

from pydantic import Field, field_validator

from chatbots.base import Bot, BotConfiguration, Candidate, Context, Device, Failure, Response, seed_of
from chatbots.local_files import hash_of, trained_model
from chatbots.registry import register

CODE = Path(__file__).parents[1] / "hierarchical"
SHARED = [CODE.parent / "training" / name for name in ("decoding.py", "vocabulary.py")]
SHIPPED = CODE / "pretrained"
"""Where the models of this repository are, a folder each."""


class DecodingConfiguration(BotConfiguration):
    """How replies are found."""

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
    """Which model, and how replies are found."""

    checkpoint: str = Field(
        title="Model", description="Folder of the model: weights, configuration, vocabulary."
    )

    @field_validator("checkpoint")
    @classmethod
    def _is_there(cls, checkpoint: str) -> str:
        return trained_model(checkpoint, guide="docs/hierarchical.md")


@register("hierarchical")
class HierarchicalBot(Bot):
    """HRED, VHRED or VHCR, with or without EI, that was trained here: named by its folder.

    Source: Ghandeharioun et al. 2019, arXiv:1906.09308, section 3.
    """

    Configuration: ClassVar[type[BotConfiguration]] = HierarchicalConfiguration
    libraries: ClassVar[tuple[str, ...]] = ("torch",)

    def __init__(self, configuration: BotConfiguration) -> None:
        """Load the model.

        Raises:
            CheckpointError: its files do not fit together.
            DeviceError: the device is not there.
            ModuleNotFoundError: PyTorch or another library for models is not installed.
        """
        super().__init__(configuration)
        assert isinstance(configuration, DecodingConfiguration)
        self._folder, self._batch = self.folder(configuration), configuration.batch
        self._responder = load_responder(self._folder, configuration)

    @classmethod
    def folder(cls, configuration: BotConfiguration) -> Path:
        """Where the model is."""
        assert isinstance(configuration, HierarchicalConfiguration)
        return Path(configuration.checkpoint)

    @classmethod
    def memory_needed(cls, configuration: BotConfiguration) -> int | None:
        """The size of the weights in memory, and of the scores of all replies that are followed at once."""
        from chatbots.hierarchical.model import count_parameters, read_config

        assert isinstance(configuration, DecodingConfiguration)
        shape = read_config(cls.folder(configuration))
        scores = 3 * configuration.batch * configuration.beam * shape.vocabulary_size
        return 4 * (count_parameters(shape)["total"] + scores)

    @property
    def max_batch(self) -> int:
        """As configured."""
        return self._batch

    def respond(self, contexts: Sequence[Context]) -> list[Response | Failure]:
        """All replies of a batch, word by word together."""
        conversations = [[turn.text for turn in context.turns] for context in contexts]
        found = self._responder.reply(conversations, [seed_of(context) for context in contexts])
        return [
            Response(
                reply.text,
                tuple(Candidate(each.text, each.per_word) for each in reply.candidates),
                reply.words,
            )
            for reply in found
        ]

    def fingerprint(self) -> Mapping[str, object]:
        """As of every bot, and the hashes of the model's code, weights and vocabulary."""
        files = ("config.json", "model.safetensors", "vocabulary.json")
        return {
            **super().fingerprint(),
            "model_code": hash_of([*sorted(CODE.glob("*.py")), *SHARED]),
            "model": {name: hash_of([self._folder / name]) for name in files},
        }


class SmallConfiguration(DecodingConfiguration):
    """How replies are found: sampled, because the best of the beam is nearly always the same small talk."""

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
        """Where the model is."""
        return SHIPPED / cls.name


@register("vhred")
class VHREDBot(SmallBot):
    """A small VHRED: hierarchical recurrent, with a latent variable for each reply. Baseline of vhred-ei."""


@register("vhred-ei")
class VHREDEIBot(SmallBot):
    """The same small VHRED, which also learnt the sentiment and meaning of what it reads (EI)."""


def load_responder(folder: Path, configuration: DecodingConfiguration) -> Any:
    """A `chatbots.hierarchical.responder.Responder` with the model of that folder."""
    from chatbots.hierarchical.model import load_checkpoint
    from chatbots.hierarchical.responder import DecodingSettings, Responder
    from chatbots.training.running import device_of_bot

    model, vocabulary = load_checkpoint(folder, device=device_of_bot(configuration.device))
    settings = DecodingSettings(
        choose=configuration.choose, beam=configuration.beam, temperature=configuration.temperature
    )
    return Responder(model, vocabulary, settings, history=configuration.history)
