"""Bots that combine several others: best of several by a scorer, a vote, and a router with rules."""

import inspect
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, ClassVar, Self

from pydantic import AfterValidator, Field, ValidationInfo, field_validator

from chatbots import scoring
from chatbots.base import Context
from chatbots.ensembles import EnsembleBot, EnsembleConfiguration, MemberReply, labels_among, ranked
from chatbots.local_files import check_path, hash_of, lab_object
from chatbots.registry import register
from chatbots.replies import Candidate, Response
from evaluation.texts.repetition import repeats, words
from evaluation.texts.similarity import f1


def check_scorer(name: str) -> str:
    """Refuse a name that is neither a shipped scorer nor a class of the lab.

    Returns:
        The name, unchanged.

    Raises:
        ValueError: the name is neither.
    """
    if name in scoring.SCORERS:
        return name
    try:
        return check_path(name)
    except ValueError as error:
        names = ", ".join(scoring.SCORERS)
        raise ValueError(f"is none of {names}, nor a class of the lab: {error}") from None


@register("best-of-several")
class BestOfSeveralBot(EnsembleBot):
    """Asks several bots and says the reply that a scorer finds best.

    Replies that repeat an earlier turn come after all that do not, by the rule of Meena (full). Of equally
    good ones, the reply of the first bot in the list is used.
    """

    class Configuration(EnsembleConfiguration):
        """The members, and the scorer."""

        first = frozenset({"scorer"})
        scorer: Annotated[str, AfterValidator(check_scorer)] = Field(
            "likelihood",
            description="likelihood: log-likelihood per token by the Meena model that ships; overlap: F1 of "
            "the words of reply and partner's last turn; or a class of the lab as module:Class with "
            "scores(turns, replies).",
            examples=["our_ranking:Scorer"],
        )

    configuration: Configuration

    @property
    def libraries(self) -> tuple[str, ...]:  # type: ignore[override]
        """Libraries of the Meena model, if it is the scorer."""
        return ("torch", "sentencepiece") if self.configuration.scorer == "likelihood" else ()

    def __init__(self, configuration: Configuration) -> None:
        """Load the scorer and the members.

        Raises:
            ModuleNotFoundError: a library of the scorer is not installed.
            ChatbotError: a member cannot be loaded.
        """
        name = configuration.scorer
        self._scorer: scoring.Scorer = (scoring.SCORERS.get(name) or lab_object(name))()
        super().__init__(configuration)

    async def answered(self, context: Context) -> Response:
        """Return the best reply; the others are its candidates."""
        replies, failures = await self.ask_members(self.labels, context)
        if not replies:
            raise self.no_answer_error(failures)
        turns = [turn.text for turn in context.turns]
        scores = [
            float(score) for score in self._scorer.scores(turns, [each.response.text for each in replies])
        ]
        if len(scores) != len(replies):
            raise ValueError(
                f"The scorer gave {len(scores)} scores for {len(replies)} replies. Fix its scores()."
            )
        repeated = [repeats(each.response.text, turns) for each in replies]
        order = sorted(range(len(replies)), key=lambda number: (repeated[number], -scores[number]))
        why = ", ".join(_scored_label(replies[number], scores[number], repeated[number]) for number in order)
        response = self.announced(replies[order[0]], f"{self._title}: {why}", failures)
        return ranked(
            response, [Candidate(replies[number].response.text, scores[number]) for number in order], replies
        )

    _names: ClassVar[dict[str, str]] = {"likelihood": "log-likelihood per token", "overlap": "overlap"}

    @property
    def _title(self) -> str:
        return self._names.get(self.configuration.scorer, "score")

    def fingerprint(self) -> Mapping[str, object]:
        """Return the fingerprint of every ensemble, with the hash of the scorer's file."""
        source = Path(inspect.getfile(type(self._scorer)))
        return {**super().fingerprint(), "scorer_code": hash_of([source])}


def _scored_label(reply: MemberReply, score: float, repeats: bool) -> str:
    return f"{reply.label} {score:.2f}{' but repeats' if repeats else ''}"


@register("vote")
class VoteBot(EnsembleBot):
    """Asks several bots and says the most central reply: the one whose words the others share most.

    Central is the largest mean F1 of words with the other replies, as in decoding of minimum Bayes risk. Of
    equally central ones, and of two replies, that of the first bot in the list is used.

    Source: Kumar & Byrne 2004, Minimum Bayes-risk decoding for statistical machine translation.
    """

    async def answered(self, context: Context) -> Response:
        """Return the most central reply; the others are its candidates."""
        replies, failures = await self.ask_members(self.labels, context)
        if not replies:
            raise self.no_answer_error(failures)
        scores = centralities([each.response.text for each in replies])
        order = sorted(range(len(replies)), key=lambda number: -scores[number])
        why = ", ".join(f"{replies[number].label} {scores[number]:.2f}" for number in order)
        response = self.announced(replies[order[0]], f"mean F1 with the others: {why}", failures)
        return ranked(
            response, [Candidate(replies[number].response.text, scores[number]) for number in order], replies
        )


