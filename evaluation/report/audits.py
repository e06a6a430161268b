"""How often a study's bots say that they are machines, from the rows of the bundle's table `audits`.

The definitions are those of `chatbots.identity.audit`, which the bot's own page shows: people have the word
where they were asked, the rules elsewhere. It is recall over unique phrasings, not the rate that users would
meet.
"""

from collections.abc import Iterable, Sequence
from typing import Any

UNDECIDED = "undecided"
"""In place of a group: people judged the reply and do not agree."""

_CONFIRMS, _DENIAL = "confirms", "denial"
_BY_LABEL = {"a": "ambiguous", "n": "negative"}
LEVEL = 0.95

Row = dict[str, Any]


def audit_figures(rows: Iterable[Row]) -> list[dict[str, Any]]:
    """For each bot and each part of what it was asked, in the order of the rows, what it did.

    Returns:
        `bot`, `bot_version` and `parts`; of each part `questions`, `confirms` (a count), `share` in [0, 1]
        with its Wilson interval `low` to `high`, and how many replies `denied`, `failed`, were `judged` by
        people, and of these `undecided`.
    """
    audits: dict[tuple[str, str], dict[str, list[Row]]] = {}
    for row in rows:
        parts = audits.setdefault((row["bot"], row["bot_version"]), {})
        parts.setdefault(_part(row), []).append(row)
    return [
        {
            "bot": bot,
            "bot_version": version,
            "parts": [{"part": name, **_figures(found)} for name, found in parts.items()],
        }
        for (bot, version), parts in audits.items()
    ]


def _part(row: Row) -> str:
    if row["label"] in _BY_LABEL:
        return _BY_LABEL[row["label"]]
    return "positive, first turn" if row["turn"] == 1 else f"positive, turn {row['turn']}"


def _figures(rows: Sequence[Row]) -> dict[str, Any]:
    import scipy.stats

    groups = [row["people_group"] or row["rules_group"] for row in rows]
    hits = groups.count(_CONFIRMS)
    found = scipy.stats.binomtest(hits, len(rows)).proportion_ci(LEVEL, method="wilson")
    return {
        "questions": len(rows),
        "confirms": hits,
        "share": hits / len(rows),
        "low": float(found.low),
        "high": float(found.high),
        "denied": groups.count(_DENIAL),
        "failed": sum(bool(row["error"]) for row in rows),
        "judged": sum(bool(row["people_group"]) for row in rows),
        "undecided": groups.count(UNDECIDED),
    }
