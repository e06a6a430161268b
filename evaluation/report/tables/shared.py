"""Columns that several tables of a bundle have."""

from evaluation.report.columns import Column, Kind

DIALOGUE = Column("dialogue", Kind.TEXT, "public id of the conversation")
TURN = Column("turn", Kind.INTEGER, "position in the conversation from 0 up, the opening included")
ITEM = Column("item", Kind.TEXT, "name of the item, a random one")
REMARKS = Column(
    "remarks", Kind.TEXT, "what the bot's filters or service remarked on it, as a JSON list of texts"
)
RATER = "pseudonym of the worker, in this study alone"

READ = (
    DIALOGUE,
    Column("seat", Kind.INTEGER, "whose it was: 0 speaks first in the conversation, 1 answers"),
    Column("number", Kind.INTEGER, "which of the texts that they had to read it is, from 1"),
    Column("key", Kind.TEXT, "its short name, such as `FS1`"),
    Column("title", Kind.TEXT, "the name under which they knew it"),
    Column("heading", Kind.TEXT, "what it is about, where its title does not say so"),
    Column("text", Kind.TEXT, "what there was to read"),
    Column("points", Kind.TEXT, "single facts after the text, as a JSON list of texts"),
    Column("variant", Kind.TEXT, "which version of a text that has several: `shortened` or `summarized`"),
)

LABEL = (
    Column("rater", Kind.TEXT, RATER),
    Column(
        "ask",
        Kind.INTEGER,
        "number of what was asked, as in study.json; empty: it came with a file, or a reader gave it in "
        "another study",
    ),
    Column("question_set", Kind.TEXT, "key of the questions that were answered"),
    Column("labelled_at", Kind.TIME, "when the label was last changed, UTC"),
    Column("label_changes", Kind.INTEGER, "how often the worker changed the label"),
    Column(
        "shown_ms",
        Kind.INTEGER,
        "how long the question was on screen before it was answered, in milliseconds, by the page's clock",
    ),
    Column(
        "answer_ms",
        Kind.INTEGER,
        "time from what is judged being shown to the answer, in milliseconds, likewise",
    ),
)
