"""A bot's reply: its text, its outcome, and the data about its generation."""

import math
from dataclasses import dataclass
from enum import StrEnum


@dataclass(frozen=True, slots=True)
class Candidate:
    """A response that the bot considered.

    Attributes:
        text: the possible response. May be empty.
        score: what the bot ranks by, higher is better; finite, in a unit of the adapter's choice.
    """

    text: str
    score: float

    def __post_init__(self) -> None:
        """Refuse a score that cannot be stored or compared.

        Raises:
            ValueError: the score is infinite or not a number.
        """
        if not math.isfinite(self.score):
            raise ValueError(f"A candidate has the score {self.score}. Leave such candidates out.")


class ReplyOutcome(StrEnum):
    """Outcome of a reply. Reports count each outcome by bot."""

    COMPLETE = "complete"
    CUT = "cut"
    """The reply reached its length limit, so that its end is missing."""
    REFUSED = "refused"
    """The model declined to answer. The text is its refusal, or empty if it gave none."""
    FILTERED = "filtered"
    """A filter of the service withheld the reply or its rest."""
    TOOL_CALL = "tool_call"
    """The model called tools instead of answering, or beside its answer."""
    FALLBACK = "fallback"
    """The text is a prepared sentence, because none of the bot's candidates was allowed."""
    STOPPED = "stopped"
    """The reader stopped the reply; the text is the part that was shown. Set by the platform, not by bots."""


MAY_BE_EMPTY = frozenset({ReplyOutcome.REFUSED, ReplyOutcome.FILTERED, ReplyOutcome.TOOL_CALL})
"""Outcomes whose text may be empty; an empty text with another outcome is a failure of the bot."""


@dataclass(frozen=True, slots=True)
class Usage:
    """Tokens that a reply took, as the model's service counted them; None where it does not say.

    Attributes:
        prompt: tokens of the request, cached ones included.
        completion: tokens that were generated, reasoning included.
        reasoning: those of `completion` that were reasoning.
        cached: those of `prompt` that the service had in its cache.
    """

    prompt: int | None = None
    completion: int | None = None
    reasoning: int | None = None
    cached: int | None = None

    def __post_init__(self) -> None:
        """Raise `ValueError` if a number is negative."""
        for name in ("prompt", "completion", "reasoning", "cached"):
            number = getattr(self, name)
            if number is not None and number < 0:
                raise ValueError(f"usage.{name} = {number}: a number of tokens cannot be negative.")


@dataclass(frozen=True, slots=True)
class ReplyToken:
    """A token of a reply, as the service reports it.

    Attributes:
        text: the token.
        alternatives: the most likely tokens at its place, itself among them, each with its natural logarithm
            of a probability, at most 0.
    """

    text: str
    alternatives: tuple[tuple[str, float], ...] = ()


@dataclass(frozen=True, slots=True)
class Response:
    """A bot's answer to a context.

    Attributes:
        text: the turn, byte for byte as the model wrote it. Hosting refuses it if nothing of it is visible,
            unless the outcome is one of `MAY_BE_EMPTY`, and cuts it after
            `evaluation.texts.lengths.MAX_REPLY_CHARS`.
        candidates: the responses it was chosen from, best first, at most `MAX_CANDIDATES`; empty if the bot
            has none.
        usage: the tokens that the reply took; None if the bot does not count.
        remarks: how the response came about, for readers of the transcript, as in "repetition-filter:
            the first candidate repeats an earlier turn"; usually empty. At most `MAX_REMARKS` are kept, each
            up to `MAX_REMARK_CHARS`.
        outcome: how the reply ended.
        reasoning: text of the model's reasoning, apart from the reply; empty if there is none. People in a
            conversation never see it.
        model: name of the model that answered, as its service reports it; empty if the bot is the model.
        first_seconds: seconds from the request to the first token of the text; None if the bot cannot tell.
        outcome_before_stop: outcome of the whole reply, if the reader stopped its display after it was known;
            None otherwise. Set by the platform, not by bots.
        ruled_out: texts of candidates that a filter rejected; outer filters do not use them.
        tokens: the reply's tokens with their log probabilities, if the bot is configured to ask for them; of
            a long reply the last ones.
        least_seconds: hosting delivers the response no sooner than this after the request, or after nine
            tenths of the deadline if that is less; only the caller waits, not the bot. At least 0.
    """

    text: str
    candidates: tuple[Candidate, ...] = ()
    usage: Usage | None = None
    remarks: tuple[str, ...] = ()
    least_seconds: float = 0.0
    outcome: ReplyOutcome = ReplyOutcome.COMPLETE
    reasoning: str = ""
    model: str = ""
    first_seconds: float | None = None
    outcome_before_stop: ReplyOutcome | None = None
    ruled_out: frozenset[str] = frozenset()
    tokens: tuple[ReplyToken, ...] = ()

    def __post_init__(self) -> None:
        """Refuse a text or a time of the wrong type or range, so that the error points at the bot.

        Raises:
            TypeError: `text` is not a string.
            ValueError: `least_seconds` is negative or not finite.
        """
        if not isinstance(self.text, str):
            raise TypeError(f"The text of a response is {self.text!r}, not a string. Convert it in the bot.")
        if not 0 <= self.least_seconds < math.inf:
            raise ValueError(f"least_seconds = {self.least_seconds}: give seconds from 0 up.")


@dataclass(frozen=True, slots=True)
class Failure:
    """The result of one context that failed while others of its batch succeeded.

    Attributes:
        error: its cause; the caller sees the last line.
    """

    error: Exception
