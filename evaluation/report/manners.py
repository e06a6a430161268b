"""From the rows of a bundle to how each worker went about the study."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any

from evaluation.report.signs import Manner

Row = Mapping[str, Any]


def manners_of(
    workers: Sequence[Row],
    conversations: Mapping[str, Row] | None = None,
    said: Mapping[str, Counter[str]] | None = None,
) -> dict[str, Manner]:
    """By worker, their manner.

    Args:
        workers: rows of the table `workers`.
        conversations: by their id, rows of the table `conversations`.
        said: by id of a conversation, how often its worker sent each text.
    """
    # Bundles of before addresses were told apart have no such column.
    addresses = Counter(row.get("address") for row in workers)
    own: dict[str, list[Row]] = {}
    for row in (conversations or {}).values():
        if row["ending"] == "complete" and row["bot"] and row["worker"]:
            own.setdefault(row["worker"], []).append(row)
    return {
        row["rater"]: _manner(
            own.get(row["rater"], []), said or {}, addresses[at] if (at := row.get("address")) else 0
        )
        for row in workers
    }


def _manner(own: Iterable[Row], said: Mapping[str, Counter[str]], at_address: int) -> Manner:
    took = [_time(row["ended_at"]) - _time(row["started_at"]) for row in own]
    texts: Counter[str] = sum((said[row["dialogue"]] for row in own), Counter())
    (text, repeated) = texts.most_common(1)[0] if texts else ("", 0)
    seconds = sum(each.total_seconds() for each in took) if took else None
    return Manner(texts.total(), repeated, text, seconds, at_address)


def _time(written: str) -> datetime:
    return datetime.fromisoformat(written)
