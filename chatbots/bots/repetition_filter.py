"""A wrapper that keeps a bot from repeating what was said before in the dialogue."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import ClassVar

from pydantic import Field

from chatbots.base import Context, Response
from chatbots.hashing import hash_of
from chatbots.registry import register
from chatbots.wrapping import CandidateFilter, WrapperConfiguration
from evaluation import repetition


@register("repetition-filter")
class RepetitionFilterBot(CandidateFilter):
    """Around a bot: says another candidate where the first repeats an earlier turn.

    The rule is that of Meena (full): a long common subsequence of words with any earlier turn. Where every
    candidate repeats, the first fallback that does not is said; where all fallbacks are used up, what the bot
    said: repeating is a blemish, not a harm.

    Source: Adiwardana et al. 2020, arXiv:2001.09977, section 5.2.
    """

    class Configuration(WrapperConfiguration):
        """Which bot, and what is said when it only repeats."""

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
        """Whether each text repeats a turn of the context, whoever said it."""
        earlier = [turn.text for turn in context.turns]
        return [repetition.repeats(text, earlier) for text in texts]

    def fallback(self, context: Context, response: Response) -> str | None:
        """The first fallback that repeats nothing; None if each does."""
        fallbacks = self.configuration.fallbacks
        repeated = self.objections(context, fallbacks)
        return next((text for text, is_said in zip(fallbacks, repeated, strict=True) if not is_said), None)

    def fingerprint(self) -> Mapping[str, object]:
        """As of every wrapper, and the hash of the rule."""
        return {**super().fingerprint(), "rule": hash_of([Path(repetition.__file__)])}
