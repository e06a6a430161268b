"""Tables of a study's bundle: items, pairs and judgments, and the list of tables for each kind of study."""

from collections.abc import Mapping, Sequence
from typing import Any

from evaluation.questions import QuestionSet, Subject
from evaluation.report.bundles.columns import (
    DIALOGUE,
    GENERATION,
    ITEM,
    LABEL,
    READ,
    TURN,
    Column,
    Kind,
    Table,
    answers_to,
)
from evaluation.report.bundles.study_tables import (
    AUDITS,
    CONVERSATIONS,
    EXCHANGES,
    FAULTS,
    MATERIALS,
    MEASURES,
    REPLY_VERSIONS,
    TURNS,
    WORKERS,
    labels_table,
    questionnaires_table,
    workers_table,
)

_OF_BOT = "name of the bot of this platform that gave it; empty for people, files and whole conversations"
_GIVEN_AT = "when it was stored, UTC"
_OF_ASK = Column("ask", Kind.INTEGER, "number of what is asked about it, as in study.json")
ITEMS = Table(
    "items",
    "One row per thing that workers judge, and ask, judged or not, in the order in which they came in.",
    (
        ITEM,
        _OF_ASK,
        Column("system", Kind.TEXT, "name in the report of the system that said it"),
        Column(
            "context", Kind.INTEGER, "number of the context or conversation, the same for all items from it"
        ),
        Column("name", Kind.TEXT, "key of the context, or public id of the conversation"),
        Column("turn", Kind.INTEGER, "position of a turn in its conversation; empty for anything else"),
        Column("repetition", Kind.INTEGER, "which of the system's repeated runs it is from, from 1"),
        Column("language", Kind.TEXT, "code of the language"),
        Column("category", Kind.TEXT, "of a response or context, the context's category; empty without one"),
        Column(
            "context_turns",
            Kind.INTEGER,
            "of a response or a context, how many turns the context has; else empty",
        ),
        Column(
            "consistency",
            Kind.BOOLEAN,
            "of a response or a context, `true` if a response must agree with something said earlier in the "
            "context; else empty",
        ),
        Column("said_before", Kind.TEXT, "what was said before, oldest first, as a JSON list of texts"),
        Column(
            "text",
            Kind.TEXT,
            "what is judged; empty for a whole conversation or a context, which is in `said_before`",
        ),
        Column("bot_version", Kind.TEXT, "fingerprint of the bot version; empty for people and files"),
        Column("latency_ms", Kind.INTEGER, "time from asking the bot to its response, in milliseconds"),
        Column("seed", Kind.INTEGER, "seed that the bot was given for it"),
        Column("bot", Kind.TEXT, _OF_BOT),
        Column("given_at", Kind.TIME, _GIVEN_AT),
        *GENERATION,
    ),
)

_SIDES = ("first", "second")
_RESPONSE = (
    Column("response", Kind.INTEGER, "its number, the same in every pair with it; empty for conversations"),
    Column("bot", Kind.TEXT, _OF_BOT),
    Column("given_at", Kind.TIME, _GIVEN_AT),
    Column("latency_ms", Kind.INTEGER, "time from asking the bot to it, in milliseconds"),
    *GENERATION,
)


def of_side(side: str, row: Mapping[str, Any]) -> dict[str, Any]:
    """Columns of a row of `PAIRS` about the response of one side, by name without the side.

    Args:
        side: "first" or "second".
        row: of the table; absent columns of older bundles are None.
    """
    return {column.name: row.get(f"{side}_{column.name}") for column in _RESPONSE}


_OF_RESPONSES = tuple(
    Column(f"{side}_{column.name}", column.kind, f"of the response of the {side} side: {column.meaning}")
    for side in _SIDES
    for column in _RESPONSE
)
LATER_COLUMNS = {
    CONVERSATIONS.name: frozenset(("scenario",)),
    ITEMS.name: frozenset(("bot", "given_at")),
    "pairs": frozenset(
        (
            *(column.name for column in _OF_RESPONSES),
            *(f"{side}_{name}" for side in _SIDES for name in ("dialogue", "speaker")),
            "judged_turns",
        )
    ),
    "machine_labels": frozenset(("sides_swapped", "has_seen", "probabilities")),
}
"""By table, columns that older bundles lack."""
PAIRS = Table(
    "pairs",
    "One row per pair that workers judge, and ask, judged or not, in the order in which they came in.",
    (
        ITEM,
        _OF_ASK,
        *(
            Column(f"{side}_system", Kind.TEXT, f"what the report calls the system of the {side} side")
            for side in _SIDES
        ),
        Column(
            "context",
            Kind.INTEGER,
            "number of the context, the same for all pairs from it; of two conversations, of the first one",
        ),
        Column("name", Kind.TEXT, "key of the context; of two conversations, the public id of the first"),
        Column("language", Kind.TEXT, "code of the language"),
        Column(
            "said_before",
            Kind.TEXT,
            "what was said before, oldest first, as a JSON list of texts; empty list: whole conversations",
        ),
        *(
            Column(f"{side}_said", Kind.TEXT, f"the {side} side as a JSON list of texts, oldest first")
            for side in _SIDES
        ),
        *(
            Column(
                f"{side}_bot_version",
                Kind.TEXT,
                "fingerprint of the bot version of that response, if it is one",
            )
            for side in _SIDES
        ),
        *_OF_RESPONSES,
        *(
            Column(
                f"{side}_dialogue",
                Kind.TEXT,
                f"public id of the conversation of the {side} side; empty for responses",
            )
            for side in _SIDES
        ),
        *(
            Column(
                f"{side}_speaker",
                Kind.INTEGER,
                f"which of the texts of the {side} side are the system's: 0 for the first and every other "
                "one, 1 for the second and every other one; empty for responses, and where no speaker or "
                "both are bots",
            )
            for side in _SIDES
        ),
        Column(
            "judged_turns",
            Kind.INTEGER,
            "number of turns of each conversation, from the first, that are judged; empty: all, or responses",
        ),
    ),
)

