"""The tables of a study's bundle: what each column is, for its files and for their dictionary."""

from collections.abc import Sequence

from evaluation.questions import QuestionSet, Subject
from evaluation.report.columns import Table
from evaluation.report.tables.bots import AUDITS, EXCHANGES, MEASURES
from evaluation.report.tables.items import ITEM_MATERIALS, ITEMS, PAIRS, judgments_table, pair_judgments_table
from evaluation.report.tables.people import WORKERS, questionnaires_table
from evaluation.report.tables.talks import CONVERSATIONS, FAULTS, MATERIALS, TURNS, labels_table

__all__ = [
    "AUDITS",
    "CONVERSATIONS",
    "EXCHANGES",
    "FAULTS",
    "ITEMS",
    "ITEM_MATERIALS",
    "MATERIALS",
    "MEASURES",
    "PAIRS",
    "TURNS",
    "WORKERS",
    "judgments_table",
    "labels_table",
    "pair_judgments_table",
    "pair_tables",
    "questionnaires_table",
    "tables",
]


def pair_tables(sets: Sequence[QuestionSet]) -> tuple[Table, ...]:
    """All tables of a study in which these question sets were answered about pairs."""
    return PAIRS, pair_judgments_table(sets), ITEM_MATERIALS, WORKERS


def tables(sets: Sequence[QuestionSet], *, judging: bool = False) -> tuple[Table, ...]:
    """All tables of a study in which these question sets were answered, by judging or by talking."""
    if judging:
        return ITEMS, judgments_table(sets), ITEM_MATERIALS, WORKERS
    measured = (EXCHANGES,) if any(Subject.DIALOGUE in each.subjects for each in sets) else ()
    return CONVERSATIONS, TURNS, labels_table(sets), *measured, MATERIALS, FAULTS, WORKERS
