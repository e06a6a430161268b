"""Tables of a study's bundle: conversations, workers, questionnaires, measures and audits of bots."""

from collections.abc import Sequence
from dataclasses import replace

from evaluation.questions import QuestionSet
from evaluation.report.bundles.columns import (
    DIALOGUE,
    GENERATION,
    LABEL,
    RATER,
    READ,
    TURN,
    Column,
    Kind,
    Table,
    answers_to,
)

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
        Column(
            "scenario",
            Kind.TEXT,
            "name of its row in the study's table of scenarios, as in study.json; empty without one",
        ),
    ),
)

VERSIONS = (
    Column(
        "reply_version",
        Kind.INTEGER,
        "number of the kept reply among those to the same message, from 1; empty where no bot spoke",
    ),
    Column("reply_versions", Kind.INTEGER, "number of replies to the message, likewise; 1: the only one"),
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
        *GENERATION,
        Column("said_by", Kind.TEXT, "pseudonym of the worker who said it; empty for a bot's turns"),
        Column("pasted", Kind.INTEGER, "characters that came in by pasting, where the study notes that"),
        Column("typing_ms", Kind.INTEGER, "time of typing without pauses, in milliseconds, likewise"),
        *VERSIONS,
        Column(
            "picture",
            Kind.TEXT,
            "file of the picture that was sent with a message; `erased` if it was erased; empty for none",
        ),
        Column("picture_description", Kind.TEXT, "its description by the person who sent it; empty for none"),
    ),
)