CONVERSATION_REPLIES = Table(
    "conversation_replies",
    "One row per reply of a bot in the whole conversations that workers judge, alone or in pairs, each once, "
    "in the order of the conversations and of their turns; its text is in `said_before` or in the pair.",
    (
        DIALOGUE,
        TURN,
        Column("bot", Kind.TEXT, "name of the bot that gave it"),
        Column("bot_version", Kind.TEXT, "fingerprint of the bot version"),
        Column("given_at", Kind.TIME, _GIVEN_AT),
        Column("latency_ms", Kind.INTEGER, "time from asking the bot to it, in milliseconds"),
        Column("reply_versions", Kind.INTEGER, "number of replies to the same message, this one included"),
        *GENERATION,
    ),
)
"""Older bundles have no such table."""

ITEM_PICTURES = Table(
    "item_pictures",
    "One row per picture that workers saw in the conversations that they judge, whole, as turns or in pairs, "
    "each once, in the order of the conversations and of their turns.",
    (
        DIALOGUE,
        TURN,
        Column("picture", Kind.TEXT, "file of the picture in `pictures/`; `erased` if it was erased"),
        Column("picture_description", Kind.TEXT, "its description by the person who sent it; empty for none"),
    ),
)

ITEM_MATERIALS = Table(
    "item_materials",
    "One row per text that workers had beside an item: of those who talked, in the order of the items, of "
    "their conversations, seats and texts; of a response, the sentences of its context, without a "
    "conversation. What stood beside every item is in study.json.",
    (ITEM, *READ),
)

_IN_BATTERY = (
    Column("position", Kind.INTEGER, "of a battery, the position of the item in it, from 1; else empty"),
    Column("occasion", Kind.INTEGER, "2 if the same worker had judged the same item before; else 1"),
    Column("asks_reason", Kind.BOOLEAN, "`true` if the worker was asked for a reason there"),
)

_SHOWN_OTHERWISE = Column(
    "sides_swapped",
    Kind.BOOLEAN,
    "`true` if this worker saw the second side of the pair first; answers are "
    "about the sides as the worker saw them",
)


def judgments_table(sets: Sequence[QuestionSet]) -> Table:
    """The table of judgments, with a column for each question of these sets."""
    return Table(
        "judgments",
        "One row per judgment: a worker's answers about one item, in the order of their first answers.",
        (ITEM, *_IN_BATTERY, *LABEL, *answers_to(sets)),
    )


def pair_judgments_table(sets: Sequence[QuestionSet]) -> Table:
    """The table of judgments of pairs, with a column for each question of these sets."""
    return Table(
        "pair_judgments",
        "One row per judgment: a worker's answers about one pair, in the order of their first answers.",
        (ITEM, _SHOWN_OTHERWISE, *LABEL, *answers_to(sets)),
    )


_OF_JUDGE = (
    Column("run", Kind.INTEGER, "number of the judge's run, from 1, oldest first"),
    Column("judge", Kind.TEXT, "name of the bot that judged"),
    Column("judge_fingerprint", Kind.TEXT, "SHA-256 of its question set, instructions and number of answers"),
    Column("bot_version", Kind.TEXT, "fingerprint of the bot version that judged"),
    ITEM,
    Column(
        "sides_swapped",
        Kind.BOOLEAN,
        "`true` if the judge saw the second side of a pair first; answers about sides are as they were shown",
    ),
    Column("draw", Kind.INTEGER, "which of its answers about the item, from 1"),
    Column(
        "judgment",
        Kind.TEXT,
        "`answered`; `refused` by the model or its service; `outside` the choices; `failed` three "
        "times. Only the first has answers",
    ),
    Column("labelled_at", Kind.TIME, "when it was stored, UTC"),
    Column("ask", Kind.INTEGER, "number of the ask, as in study.json"),
    Column("question_set", Kind.TEXT, "key of the answered question set"),
    Column(
        "has_seen",
        Kind.BOOLEAN,
        "`true` if the prompt had the right answers about the item, as a worked example; such labels are not "
        "compared with those of people",
    ),
    Column(
        "probabilities",
        Kind.TEXT,
        "probability of each choice in the order of the question set, as a JSON object of lists by question "
        "key; null in a list where it is unknown, empty if the judge gave none",
    ),
)


