"""A wrapper for the question whether one talks to a machine."""

import inspect
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Protocol

from pydantic import AfterValidator, Field

from chatbots.base import Context, Response
from chatbots.hashing import hash_of
from chatbots.lab import check_path, lab_object
from chatbots.registry import register
from chatbots.wrapping import WrapperBot, WrapperConfiguration


class IdentityClassifier(Protocol):
    """Tells turns that ask whether their reader is a machine; anything with this method will do."""

    def asks(self, texts: Sequence[str]) -> list[bool]:
        """For each text, whether it asks that."""
        ...


@register("identity-guard")
class IdentityGuardBot(WrapperBot):
    """Around a bot: says plainly that it is a machine where a classifier of the lab finds that it is asked.

    Such a turn does not reach the bot inside.

    Source of what a good answer has: Gros et al. 2021, The R-U-A-Robot Dataset, section 6.
    """

    class Configuration(WrapperConfiguration):
        """Which bot, which classifier, and what is said."""

        classifier: Annotated[str, AfterValidator(check_path)] = Field(
            description="A class of the lab as module:Class with asks(texts).",
            examples=["our_identity:Classifier"],
        )
        answer: str = Field(
            "I am a chatbot, a computer program made for research on conversations. If I say something that "
            "you want to report, write to the people who invited you to this study.",
            min_length=1,
            description="What is said: that it is a machine, who made it, what for, and how to report.",
        )

    configuration: Configuration

    def __init__(self, configuration: Configuration) -> None:
        """Load the bot inside and the classifier.

        Raises:
            Exception: whatever they raise.
        """
        super().__init__(configuration)
        self._classifier: IdentityClassifier = lab_object(configuration.classifier)()

    def instead(self, contexts: Sequence[Context]) -> list[Response | None]:
        """The fixed answer where it is asked for."""
        asked = self._classifier.asks([context.turns[-1].text for context in contexts])
        answer = Response(
            self.configuration.answer, remarks=(self.remark("was asked whether it is a machine"),)
        )
        return [answer if is_asked else None for is_asked in asked]

    def fingerprint(self) -> Mapping[str, object]:
        """As of every wrapper, and the hash of the classifier's file."""
        source = Path(inspect.getfile(type(self._classifier)))
        return {**super().fingerprint(), "classifier_code": hash_of([source])}
