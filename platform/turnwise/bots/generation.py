"""Record of how a reply was generated, stored beside its text: the JSON column `generation` and its type.

Everything that reads or writes the column goes through `Generation`, except statements that select from it in
SQL. Absent values have no key, and a complete reply with nothing else to record is NULL:

    {"outcome": "refused", "remarks": […], "reasoning": "…", "usage": {"prompt": 12, "completion": 34,
     "reasoning": 20, "cached": 8}, "model": "…", "first_seconds": 0.4, "outcome_before_stop": "cut"}

Imported replies may also have calls of tools and their answers, in order, which no bot here gives:

    {"tools": [{"name": "hours", "arguments": "{}"}, {"answer": "9 to 17"}]}
"""

from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from typing import Any, Self

from django.db.models import Q, TextField, Value
from django.db.models.fields.json import KeyTextTransform
from django.db.models.functions import Coalesce
from django.db.models.lookups import In
from django.utils.functional import Promise
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from chatbots.replies import MAY_BE_EMPTY, ReplyOutcome, Response, Usage
from evaluation.report.bundles.columns import GENERATION

Stored = Mapping[str, Any] | None
"""Value of the column."""

SAYS_SOMETHING = ~Q(text="") | Q(
    In(
        Coalesce(KeyTextTransform("outcome", "generation"), Value("", TextField())),
        sorted(outcome.value for outcome in MAY_BE_EMPTY),
    )
)
"""Database condition: the text is not empty, or the outcome is one whose text may be empty."""

GENERATION_COLUMNS = tuple(column.name for column in GENERATION)
_USAGE = ("prompt", "completion", "reasoning", "cached")


def columns_of(column: str, is_of_bot: str) -> str:
    """SQL of the columns that exports have of a generation: `evaluation.report.bundles.columns.GENERATION`.

    Args:
        column: SQL of the stored value.
        is_of_bot: SQL condition that a bot of this platform gave the text; elsewhere the outcome is NULL.
    """
    tokens = ", ".join(f"({column}->'usage'->>'{name}')::integer" for name in _USAGE)
    return f"""({column}->'remarks')::text,
       CASE WHEN {is_of_bot} THEN coalesce({column}->>'outcome', 'complete') END,
       {column}->>'model', {tokens}, ({column}->>'first_seconds')::float8, {column}->>'reasoning',
       {column}->>'outcome_before_stop'"""


NO_GENERATION = columns_of("NULL::jsonb", "false")
"""SQL of the same columns for texts that no bot wrote."""

OUTCOME_TITLES: Mapping[ReplyOutcome, str | Promise] = {
    ReplyOutcome.COMPLETE: _("complete"),
    ReplyOutcome.CUT: _("cut at its length limit"),
    ReplyOutcome.REFUSED: _("refused by the model"),
    ReplyOutcome.FILTERED: _("withheld by a filter of the service"),
    ReplyOutcome.TOOL_CALL: _("called tools"),
    ReplyOutcome.FALLBACK: _("prepared sentence of a filter"),
    ReplyOutcome.STOPPED: _("stopped by the reader"),
}
"""Outcomes as staff pages name them."""


@dataclass(frozen=True, slots=True)
class Generation:
    """Record of how a reply was generated; attributes as in `chatbots.replies.Response`.

    Attributes:
        tools: calls of tools, with `name` and `arguments`, and their answers, with `answer`; only imported
            replies have them.
    """

    outcome: ReplyOutcome = ReplyOutcome.COMPLETE
    remarks: tuple[str, ...] = ()
    reasoning: str = ""
    usage: Usage | None = None
    model: str = ""
    first_seconds: float | None = None
    tools: tuple[Mapping[str, str], ...] = ()
    outcome_before_stop: ReplyOutcome | None = None

    @classmethod
    def of_response(cls, response: Response) -> Self:
        """Take the facts from a response."""
        return cls(
            response.outcome,
            response.remarks,
            response.reasoning,
            response.usage,
            response.model,
            response.first_seconds,
            outcome_before_stop=response.outcome_before_stop,
        )

    @classmethod
    def from_json(cls, stored: Stored) -> Self:
        """Read the value of the column."""
        if not stored:
            return cls()
        usage, before = stored.get("usage"), stored.get("outcome_before_stop")
        return cls(
            ReplyOutcome(stored.get("outcome", ReplyOutcome.COMPLETE)),
            tuple(stored.get("remarks", ())),
            stored.get("reasoning", ""),
            Usage(**usage) if usage else None,
            stored.get("model", ""),
            stored.get("first_seconds"),
            tuple(stored.get("tools", ())),
            ReplyOutcome(before) if before else None,
        )

    def as_json(self) -> dict[str, Any] | None:
        """The value of the column; None for a complete reply with nothing else to record."""
        if self == _NOTHING_TO_RECORD:
            return None
        usage = {name: n for name, n in asdict(self.usage).items() if n is not None} if self.usage else {}
        values: dict[str, Any] = {
            "outcome": self.outcome.value if self.outcome is not ReplyOutcome.COMPLETE else "",
            "remarks": list(self.remarks),
            "reasoning": self.reasoning,
            "usage": usage,
            "model": self.model,
            "tools": list(self.tools),
            "outcome_before_stop": self.outcome_before_stop.value if self.outcome_before_stop else "",
        }
        stored = {name: value for name, value in values.items() if value}
        if self.first_seconds is not None:
            stored["first_seconds"] = round(self.first_seconds, 3)
        return stored or None

    def exported(self, *, is_of_bot: bool, redactor: Callable[[str], str]) -> dict[str, Any]:
        """The values of the columns `GENERATION` of exports, remarks as a list; without a bot no outcome."""
        usage = self.usage or Usage()
        values = (
            [redactor(remark) for remark in self.remarks],
            self.outcome.value if is_of_bot else None,
            self.model or None,
            *(usage.prompt, usage.completion, usage.reasoning, usage.cached),
            self.first_seconds,
            redactor(self.reasoning) or None,
            self.outcome_before_stop.value if self.outcome_before_stop else None,
        )
        return dict(zip(GENERATION_COLUMNS, values, strict=True))

    @property
    def outcome_title(self) -> str:
        """The outcome for staff pages; empty if the reply is complete."""
        if self.outcome is ReplyOutcome.COMPLETE:
            return ""
        title = str(OUTCOME_TITLES[self.outcome])
        if self.outcome_before_stop in (None, ReplyOutcome.COMPLETE):
            return title
        whole = OUTCOME_TITLES[self.outcome_before_stop]
        return gettext("%(stopped)s (the whole reply: %(whole)s)") % {"stopped": title, "whole": whole}


_NOTHING_TO_RECORD = Generation()