def machine_labels_table(sets: Sequence[QuestionSet]) -> Table:
    """The table of machine judges' labels, with a column for each question of these sets."""
    return Table(
        "machine_labels",
        "One row per label of a machine judge, of complete runs. No person gave it: the figures about people "
        "do not count it, and `assisted` in report.json compares both.",
        (*_OF_JUDGE, *answers_to(sets)),
    )


DRAWN_ITEMS = Table(
    "drawn_items",
    "One row per draw of items for people and item, oldest first. Only drawn items were given to people, and "
    "the report weighs each by 1 / its probability.",
    (
        ITEM,
        Column("ask", Kind.INTEGER, "number of the ask, as in study.json"),
        Column("draw", Kind.INTEGER, "number of the draw of this ask, from 1"),
        Column("drawn_at", Kind.TIME, "when it was made, UTC"),
        Column("judge", Kind.TEXT, "name of the machine judge whose uncertainty decided"),
        Column("judge_fingerprint", Kind.TEXT, "fingerprint of its template"),
        Column("known_by", Kind.TEXT, "what its uncertainty is known by: `answers` or `errors`"),
        Column("stratum", Kind.TEXT, "system within which the item was drawn; empty: all systems together"),
        Column("uncertainty", Kind.NUMBER, "expected size of the judge's error, on a scale from 0 to 1"),
        Column("probability", Kind.NUMBER, "of being drawn by this draw or an earlier one"),
        Column("drawn", Kind.BOOLEAN, "`true` if it was drawn by this draw or an earlier one"),
        Column("begun_before", Kind.BOOLEAN, "`true` if people had begun it before the first draw"),
        Column("even_share", Kind.NUMBER, "share of the draw that is even, in (0, 1]"),
        Column("seed", Kind.INTEGER, "seed of the draw"),
    ),
)
_DECISION = (
    ITEM,
    Column("decision", Kind.INTEGER, "number of the entry about this item, from 1, oldest first"),
    Column(
        "in_force", Kind.BOOLEAN, "`true` for the newest entry about the item, unless it undoes a decision"
    ),
    Column(
        "decided_questions",
        Kind.TEXT,
        "questions that were decided, by key as a JSON list; empty: the entry undoes the one before",
    ),
    Column(
        "decided_by",
        Kind.TEXT,
        "`researcher`, or `adjudicator` with a number for each invited adjudicator of the study",
    ),
    Column("decided_at", Kind.TIME, "when it was stored, UTC"),
    Column("decision_reason", Kind.TEXT, "the reason in the adjudicator's words; empty if it undoes one"),
    Column("ask", Kind.INTEGER, "number of the ask, as in study.json"),
    Column("question_set", Kind.TEXT, "key of the question set of the item"),
)


def adjudications_table(sets: Sequence[QuestionSet]) -> Table:
    """The table of adjudicators' decisions, with a column for each question of these sets."""
    return Table(
        "adjudications",
        "One row per decision of an adjudicator about an item on which raters differ, or undoing of one, in "
        "the order of the items and of their decisions. Judgments of raters stay as they are.",
        (*_DECISION, *answers_to(sets)),
    )


__all__ = [
    "AUDITS",
    "CONVERSATIONS",
    "CONVERSATION_REPLIES",
    "DRAWN_ITEMS",
    "EXCHANGES",
    "FAULTS",
    "ITEMS",
    "ITEM_MATERIALS",
    "ITEM_PICTURES",
    "MATERIALS",
    "MEASURES",
    "PAIRS",
    "REPLY_VERSIONS",
    "TURNS",
    "WORKERS",
    "adjudications_table",
    "judgments_table",
    "labels_table",
    "machine_labels_table",
    "pair_judgments_table",
    "pair_tables",
    "questionnaires_table",
    "tables",
    "workers_table",
]


def pair_tables(sets: Sequence[QuestionSet]) -> tuple[Table, ...]:
    """All tables of a study in which these question sets were answered about pairs."""
    return PAIRS, pair_judgments_table(sets), CONVERSATION_REPLIES, ITEM_MATERIALS, ITEM_PICTURES, WORKERS


def tables(sets: Sequence[QuestionSet], *, judging: bool = False) -> tuple[Table, ...]:
    """All tables of a study in which these question sets were answered, by judging or by talking."""
    if judging:
        return ITEMS, judgments_table(sets), CONVERSATION_REPLIES, ITEM_MATERIALS, ITEM_PICTURES, WORKERS
    measured = (EXCHANGES,) if any(Subject.DIALOGUE in each.subjects for each in sets) else ()
    return CONVERSATIONS, TURNS, REPLY_VERSIONS, labels_table(sets), *measured, MATERIALS, FAULTS, WORKERS
