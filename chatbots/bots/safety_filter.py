"""A wrapper that keeps a bot from saying what a classifier finds unsafe."""

import inspect
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, ClassVar

from pydantic import AfterValidator, Field

from chatbots import safety
from chatbots.base import Context, Response
from chatbots.hashing import hash_of
from chatbots.lab import check_path, lab_object
from chatbots.registry import register
from chatbots.wrapping import CandidateFilter, WrapperConfiguration


def check_classifier(name: str) -> str:
    """Refuse a name that is neither of a classifier that ships nor of one of the lab.

    Returns:
        The name, unchanged.

    Raises:
        ValueError: it is neither.
    """
    return name if name in safety.CLASSIFIERS else check_path(name)


@register("safety-filter")
class SafetyFilterBot(CandidateFilter):
    """Around a bot: says another candidate where a classifier finds the first unsafe, or a fixed text."""

    class Configuration(WrapperConfiguration):
        """Which bot, which classifier, and what is said instead."""

        classifier: Annotated[str, AfterValidator(check_classifier)] = Field(
            "profanity-check",
            description="profanity-check, or a class of the lab as module:Class with unsafe(texts).",
            examples=["our_safety:Classifier"],
        )
        fallback: str = Field(
            "I'd rather not say. What else would you like to talk about?",
            min_length=1,
            description="What is said where every candidate is unsafe.",
        )

    fault: ClassVar[str] = "is unsafe"
    configuration: Configuration

    @property
    def libraries(self) -> tuple[str, ...]:  # type: ignore[override]
        """The default classifier's, where it is used."""
        return ("alt-profanity-check",) if self.configuration.classifier == "profanity-check" else ()

    def __init__(self, configuration: Configuration) -> None:
        """Load the bot inside and the classifier.

        Raises:
            ModuleNotFoundError: its library is not installed.
            Exception: whatever they raise.
        """
        super().__init__(configuration)
        name = configuration.classifier
        self._classifier: safety.SafetyClassifier = (safety.CLASSIFIERS.get(name) or lab_object(name))()

    def objections(self, context: Context, texts: Sequence[str]) -> list[bool]:
        """Whether each text is unsafe."""
        return self._classifier.unsafe(texts)

    def fallback(self, context: Context, response: Response) -> str:
        """The sentence of the configuration."""
        return self.configuration.fallback

    def fingerprint(self) -> Mapping[str, object]:
        """As of every wrapper, and the hash of the classifier's file."""
        source = Path(inspect.getfile(type(self._classifier)))
        return {**super().fingerprint(), "classifier_code": hash_of([source])}
