"""Bots that reply with a model of words that was trained here, such as `hierarchical` and `topical-chat`."""

from abc import abstractmethod
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, ClassVar, Protocol

from chatbots.base import Bot, BotConfiguration, Candidate, Response
from chatbots.local_files import hash_of

CHATBOTS = Path(__file__).parent
SHARED = [CHATBOTS / "training" / name for name in ("decoding.py", "vocabulary.py")]
"""Code outside a model's own package that decides what its bots reply."""
MODEL_FILES = ("config.json", "model.safetensors", "vocabulary.json")


class ModelReply(Protocol):
    """A reply of a model.

    Attributes:
        text: of the reply.
        words: how many were written for it, the end included.
        candidates: all that were found, with their log-likelihood per word, best first.
    """

    @property
    def text(self) -> str: ...

    @property
    def words(self) -> int: ...

    @property
    def candidates(self) -> Iterable[tuple[str, float]]: ...


def responses_of(replies: Iterable[ModelReply]) -> list[Response]:
    """The replies of a model as responses of a bot."""
    return [
        Response(reply.text, tuple(Candidate(*each) for each in reply.candidates), reply.words)
        for reply in replies
    ]


class WordModelBot(Bot):
    """A bot whose model is a folder with weights, configuration and vocabulary.

    Its settings have at least `batch`, dialogues that are answered together, and `beam`, replies that are
    followed at once in each.

    Attributes:
        package: folder of `chatbots/` with the model's code.
    """

    package: ClassVar[str]
    configuration: Any

    @classmethod
    @abstractmethod
    def folder(cls, configuration: BotConfiguration) -> Path:
        """The folder of the model."""

    @classmethod
    @abstractmethod
    def size(cls, folder: Path) -> tuple[int, int]:
        """Parameters of the model in a folder, and words of its vocabulary."""

    @classmethod
    def memory_needed(cls, configuration: Any) -> int | None:
        """Size in memory of the weights, and of the scores of all replies that are followed at once."""
        parameters, words = cls.size(cls.folder(configuration))
        scores: int = 3 * configuration.batch * configuration.beam * words
        return 4 * (parameters + scores)

    @property
    def max_batch(self) -> int:
        """As configured."""
        batch: int = self.configuration.batch
        return batch

    def fingerprint(self) -> Mapping[str, object]:
        """As of every bot, and the hashes of the model's code, weights and vocabulary."""
        folder = self.folder(self.configuration)
        return {
            **super().fingerprint(),
            "model_code": hash_of([*sorted((CHATBOTS / self.package).glob("*.py")), *SHARED]),
            "model": {name: hash_of([folder / name]) for name in MODEL_FILES},
        }
