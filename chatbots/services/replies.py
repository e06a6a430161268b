"""Assembly of a reply from the events in which a service sends it.

A whole answer is read as the only event of a stream, so that both give the same response.
"""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from chatbots.errors import ServiceError
from chatbots.hosting.response_checks import is_blank
from chatbots.replies import Candidate, ReplyOutcome, ReplyToken, Response, Usage
from chatbots.services.think_blocks import SurrogateJoiner, ThinkFilter, split_at_bare_close

MOST_MODEL_CHARS = 300
MAX_TOKENS = 1_000
"""Last tokens of a reply whose log probabilities are kept."""
_WORDS = 300

_KINDS = {type(None): "nothing", bool: "a truth value", int: "a number", float: "a number"} | {
    str: "a text",
    list: "a list",
    dict: "an object",
}


def kind_of(value: Any) -> str:
    """Return the kind of a JSON value, for messages."""
    return _KINDS.get(type(value), "something else")


class ReplyDraft:
    """One reply while it is received; a service asked for several sends one draft for each.

    Attributes:
        text: the visible text so far.
        reasoning: the model's reasoning so far.
        outcome: how the reply ended; None until the service says so.
        score: the service's score, higher is better; None without one.
        tokens: the tokens so far with their log probabilities, if the service gives them.
        had_bare_close: the text began with reasoning that only a closing tag marks, and that was therefore
            part of the text until the end.
    """

    def __init__(self) -> None:
        """Start empty."""
        self.text = self.reasoning = ""
        self.outcome: ReplyOutcome | None = None
        self.score: float | None = None
        self.tokens: list[ReplyToken] = []
        self.has_text = False
        self.had_bare_close = False
        self._refusal = ""
        self._tools: dict[Any, str] = {}
        self._others: list[str] = []
        self._think, self._joiner = ThinkFilter(), SurrogateJoiner()
        self._joiner_of_reasoning = SurrogateJoiner()

    @property
    def has_refusal(self) -> bool:
        """True if a part of a refusal was received."""
        return bool(self._refusal)

    def end(self, outcome: ReplyOutcome) -> None:
        """Record how the reply ended, unless that is known."""
        self.outcome = self.outcome or outcome

    def add_text(self, part: str) -> None:
        """Append to the text; a think block at its beginning goes to the reasoning."""
        self.has_text = True
        self._append(*self._think.feed(self._joiner.feed(part)))

    def add_reasoning(self, part: str) -> None:
        """Append to the reasoning."""
        self.reasoning += self._joiner_of_reasoning.feed(part)

    def add_refusal(self, part: str) -> None:
        """Append to the text of a refusal, which ends the reply as refused."""
        self._refusal += part

    def add_tool(self, key: Any, name: str) -> None:
        """Record a call of a tool; the name of the call `key` may come in parts."""
        self._tools[key] = self._tools.get(key, "") + name

    def add_other(self, kind: str) -> None:
        """Record a part that is no text, such as an image."""
        self._others.append(kind[:40])

    def finish(self) -> None:
        """Take the text that waited for its continuation, and decide the outcome."""
        self._append(*self._think.feed(self._joiner.finish()))
        self._append(*self._think.finish())
        if parts := split_at_bare_close(self.text):
            self.reasoning, self.text = self.reasoning + parts[0], parts[1]
            self.had_bare_close = True
        self.reasoning += self._joiner_of_reasoning.finish()
        if self._refusal:
            self.text += self._refusal
            self._refusal, self.outcome = "", ReplyOutcome.REFUSED
        if self._tools and self.outcome in (None, ReplyOutcome.COMPLETE):
            self.outcome = ReplyOutcome.TOOL_CALL

    @property
    def remarks(self) -> list[str]:
        """Sentences about tools and parts that are no text."""
        remarks = []
        if self._tools:
            remarks.append(f"the model called tools: {', '.join(self._tools.values())}")
        if self._others:
            remarks.append(f"parts that are no text were left out: {', '.join(self._others)}")
        return remarks

    def _append(self, text: str, reasoning: str) -> None:
        self.text += text
        self.reasoning += reasoning


