"""The tables of a study's bundle: what each column is, for its files and for their dictionary."""

from collections.abc import Sequence

from evaluation.questions import QuestionSet, Subject
from evaluation.report.columns import Column, Kind, Table, answers_to

_DIALOGUE = Column("dialogue", Kind.TEXT, "public id of the conversation")
_TURN = Column("turn", Kind.INTEGER, "position in the conversation from 0 up, the opening included")
_JUDGED_TURN = Column(
    "turn",
    Kind.INTEGER,
    "position of the turn that it is about, from 0 up, the opening included; empty: the whole conversation",
)
_ITEM = Column("item", Kind.TEXT, "name of the item, a random one")
_REMARKS = Column(
    "remarks", Kind.TEXT, "what the bot's filters or service remarked on it, as a JSON list of texts"
)
_RATER = "pseudonym of the worker, in this study alone"

CONVERSATIONS = Table(
    "conversations",
    "One row per conversation, finished or not, in the order in which they were begun.",
    (
        Column("number", Kind.INTEGER, "1 for the conversation that was begun first, and so on"),
        _DIALOGUE,
        Column(
            "bot",
            Kind.TEXT,
            "name of the bot; where two talk with each other, the names of both with a space between",
        ),
        Column(
            "worker",
            Kind.TEXT,
            f"{_RATER}; where two people talk with each other, of both with a space between, who spoke first "
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
        Column("question_set", Kind.TEXT, "key of the questions that its worker answers"),
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
        _DIALOGUE,
        _TURN,
        Column("speaker", Kind.TEXT, "`bot` or `worker`; a scripted opening belongs to whoever opens"),
        Column("text", Kind.TEXT, "what was said, as it was stored"),
        Column("said_at", Kind.TIME, "when it was stored, UTC"),
        Column("bot", Kind.TEXT, "name of the bot that replied; empty for other turns"),
        Column("bot_version", Kind.TEXT, "fingerprint of the bot version that replied, as in study.json"),
        Column("latency_ms", Kind.INTEGER, "time from asking the bot to its reply, in milliseconds"),
        Column("seed", Kind.INTEGER, "seed that the bot was given for this reply"),
        Column("candidates", Kind.TEXT, "other responses with their scores, as JSON, if the bot gives them"),
        _REMARKS,
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

_READ = (
    _DIALOGUE,
    Column("seat", Kind.INTEGER, "whose it was: 0 speaks first in the conversation, 1 answers"),
    Column("number", Kind.INTEGER, "which of the texts that they had to read it is, from 1"),
    Column("key", Kind.TEXT, "its short name, such as `FS1`"),
    Column("title", Kind.TEXT, "the name under which they knew it"),
    Column("heading", Kind.TEXT, "what it is about, where its title does not say so"),
    Column("text", Kind.TEXT, "what there was to read"),
    Column("points", Kind.TEXT, "single facts after the text, as a JSON list of texts"),
    Column("variant", Kind.TEXT, "which version of a text that has several: `shortened` or `summarized`"),
)
MATERIALS = Table(
    "materials",
    "One row per text that somebody had to read beside a conversation, in the order of the conversations, of "
    "their seats and of the texts.",
    _READ,
)

ITEM_MATERIALS = Table(
    "item_materials",
    "One row per text that workers had beside an item: of those who talked, in the order of the items, of "
    "their conversations, seats and texts; of a response, the sentences of its context, without a "
    "conversation. What stood beside every item is in study.json.",
    (_ITEM, *_READ),
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

FAULTS = Table(
    "faults",
    "One row per reply that a bot failed to give, in the order of the conversations and of time.",
    (
        _DIALOGUE,
        Column("turn", Kind.INTEGER, "position at which the reply was due"),
        Column("kind", Kind.TEXT, "what went wrong"),
        Column("at", Kind.TIME, "when, UTC"),
    ),
)

WORKERS = Table(
    "workers",
    "One row per worker who agreed to take part, however often they did, in that order.",
    (
        Column("rater", Kind.TEXT, _RATER),
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

_OF_ASK = Column("ask", Kind.INTEGER, "number of what is asked about it, as in study.json")
ITEMS = Table(
    "items",
    "One row per thing that workers judge, and ask, judged or not, in the order in which they came in.",
    (
        _ITEM,
        _OF_ASK,
        Column("system", Kind.TEXT, "what the report calls whose words it is about"),
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
        _REMARKS,
        Column(
            "fallback",
            Kind.BOOLEAN,
            "`true` if it is a filter's prepared sentence in place of what the bot had to say; "
            "empty for people, files and whole conversations",
        ),
    ),
)

_SIDES = ("first", "second")
PAIRS = Table(
    "pairs",
    "One row per pair that workers judge, and ask, judged or not, in the order in which they came in.",
    (
        _ITEM,
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
    ),
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

_ENCODED = "; which encoder, study.json says"
MEASURES = Table(
    "measures",
    "One row per turn that answers another, of conversations of bots that have ended, in the order of the "
    "conversations and of their turns; docs/neural-chat.md defines each figure. Empty: there is none.",
    (
        _DIALOGUE,
        _TURN,
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
        _DIALOGUE,
        _TURN,
        Column("words", Kind.NUMBER, "words of what the person says to it, 0 to 30"),
        Column("sentiment", Kind.NUMBER, f"sentiment of that{_ENCODED}"),
        Column("sentiment_coherence", Kind.NUMBER, f"cosine of its emotions and those before{_ENCODED}"),
        Column("sentiment_closeness", Kind.NUMBER, f"1 minus half the distance of both sentiments{_ENCODED}"),
        Column("average_coherence", Kind.NUMBER, f"AVG, cosine of the words of both{_ENCODED}"),
    ),
)

_LABEL = (
    Column("rater", Kind.TEXT, _RATER),
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
        (_DIALOGUE, _JUDGED_TURN, *_LABEL, _JUDGED_IN, *answers_to(sets)),
    )


def judgments_table(sets: Sequence[QuestionSet]) -> Table:
    """The table of judgments, with a column for each question of these sets."""
    return Table(
        "judgments",
        "One row per judgment: a worker's answers about one item, in the order of their first answers.",
        (_ITEM, *_IN_BATTERY, *_LABEL, *answers_to(sets)),
    )


def pair_judgments_table(sets: Sequence[QuestionSet]) -> Table:
    """The table of judgments of pairs, with a column for each question of these sets."""
    return Table(
        "pair_judgments",
        "One row per judgment: a worker's answers about one pair, in the order of their first answers.",
        (_ITEM, _SHOWN_OTHERWISE, *_LABEL, *answers_to(sets)),
    )


def questionnaires_table(sets: Sequence[QuestionSet]) -> Table:
    """The table of what people say of themselves, with a column for each question of these sets."""
    return Table(
        "questionnaires",
        "One row for each time that somebody was asked questions about themselves, in the order of their "
        "answers. Those who skipped all of them have a row without answers.",
        (
            Column("number", Kind.INTEGER, "which time it was that they took part, from 1"),
            Column("moment", Kind.TEXT, "`before_work` or `after_work`"),
            *_LABEL,
            *answers_to(sets),
        ),
    )


def pair_tables(sets: Sequence[QuestionSet]) -> tuple[Table, ...]:
    """All tables of a study in which these question sets were answered about pairs."""
    return PAIRS, pair_judgments_table(sets), ITEM_MATERIALS, WORKERS


def tables(sets: Sequence[QuestionSet], *, judging: bool = False) -> tuple[Table, ...]:
    """All tables of a study in which these question sets were answered, by judging or by talking."""
    if judging:
        return ITEMS, judgments_table(sets), ITEM_MATERIALS, WORKERS
    measured = (EXCHANGES,) if any(Subject.DIALOGUE in each.subjects for each in sets) else ()
    return CONVERSATIONS, TURNS, labels_table(sets), *measured, MATERIALS, FAULTS, WORKERS
