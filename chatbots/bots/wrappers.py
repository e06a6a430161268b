"""Wrappers against quick replies (latency floor), repetition, and unsafe replies."""

import inspect
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from random import Random
from typing import Annotated, ClassVar

from pydantic import AfterValidator, Field

from chatbots import safety
from chatbots.base import Context, seed_of
from chatbots.local_files import check_path, hash_of, lab_object
from chatbots.registry import register
from chatbots.replies import Response
from chatbots.wrapping import CandidateFilter, WrapperBot, WrapperConfiguration
from evaluation.texts import repetition


@register("latency-floor")
class LatencyFloorBot(WrapperBot):
    """Around a bot: lets no reply out before the time that reading and typing would take.

    The reply sets its delay (`Response.least_seconds`), and only its caller waits, not the bot's thread or
    other dialogues of the batch. A bot that is slower by itself is not delayed further. A reply is not shown
    as it grows: that would reveal the bot's own speed.
    """

    class Configuration(WrapperConfiguration):
        """The inner bot, and the least time of its replies."""

        first = frozenset({"seconds", "seconds_per_character"})
        seconds: float = Field(
            1.0, ge=0, le=60, title="Floor", description="No reply comes sooner than this, in seconds."
        )
        seconds_per_character: float = Field(
            0.03, ge=0, le=1, title="Typing", description="Added for each character of the reply."
        )
        jitter: float = Field(
            0.2,
            ge=0,
            le=1,
            description="Share by which the typing varies up or down, from the dialogue's seed.",
        )
        most_seconds: float = Field(
            8.0, ge=0, le=60, title="Ceiling", description="Replies are held back for no longer than this."
        )

    configuration: Configuration

    def revised(self, context: Context, response: Response) -> Response:
        """Return the same response with its delay."""
        settings = self.configuration
        varied = 1 + settings.jitter * Random(f"latency {seed_of(context)}").uniform(-1, 1)
        typing = settings.seconds_per_character * len(response.text) * varied
        seconds = min(settings.seconds + typing, settings.most_seconds)
        return replace(response, least_seconds=max(seconds, response.least_seconds))


@register("repetition-filter")
class RepetitionFilterBot(CandidateFilter):
    """Around a bot: says another candidate where the first repeats an earlier turn.

    The rule is that of Meena (full): a long common subsequence of words with any earlier turn. If every
    candidate repeats, the first fallback that does not is used; if all fallbacks repeat, the bot's reply: a
    repetition is a blemish, not a harm. Replies are held back until they are complete.

    Source: Adiwardana et al. 2020, arXiv:2001.09977, section 5.2.
    """

    class Configuration(WrapperConfiguration):
        """The inner bot, and its fallbacks."""

        fallbacks: tuple[str, ...] = Field(
            (
                "Let's talk about something else. What do you like to do?",
                "I think I said that before. What else is on your mind today?",
                "We keep coming back to this. Tell me about something new.",
            ),
            description="What is said, in this order, where every candidate repeats an earlier turn.",
        )

    fault: ClassVar[str] = "repeats an earlier turn"
    configuration: Configuration

    def objections(self, context: Context, texts: Sequence[str]) -> list[bool]:
        """For each text, True if it repeats a turn of the context, by either speaker."""
        earlier = [turn.text for turn in context.turns]
        return [repetition.repeats(text, earlier) for text in texts]

    def fallback(self, context: Context, response: Response) -> str | None:
        """The first fallback that repeats nothing; None if each repeats."""
        fallbacks = self.configuration.fallbacks
        repeated = self.objections(context, fallbacks)
        return next((text for text, is_said in zip(fallbacks, repeated, strict=True) if not is_said), None)

    def fingerprint(self) -> Mapping[str, object]:
        """Return the fingerprint of every wrapper, with the hash of the rule."""
        return {**super().fingerprint(), "rule": hash_of([Path(repetition.__file__)])}


def check_classifier(name: str) -> str:
    """Refuse a name that is neither a shipped classifier nor a class of the lab.

    Returns:
        The name, unchanged.

    Raises:
        ValueError: the name is neither.
    """
    return name if name in safety.CLASSIFIERS else check_path(name)


@register("safety-filter")
class SafetyFilterBot(CandidateFilter):
    """Around a bot: says another candidate where a classifier finds the first unsafe, or a fixed text.

    Replies are held back until they are complete.
    """

    class Configuration(WrapperConfiguration):
        """The inner bot, the classifier, and the fallback."""

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
        """Libraries of the default classifier, if it is used."""
        return ("alt-profanity-check",) if self.configuration.classifier == "profanity-check" else ()

    def __init__(self, configuration: Configuration) -> None:
        """Load the bot inside and the classifier.

        Raises:
            ModuleNotFoundError: the classifier's library is not installed.
            Exception: any error of the bot or the classifier.
        """
        super().__init__(configuration)
        name = configuration.classifier
        self._classifier: safety.SafetyClassifier = (safety.CLASSIFIERS.get(name) or lab_object(name))()

    def objections(self, context: Context, texts: Sequence[str]) -> list[bool]:
        """For each text, True if it is unsafe."""
        return self._classifier.unsafe(texts)

    def fallback(self, context: Context, response: Response) -> str:
        """The configured sentence."""
        return self.configuration.fallback

    def fingerprint(self) -> Mapping[str, object]:
        """Return the fingerprint of every wrapper, with the hash of the classifier's file."""
        source = Path(inspect.getfile(type(self._classifier)))
        return {**super().fingerprint(), "classifier_code": hash_of([source])}