class ReplyReader(ABC):
    """Reads the events of one answer. Subclasses implement `read` for their service.

    Args:
        name: of the bot, for remarks.
        url: of the service, for messages.

    Attributes:
        is_final: True once the service has sent the last event that matters to the text.
    """

    text_place: ClassVar[str]
    """Path of the text in an answer's JSON, for messages."""

    def __init__(self, name: str, url: str) -> None:
        """Start before the first event."""
        self.name, self.url = name, url
        self.model = ""
        self.is_final = False
        self._drafts: dict[int, ReplyDraft] = {}
        self._remarks: list[str] = []
        # The service's own counts, as they were sent; None until they are.
        self._usage: Any = None

    @abstractmethod
    def read(self, event: Mapping[str, Any]) -> None:
        """Take in one event.

        Raises:
            ServiceError: the service reports an error.
        """

    @property
    def usage(self) -> Usage | None:
        """Tokens of the reply; None if the service does not count."""
        return None

    @property
    def visible_text(self) -> str:
        """Text of the first reply so far, without its reasoning."""
        return self._drafts[0].text if 0 in self._drafts else ""

    @property
    def had_bare_close(self) -> bool:
        """True if reasoning was part of a text so far, because only a closing tag marks it."""
        return any(draft.had_bare_close for draft in self._drafts.values())

    @property
    def characters(self) -> int:
        """Number of characters of text and reasoning so far."""
        return sum(len(draft.text) + len(draft.reasoning) for draft in self._drafts.values())

    def draft(self, number: int = 0) -> ReplyDraft:
        """Return the reply of this number, begun if it is new."""
        return self._drafts.setdefault(number, ReplyDraft())

    def remark(self, sentence: str) -> None:
        """Add a remark, once."""
        remark = f"{self.name}: {sentence}"
        if remark not in self._remarks:
            self._remarks.append(remark)

    def check_error(self, event: Mapping[str, Any]) -> None:
        """Raise the error of an event, if it reports one, in the service's own words.

        Raises:
            ServiceError: it reports one.
        """
        if error := event.get("error"):
            raise ServiceError(f"{self.url} answered with an error: {error_words(error)}")

    def cut(self, why: str) -> None:
        """End the replies that are not finished as cut, with a remark."""
        self.remark(why)
        for draft in self._drafts.values():
            draft.outcome = draft.outcome or ReplyOutcome.CUT

    def response(self, first_seconds: float | None) -> Response:
        """Return the reply: the best draft with a visible text, else the first draft.

        Args:
            first_seconds: as in `Response`.

        Raises:
            ServiceError: the model wrote reasoning only.
        """
        drafts = [self._drafts[number] for number in sorted(self._drafts)] or [ReplyDraft()]
        for draft in drafts:
            draft.finish()
        visible = _ranked([draft for draft in drafts if not is_blank(draft.text)])
        best = visible[0] if visible else drafts[0]
        self._check(best)
        if 0 < len(visible) < len(drafts):
            self.remark(f"{len(drafts) - len(visible)} of {len(drafts)} replies had no text")
        for remark in best.remarks:
            self.remark(remark)
        usage = self.usage  # may add remarks
        return Response(
            best.text,
            _candidates(visible) if len(drafts) > 1 else (),
            usage,
            tuple(self._remarks),
            outcome=best.outcome or ReplyOutcome.COMPLETE,
            reasoning=best.reasoning,
            model=self.model[:MOST_MODEL_CHARS],
            first_seconds=first_seconds,
            tokens=tuple(best.tokens[-MAX_TOKENS:]),
        )

    def _check(self, draft: ReplyDraft) -> None:
        """Refuse a reply without a text and without a reason for it, or of reasoning alone."""
        ended = draft.outcome in (None, ReplyOutcome.COMPLETE)
        if ended and not draft.has_text and not draft.text and not draft.reasoning:
            raise ServiceError(
                f"{self.url} has nothing in {self.text_place} instead of a text. Compare with its "
                "documentation."
            )
        if is_blank(draft.text) and draft.outcome is ReplyOutcome.CUT:
            raise ServiceError(
                f"{self.url} used all tokens before it wrote a reply ({len(draft.reasoning):,} characters of "
                "reasoning). Raise the longest reply, or lower the reasoning effort."
            )
        if ended and is_blank(draft.text) and draft.reasoning:
            raise ServiceError(f"{self.url} sent reasoning without a reply.")


def _ranked(drafts: list[ReplyDraft]) -> list[ReplyDraft]:
    """Sort by score, best first; in the service's order if one has no score."""
    if any(draft.score is None for draft in drafts):
        return drafts
    return sorted(drafts, key=lambda draft: -(draft.score or 0.0))


def _candidates(drafts: Sequence[ReplyDraft]) -> tuple[Candidate, ...]:
    """Return the replies as candidates; without the service's score, the score follows their order."""
    return tuple(
        Candidate(draft.text, -float(place) if draft.score is None else draft.score)
        for place, draft in enumerate(drafts)
    )


def error_words(error: Any) -> str:
    """Return a service's words about an error: its message with its type or code."""
    if not isinstance(error, Mapping):
        return str(error)[:_WORDS]
    words = error.get("message") or error.get("detail") or error
    kinds = [error.get(name) for name in ("type", "status", "code")]
    kind = next((str(kind) for kind in kinds if kind), "")
    return str(words)[:_WORDS] + (f" ({kind[:60]})" if kind and words is not error else "")