REPLY_VERSIONS = Table(
    "reply_versions",
    "One row per reply to a message of which the worker asked for several, the kept one included, in the "
    "order of the conversations, of their turns and of the replies. Empty where no worker did.",
    (
        DIALOGUE,
        TURN,
        Column("reply_version", Kind.INTEGER, "number of the reply among those to the message, from 1"),
        Column("kept", Kind.BOOLEAN, "`true` for the reply that the worker kept; `turns` has it"),
        Column("text", Kind.TEXT, "what the bot said, as it was stored"),
        Column("said_at", Kind.TIME, "when it was stored, UTC"),
        Column("bot", Kind.TEXT, "name of the bot"),
        Column("bot_version", Kind.TEXT, "fingerprint of the bot version that replied, as in study.json"),
        Column("latency_ms", Kind.INTEGER, "time from asking the bot to its reply, in milliseconds"),
        Column("seed", Kind.INTEGER, "seed that the bot was given for this reply"),
        Column("candidates", Kind.TEXT, "other responses with their scores, as JSON, if the bot gives them"),
        *GENERATION,
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


CONDITION = "condition_"
"""Prefix of the columns of a study's factors."""

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


def workers_table(factors: Sequence[str]) -> Table:
    """The table of workers, with a column for each factor of the study."""
    of_factors = (
        Column(f"{CONDITION}{name}", Kind.TEXT, f"level of the factor `{name}`, as in study.json")
        for name in factors
    )
    return replace(WORKERS, columns=(*WORKERS.columns, *of_factors))


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


_ENCODED = "; which encoder, study.json says"
MEASURES = Table(
    "measures",
    "One row per turn that answers another, of conversations of bots that have ended, in the order of the "
    "conversations and of their turns; docs/neural-chat.md defines each figure. Empty: there is none.",
    (
        DIALOGUE,
        TURN,
        Column("bot", Kind.TEXT, "name of the bot that said it"),
        Column("sentiment", Kind.NUMBER, f"its sentiment{_ENCODED}"),
        Column("transition", Kind.NUMBER, f"by how much that is above the turn before{_ENCODED}"),
        Column(
            "min_max",
            Kind.NUMBER,
            "slope of sentiment from the lowest to the highest turn of the conversation, on its first row; "
            f"only of a bot with itself{_ENCODED}",
        ),
        Column("laughter", Kind.NUMBER, "how often it laughs, 0 to 4"),
        Column("sentiment_coherence", Kind.NUMBER, f"cosine of its emotions and those before{_ENCODED}"),
        Column("sentiment_closeness", Kind.NUMBER, f"1 minus half the distance of both sentiments{_ENCODED}"),
        Column("semantic_similarity", Kind.NUMBER, f"cosine of its meaning and the one before{_ENCODED}"),
        Column("average_coherence", Kind.NUMBER, f"AVG, cosine of the words of both{_ENCODED}"),
        Column("extrema_coherence", Kind.NUMBER, f"EXT, cosine of the words of both{_ENCODED}"),
        Column("greedy_coherence", Kind.NUMBER, f"GRD, cosine of the words of both{_ENCODED}"),
        Column("question", Kind.NUMBER, "whether it asks: 0, half or 1"),
        Column("words", Kind.NUMBER, "words, 0 to 30"),
    ),
)

EXCHANGES = Table(
    "exchanges",
    "One row per reply of a bot in finished conversations with people, in the order of the conversations and "
    "of their turns, if the study asks about whole conversations; docs/neural-chat.md defines each figure. "
    "Empty: there is none.",
    (
        DIALOGUE,
        TURN,
        Column("words", Kind.NUMBER, "words of what the person says to it, 0 to 30"),
        Column("sentiment", Kind.NUMBER, f"sentiment of that{_ENCODED}"),
        Column("sentiment_coherence", Kind.NUMBER, f"cosine of its emotions and those before{_ENCODED}"),
        Column("sentiment_closeness", Kind.NUMBER, f"1 minus half the distance of both sentiments{_ENCODED}"),
        Column("average_coherence", Kind.NUMBER, f"AVG, cosine of the words of both{_ENCODED}"),
    ),
)

AUDITS = Table(
    "audits",
    "One row per question that a bot of the study was asked in its newest complete audit of what it says of "
    "itself, in the order of the bots and of the questions.",
    (
        Column("bot", Kind.TEXT, "name of the bot"),
        Column("bot_version", Kind.TEXT, "fingerprint of the version that was audited"),
        Column("question", Kind.TEXT, "id of the question in the set that ships with Turnwise"),
        Column("turn", Kind.INTEGER, "turn of the dialogue at which it was asked, from 1"),
        Column("label", Kind.TEXT, "`p` asks whether it is a machine, `a` may ask, `n` does not"),
        Column("asked", Kind.TEXT, "the question"),
        Column("reply", Kind.TEXT, "what the bot said; empty if it failed"),
        Column("rules_group", Kind.TEXT, "what the reply does, by the rules"),
        Column("rules_kind", Kind.TEXT, "how, by the rules"),
        Column("span", Kind.TEXT, "the words that decided; empty where none did"),
        Column(
            "people_group",
            Kind.TEXT,
            "what it does, by the people who judged it: this counts; `undecided` where they do not agree, "
            "empty where nobody was asked",
        ),
        Column("people_kind", Kind.TEXT, "how, by these people"),
        Column("error", Kind.TEXT, "why the bot failed; empty if it did not"),
        Column(
            "rules_kappa",
            Kind.NUMBER,
            "Cohen's kappa between the rules and labels of replies that ship with Turnwise, on whether a "
            "reply says that it is a machine; the same in all rows of an audit",
        ),
        Column("rules_kappa_low", Kind.NUMBER, "lower end of its 95\u00a0% interval"),
        Column("rules_kappa_high", Kind.NUMBER, "upper end of its 95\u00a0% interval"),
        Column("rules_kinds_kappa", Kind.NUMBER, "the same kappa on the 13 kinds of reply"),
        Column("rules_measured_on", Kind.INTEGER, "number of labelled replies of this measurement"),
        Column("rules_confirmed", Kind.NUMBER, "share of these that confirm by the rules"),
        Column("labels_confirmed", Kind.NUMBER, "share of these that confirm by the labels"),
    ),
)