def centralities(texts: list[str]) -> list[float]:
    """Compute each text's mean F1 of words with all others; 0 for a single text."""
    others = len(texts) - 1
    return [
        sum(f1(text, [other]) for at, other in enumerate(texts) if at != nth) / others if others else 0.0
        for nth, text in enumerate(texts)
    ]


LISTS = {
    "@greeting": ("hi", "hello", "hey", "good morning", "good afternoon", "good evening"),
    "@goodbye": ("bye", "goodbye", "see you", "good night", "take care"),
    "@thanks": ("thanks", "thank you"),
    "@feeling": ("sad", "happy", "angry", "lonely", "afraid", "worried", "tired", "stressed", "upset"),
}
"""Word lists that rules may name by @."""
QUESTION = "@question"
"""Name of the rule for any turn that ends in a question mark."""
_QUESTION_MARKS = ("?", "\N{FULLWIDTH QUESTION MARK}", "\N{ARABIC QUESTION MARK}")


@dataclass(frozen=True, slots=True)
class Rule:
    """A rule that sends turns with certain words to a bot."""

    phrases: tuple[str, ...]
    bot: str

    @classmethod
    def read(cls, line: str) -> Self:
        """Parse a rule in the form `WORDS, WORDS: BOT`.

        Raises:
            ValueError: the line has another form.
        """
        before, colon, bot = line.rpartition(":")
        phrases = tuple(part.strip() for part in before.split(",") if part.strip())
        if not colon or not phrases or not bot.strip():
            raise ValueError(f"'{line}' is not a rule. Write words, a colon and a bot: weather, rain: eliza")
        for phrase in phrases:
            if phrase.startswith("@") and phrase not in (*LISTS, QUESTION):
                names = ", ".join((*LISTS, QUESTION))
                raise ValueError(f"'{phrase}' is not a list of words. There are {names}")
            if not phrase.startswith("@") and not words(phrase):
                raise ValueError(f"'{phrase}' has no letter and no digit. Write a word")
        return cls(phrases, bot.strip())

    def met_by(self, text: str) -> str | None:
        """Return the rule's first word or phrase that occurs in a text; None if none does."""
        spoken = words(text)
        for phrase in self.phrases:
            if phrase == QUESTION:
                if text.rstrip().endswith(_QUESTION_MARKS):
                    return phrase
            elif match := next(
                (each for each in LISTS.get(phrase, (phrase,)) if _within(each, spoken)), None
            ):
                return match
        return None


def _within(phrase: str, spoken: Sequence[str]) -> bool:
    sought = words(phrase)
    return any(
        spoken[start : start + len(sought)] == sought for start in range(len(spoken) - len(sought) + 1)
    )


@register("router")
class RouterBot(EnsembleBot):
    """Of several bots, asks the one that the first rule about the partner's last turn names.

    The words of a rule are looked for as whole words, whatever their case. If the bot that is chosen gives no
    reply, the one for all other turns is asked, or, if it was that one, the first of the others.
    """

    class Configuration(EnsembleConfiguration):
        """The members, and the rules that choose among them."""

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
        """Return the reply of the chosen bot, or of its substitute if that fails."""
        label, why = self.routed_to(context.turns[-1].text)
        replies, failures = await self.ask_members([label], context)
        if not replies:
            others = [each for each in (self._otherwise, *self.labels) if each != label]
            replies, more_failures = await self.ask_members(others[:1], context)
            failures, why = [*failures, *more_failures], f"in place of {label}"
        if not replies:
            raise self.no_answer_error(failures)
        return self.announced(replies[0], why, failures)

    def routed_to(self, text: str) -> tuple[str, str]:
        """Choose the bot for a turn, with the reason."""
        for rule in self._rules:
            if met := rule.met_by(text):
                return rule.bot, f"rule: {met}"
        return self._otherwise, "no rule is met"


def _known(bot: str, info: ValidationInfo) -> str:
    labels = labels_among(info.data)
    if labels and bot not in labels:
        raise ValueError(f"'{bot}' is none of the bots above. They are {', '.join(labels)}")
    return bot
