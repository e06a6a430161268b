"""Bots that reply with a word-level model trained with this package: `hierarchical`, `topical-chat`."""

from abc import abstractmethod
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, ClassVar, Protocol

from chatbots.base import Bot, BotConfiguration
from chatbots.local_files import hash_of
from chatbots.replies import Candidate, Response, Usage

CHATBOTS = Path(__file__).parent
SHARED = [CHATBOTS / "training" / name for name in ("decoding.py", "vocabulary.py")]
"""Code outside a model's own package that affects its bots' replies."""
MODEL_FILES = ("config.json", "model.safetensors", "vocabulary.json")


class ModelReply(Protocol):
    """A reply of a model.

    Attributes:
        text: its text.
        words: number of generated words, the end included.
        candidates: all
            replies found, with their log-likelihood per word, best first.
    """

    @property
    def text(self) -> str:
        """Text of the reply."""

    @property
    def words(self) -> int:
        """Words of the reply."""

    @property
    def candidates(self) -> Iterable[tuple[str, float]]:
        """Candidates of the reply with their scores."""


def responses_of(replies: Iterable[ModelReply]) -> list[Response]:
    """Convert a model's replies to responses of a bot."""
    return [
        Response(
            reply.text, tuple(Candidate(*each) for each in reply.candidates), Usage(completion=reply.words)
        )
        for reply in replies
    ]


class WordModelBot(Bot):
    """A bot whose model is a folder with weights, configuration and vocabulary.

    Its settings have at least `batch`, the dialogues answered together, and `beam`, the width of the beam.

    Attributes:
        package: folder of `chatbots/` with the model's code.
    """

    package: ClassVar[str]
    configuration: Any

    @classmethod
    @abstractmethod
    def folder(cls, configuration: BotConfiguration) -> Path:
        """Return the folder of the model."""

    @classmethod
    @abstractmethod
    def size(cls, folder: Path) -> tuple[int, int]:
        """Count the parameters of the model in a folder, and the words of its vocabulary."""

    @classmethod
    def memory_needed(cls, configuration: Any) -> int | None:
        """Bytes of the weights, and of the scores of all replies in the beams."""
        parameters, words = cls.size(cls.folder(configuration))
        scores: int = 3 * configuration.batch * configuration.beam * words
        return 4 * (parameters + scores)

    @property
    def max_batch(self) -> int:
        """The configured batch size."""
        batch: int = self.configuration.batch
        return batch

    def fingerprint(self) -> Mapping[str, object]:
        """Return the fingerprint of every bot, with hashes of the model's code, weights and vocabulary."""
        folder = self.folder(self.configuration)
        return {
            **super().fingerprint(),
            "model_code": hash_of([*sorted((CHATBOTS / self.package).glob("*.py")), *SHARED]),
            "model": {name: hash_of([folder / name]) for name in MODEL_FILES},
        }
