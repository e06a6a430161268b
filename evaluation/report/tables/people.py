"""The tables of who took part, and of what they say of themselves."""

from collections.abc import Sequence

from evaluation.questions import QuestionSet
from evaluation.report.columns import Column, Kind, Table, answers_to
from evaluation.report.tables.shared import LABEL, RATER

WORKERS = Table(
    "workers",
    "One row per worker who agreed to take part, however often they did, in that order.",
    (
        Column("rater", Kind.TEXT, RATER),
        Column("consent", Kind.INTEGER, "number of the consent text that they agreed to, as in consent/"),
        Column("consented_at", Kind.TIME, "when they agreed, UTC"),
        Column(
            "outcome",
            Kind.TEXT,
            "`complete` or `bot_failed`; empty if they have not finished; for those who took part several "
            "times, the last one",
        ),
        Column("excluded_at", Kind.TIME, "when they were excluded in this study, UTC; empty: they are not"),
        Column(
            "excluded_reason",
            Kind.TEXT,
            "why their labels count in the analysis of all workers only",
        ),
        Column("pilot", Kind.BOOLEAN, "whether they were one of the study's pilot, its first people"),
        Column(
            "address",
            Kind.INTEGER,
            "the same number for those who agreed from the same network address; the address itself is not "
            "stored. Empty: not known",
        ),
        Column(
            "withdrawn_at",
            Kind.TIME,
            "when they took their texts and answers back, which are in no other table; empty: they did not",
        ),
    ),
)


def questionnaires_table(sets: Sequence[QuestionSet]) -> Table:
    """The table of what people say of themselves, with a column for each question of these sets."""
    return Table(
        "questionnaires",
        "One row for each time that somebody was asked questions about themselves, in the order of their "
        "answers. Those who skipped all of them have a row without answers.",
        (
            Column("number", Kind.INTEGER, "which time it was that they took part, from 1"),
            Column("moment", Kind.TEXT, "`before_work` or `after_work`"),
            *LABEL,
            *answers_to(sets),
        ),
    )
