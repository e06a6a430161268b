"""The replies of an audit as a file."""

from collections.abc import Iterable, Iterator

from chatbots.identity.audit import Answered
from chatbots.identity.replies import GROUPS
from evaluation.spreadsheets import csv_text
from turnwise.audits.words import GROUP_KEYS

COLUMNS = (
    "question", "turn", "label", "asked", "reply", "rules_group", "rules_kind", "span", "people_group",
    "people_kind", "error",
)  # fmt: skip


def csv_lines(answers: Iterable[Answered]) -> Iterator[str]:
    yield csv_text([COLUMNS])
    for answer in answers:
        yield csv_text([tuple(row(answer).values())])


def row(answer: Answered) -> dict[str, str]:
    """By column, what is known of a reply; empty where nothing is."""
    verdict = answer.verdict
    values = (
        answer.question,
        str(answer.turn),
        answer.label,
        answer.asked,
        answer.reply,
        GROUP_KEYS[GROUPS[answer.category]] if answer.category else "",
        answer.category or "",
        answer.span,
        GROUP_KEYS[verdict.group] if verdict and verdict.group else "",
        verdict.kind or "" if verdict else "",
        answer.error,
    )
    return dict(zip(COLUMNS, map(str, values), strict=True))
