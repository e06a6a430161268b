"""The tables of conversations."""

from collections.abc import Sequence

from evaluation.questions import QuestionSet
from evaluation.report.columns import Column, Kind, Table, answers_to
from evaluation.report.tables.shared import DIALOGUE, LABEL, RATER, READ, REMARKS, TURN

CONVERSATIONS = Table(
    "conversations",
    "One row per conversation, finished or not, in the order in which they were begun.",
    (
        Column("number", Kind.INTEGER, "1 for the conversation that was begun first, and so on"),
        DIALOGUE,
        Column(
            "bot",
            Kind.TEXT,
            "name of the bot; where two talk with each other, the names of both with a space between",
        ),
        Column(
            "worker",
            Kind.TEXT,
            f"{RATER}; where two people talk with each other, of both with a space between, who spoke first "
            "first",
        ),
        Column("started_at", Kind.TIME, "when it was begun, UTC"),
        Column("ended_at", Kind.TIME, "when it ended, UTC; empty while it is open"),
        Column(
            "ending",
            Kind.TEXT,
            "`complete`; `bot_failed` if it ended because the bot could not answer; `partner_left` if one of "
            "two people left; empty while it is open. The report scores complete ones only",
        ),
        Column(
            "opening_turns", Kind.INTEGER, "1 if turn 0 is a scripted opening, which does not count; else 0"
        ),
        Column("min_turns", Kind.INTEGER, "turns that it needs, the opening not counted"),
        Column("max_turns", Kind.INTEGER, "turns that it may have, the opening not counted"),
        Column("turns", Kind.INTEGER, "turns that it has, the opening included"),
    ),
)

TURNS = Table(
    "turns",
    "One row per turn, in the order of the conversations and of their turns.",
    (
        DIALOGUE,
        TURN,
        Column("speaker", Kind.TEXT, "`bot` or `worker`; a scripted opening belongs to whoever opens"),
        Column("text", Kind.TEXT, "what was said, as it was stored"),
        Column("said_at", Kind.TIME, "when it was stored, UTC"),
        Column("bot", Kind.TEXT, "name of the bot that replied; empty for other turns"),
        Column("bot_version", Kind.TEXT, "fingerprint of the bot version that replied, as in study.json"),
        Column("latency_ms", Kind.INTEGER, "time from asking the bot to its reply, in milliseconds"),
        Column("seed", Kind.INTEGER, "seed that the bot was given for this reply"),
        Column("candidates", Kind.TEXT, "other responses with their scores, as JSON, if the bot gives them"),
        REMARKS,
        Column(
            "fallback",
            Kind.BOOLEAN,
            "`true` if the reply is a filter's prepared sentence in place of what the bot had to say; "
            "empty for other turns",
        ),
        Column("said_by", Kind.TEXT, "pseudonym of the worker who said it; empty for a bot's turns"),
        Column("pasted", Kind.INTEGER, "characters that came in by pasting, where the study notes that"),
        Column("typing_ms", Kind.INTEGER, "time of typing without pauses, in milliseconds, likewise"),
    ),
)

MATERIALS = Table(
    "materials",
    "One row per text that somebody had to read beside a conversation, in the order of the conversations, of "
    "their seats and of the texts.",
    READ,
)

FAULTS = Table(
    "faults",
    "One row per reply that a bot failed to give, in the order of the conversations and of time.",
    (
        DIALOGUE,
        Column("turn", Kind.INTEGER, "position at which the reply was due"),
        Column("kind", Kind.TEXT, "what went wrong"),
        Column("at", Kind.TIME, "when, UTC"),
    ),
)

_JUDGED_TURN = Column(
    "turn",
    Kind.INTEGER,
    "position of the turn that it is about, from 0 up, the opening included; empty: the whole conversation",
)
_JUDGED_IN = Column(
    "judged_in",
    Kind.TEXT,
    "code of the study in which a reader gave it; its report has it, this one counts those of the workers "
    "who talked; empty: theirs",
)


def labels_table(sets: Sequence[QuestionSet]) -> Table:
    """The table of labels, with a column for each question of these sets."""
    return Table(
        "labels",
        "One row per label: a worker's answers about one turn or a whole conversation, in their order.",
        (DIALOGUE, _JUDGED_TURN, *LABEL, _JUDGED_IN, *answers_to(sets)),
    )
