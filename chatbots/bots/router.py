"""A bot that hands each turn to one of several, by rules about what the partner said last."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

from pydantic import Field, ValidationInfo, field_validator

from chatbots.base import Context, Response
from chatbots.ensembles import EnsembleBot, EnsembleConfiguration, labels_among
from chatbots.registry import register
from evaluation.repetition import words

LISTS = {
    "@greeting": ("hi", "hello", "hey", "good morning", "good afternoon", "good evening"),
    "@goodbye": ("bye", "goodbye", "see you", "good night", "take care"),
    "@thanks": ("thanks", "thank you"),
    "@feeling": ("sad", "happy", "angry", "lonely", "afraid", "worried", "tired", "stressed", "upset"),
}
"""Words that rules may name together."""
QUESTION = "@question"
"""Any turn that ends in a question mark."""
_QUESTION_MARKS = ("?", "\N{FULLWIDTH QUESTION MARK}", "\N{ARABIC QUESTION MARK}")


@dataclass(frozen=True, slots=True)
class Rule:
    """Which words lead to which bot."""

    phrases: tuple[str, ...]
    bot: str

    @classmethod
    def read(cls, line: str) -> Self:
        """A rule as people write it, `WORDS, WORDS: BOT`.

        Raises:
            ValueError: it is something else.
        """
        before, colon, bot = line.rpartition(":")
        phrases = tuple(part.strip() for part in before.split(",") if part.strip())
        if not colon or not phrases or not bot.strip():
            raise ValueError(f"'{line}' is not a rule. Write words, a colon and a bot: weather, rain: eliza")
        for phrase in phrases:
            if phrase.startswith("@") and phrase not in (*LISTS, QUESTION):
                known = ", ".join((*LISTS, QUESTION))
                raise ValueError(f"'{phrase}' is not a list of words. There are {known}")
            if not phrase.startswith("@") and not words(phrase):
                raise ValueError(f"'{phrase}' has no letter and no digit. Write a word")
        return cls(phrases, bot.strip())

    def met_by(self, text: str) -> str | None:
        """The word, or words in a row, of this rule that stand in a text; None if none does."""
        said = words(text)
        for phrase in self.phrases:
            if phrase == QUESTION:
                if text.rstrip().endswith(_QUESTION_MARKS):
                    return phrase
            elif found := next((each for each in LISTS.get(phrase, (phrase,)) if _within(each, said)), None):
                return found
        return None


def _within(phrase: str, said: Sequence[str]) -> bool:
    wanted = words(phrase)
    return any(said[start : start + len(wanted)] == wanted for start in range(len(said) - len(wanted) + 1))


@register("router")
class RouterBot(EnsembleBot):
    """Of several bots, asks the one that the first rule about the partner's last turn names.

    The words of a rule are looked for as whole words, whatever their case. If the bot that is chosen gives no
    reply, the one for all other turns is asked, or, if it was that one, the first of the others.
    """

    class Configuration(EnsembleConfiguration):
        """Which bots, and when each is asked."""

        first = frozenset({"rules", "otherwise"})
        rules: tuple[str, ...] = Field(
            (),
            max_length=100,
            description="Words, separated by commas, a colon and the name of a bot. The first rule that is "
            f"met counts. Lists of words: {', '.join(LISTS)}, and {QUESTION} for a turn that ends in a "
            "question mark.",
            examples=["weather, rain, @greeting: eliza"],
        )
        otherwise: str | None = Field(
            None, description="The bot for all other turns, by its name; empty for the first one."
        )

        @field_validator("rules")
        @classmethod
        def _lead_to_bots(cls, rules: tuple[str, ...], info: ValidationInfo) -> tuple[str, ...]:
            for line in rules:
                _known(Rule.read(line).bot, info)
            return rules

        @field_validator("otherwise")
        @classmethod
        def _is_a_bot(cls, otherwise: str | None, info: ValidationInfo) -> str | None:
            return otherwise and _known(otherwise, info)

    configuration: Configuration

    def __init__(self, configuration: Configuration) -> None:
        """Load the members.

        Raises:
            ChatbotError: one cannot be loaded.
        """
        super().__init__(configuration)
        self._rules = [Rule.read(line) for line in configuration.rules]
        self._otherwise = configuration.otherwise or self.labels[0]

    async def answered(self, context: Context) -> Response:
        """What the bot for this turn says, or the one that stands in for it."""
        label, why = self.chosen(context.turns[-1].text)
        said, silent = await self.asked([label], context)
        if not said:
            others = [each for each in (self._otherwise, *self.labels) if each != label]
            said, also = await self.asked(others[:1], context)
            silent, why = [*silent, *also], f"in place of {label}"
        if not said:
            raise self.nobody(silent)
        return self.told(said[0], why, silent)

    def chosen(self, text: str) -> tuple[str, str]:
        """The bot for a turn, and why."""
        for rule in self._rules:
            if met := rule.met_by(text):
                return rule.bot, f"rule: {met}"
        return self._otherwise, "no rule is met"


def _known(bot: str, info: ValidationInfo) -> str:
    labels = labels_among(info.data)
    if labels and bot not in labels:
        raise ValueError(f"'{bot}' is none of the bots above. They are {', '.join(labels)}")
    return bot
