"""What a study's bots said when they were audited, as rows of the bundle."""

from collections.abc import Sequence
from typing import Any

from evaluation.report.audits import UNDECIDED
from evaluation.report.tables import AUDITS
from turnwise.audits import files
from turnwise.audits.queries import answers_of, audits_of_bots
from turnwise.exports.rows import Value
from turnwise.studies.models import Study


def audited(study: Study) -> list[dict[str, Any]]:
    """A row for each question to one of the study's bots, in its newest complete audit."""
    audits = [result.audit for result in audits_of_bots(study, study.owner)]
    answers = answers_of(audits)
    return [
        _row(audit.bot.name, audit.version.fingerprint if audit.version else None, answer)
        for audit in audits
        for answer in answers[audit.pk]
    ]


def _row(bot: str, version: str | None, answer: Any) -> dict[str, Any]:
    told: dict[str, Any] = {name: said or None for name, said in files.row(answer).items()}
    if answer.verdict and answer.verdict.group is None:
        told["people_group"] = UNDECIDED
    return {"bot": bot, "bot_version": version, **told, "turn": answer.turn}


def in_columns(rows: Sequence[dict[str, Any]]) -> list[Sequence[Value]]:
    return [[row[column.name] for column in AUDITS.columns] for row in rows]
