"""Rows of a bundle's table of audits."""

from collections.abc import Sequence
from typing import Any

from evaluation.report.bundles.self_descriptions import UNDECIDED
from evaluation.report.bundles.tables import AUDITS
from turnwise.audits import verdicts
from turnwise.audits.queries import answers_of, audits_of_bots
from turnwise.exports.rows import Value
from turnwise.studies.models import Study


def audit_rows(study: Study) -> list[dict[str, Any]]:
    """A row for each question that the newest complete audit asked one of the study's bots."""
    audits = [result.audit for result in audits_of_bots(study, study.owner)]
    answers = answers_of(audits)
    return [
        {**_row(audit.bot.name, audit.version.fingerprint if audit.version else None, answer), **accuracy}
        for audit in audits
        for accuracy in [verdicts.accuracy_row(audit)]
        for answer in answers[audit.pk]
    ]


def _row(bot: str, version: str | None, answer: Any) -> dict[str, Any]:
    text_columns: dict[str, Any] = {name: text or None for name, text in verdicts.reply_row(answer).items()}
    if answer.verdict and answer.verdict.group is None:
        text_columns["people_group"] = UNDECIDED
    return {"bot": bot, "bot_version": version, **text_columns, "turn": answer.turn}


def to_columns(rows: Sequence[dict[str, Any]]) -> list[Sequence[Value]]:
    return [[row[column.name] for column in AUDITS.columns] for row in rows]
