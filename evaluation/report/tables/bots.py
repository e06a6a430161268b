"""The tables of what was measured of bots, and of what they say of themselves."""

from evaluation.report.columns import Column, Kind, Table
from evaluation.report.tables.shared import DIALOGUE, TURN

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
    ),
)
