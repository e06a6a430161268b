"""Conversion of the bundle rows of a study of conversations to the input of its report."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from evaluation.files.reading import FileError
from evaluation.protocols.facts import HUMAN, Talks
from evaluation.questions import Question, QuestionSet
from evaluation.report.answers import (
    WHOLE,
    AskData,
    answer_times,
    check_labels,
    coded_columns,
    label_days,
    text_columns,
)
from evaluation.report.bundles.columns import answered_in
from evaluation.report.bundles.files import BundleFiles, Row, design_of, lines_named, plan_of, questions_of
from evaluation.report.bundles.study_tables import CONDITION
from evaluation.report.bundles.tables import (
    CONVERSATIONS,
    EXCHANGES,
    FAULTS,
    REPLY_VERSIONS,
    TURNS,
    labels_table,
    workers_table,
)
from evaluation.report.conditions import Conditions
from evaluation.report.conduct import manners_of
from evaluation.report.label_columns import Judged
from evaluation.report.stopping import StoppingRule
from evaluation.report.studies.conversations import ExchangeMeasures, StudyData
from evaluation.report.studies.course import READ_FOR_REPETITION, Course
from evaluation.report.studies.replies import Price, ReplyFacts, facts_of, prices_of
from evaluation.texts.cleaning import WITHDRAWN
from evaluation.texts.greetings import GreetingTurn, greeting_replies, only_greets


@dataclass(frozen=True, slots=True)
class _Transcripts:
    """The conversations of a bundle by id, their texts and their replies."""

    conversations: Mapping[str, Row]
    replies: Mapping[tuple[str, int], tuple[str, float]]  # bot and latency of each reply
    texts: Mapping[str, list[tuple[str, str]]]  # by conversation, (bot or PEOPLE, text) of each turn
    read: Mapping[str, list[str]]  # by bot, the conversations in which repetition is counted
    spacing: Mapping[str, int]  # turns from reply to reply: 1 if both speakers are judged, else 2
    facts: Mapping[str, Sequence[ReplyFacts]]  # by bot, of each of its replies
    names: Mapping[str, str]  # name of each bot in the report
    messages: Mapping[str, Counter[str]]  # by conversation, the worker's messages with their counts
    speakers: Mapping[tuple[str, int], str]  # in conversations of two people, the speaker of each turn
    greetings: Sequence[tuple[str, int]]  # turns that only greet or say goodbye


PEOPLE = ""
"""Stands for the bot in conversations of two people."""


def read_study_data(bundle: BundleFiles, about: Row) -> StudyData:
    """Read everything that the study's report depends on; `about` is the content of study.json."""
    transcripts = _read_transcripts(bundle, {bot["bot"]: bot["shown_as"] for bot in about["bots"]})
    question_sets = {ask["question_set"]: questions_of(bundle, ask["question_set"]) for ask in about["asks"]}
    labels = list(bundle.rows(labels_table(list(question_sets.values()))))
    _refuse_strays(bundle, about, labels, transcripts)
    named = answered_in(list(question_sets.values()))
    asks = [
        _ask(
            bundle,
            ask,
            question_sets[ask["question_set"]],
            transcripts,
            with_question_keys(labels, named[ask["question_set"]]),
        )
        for ask in about["asks"]
    ]
    courses = _courses(transcripts, bundle.rows(FAULTS), prices_of(about))
    conduct = _conduct(about, courses, asks[0].judged, _unlabelled(transcripts, labels))
    factors = about["protocol"].get("factors") or []  # older bundles have none
    workers = list(bundle.rows(workers_table([factor["name"] for factor in factors])))
    manners = (
        None if about["rehearsal"] else manners_of(workers, transcripts.conversations, transcripts.messages)
    )
    # Older bundles have no facets.
    facets = {bot["shown_as"]: bot.get("facets") or {} for bot in about["bots"]}
    exchanged = _exchanged(bundle, about, transcripts)
    plan, design = plan_of(bundle, about), design_of(bundle, about)
    scenarios = {  # older bundles have none
        row["number"]: row["scenario"]
        for row in transcripts.conversations.values()
        if row.get("scenario") is not None
    }
    declared = about.get("stopping")  # older bundles have none
    stopping = StoppingRule.from_json(declared) if declared else None
    greetings = greeting_replies(_greetings(transcripts))
    conditions = Conditions.declared(factors, {row["rater"]: _condition(row, factors) for row in workers})
    return StudyData(
        asks, courses, plan, conduct, manners, facets, exchanged, design, scenarios, stopping, greetings,
        conditions,
    )  # fmt: skip


def _condition(worker: Row, factors: Sequence[Row]) -> dict[str, str]:
    """Level of each factor of a worker; without those that are empty."""
    levels = {factor["name"]: worker[f"{CONDITION}{factor['name']}"] for factor in factors}
    return {name: level for name, level in levels.items() if level is not None}


def _greetings(transcripts: _Transcripts) -> Iterator[GreetingTurn]:
    for dialogue, position in transcripts.greetings:
        conversation = transcripts.conversations[dialogue]
        yield GreetingTurn(
            conversation["number"],
            position,
            conversation["opening_turns"],
            transcripts.spacing[dialogue],
            (dialogue, position) in transcripts.replies,
            (dialogue, position + 1) in transcripts.replies,
        )


def _exchanged(bundle: BundleFiles, about: Row, transcripts: _Transcripts) -> ExchangeMeasures | None:
    """Measures of each reply; None for older bundles."""
    if "measured_by" not in about:
        return None
    begun = {key: (row["number"], row["opening_turns"]) for key, row in transcripts.conversations.items()}
    return ExchangeMeasures.of(bundle.rows(EXCHANGES), begun, about["measured_by"])


def _read_transcripts(bundle: BundleFiles, names: Mapping[str, str]) -> _Transcripts:
    conversations = {row["dialogue"]: row for row in bundle.rows(CONVERSATIONS)}
    read = _first_finished(conversations.values())
    texts: dict[str, list[tuple[str, str]]] = {each: [] for keys in read.values() for each in keys}
    replies: dict[tuple[str, int], tuple[str, float]] = {}
    facts: dict[str, list[ReplyFacts]] = {}
    messages = {each: Counter[str]() for each in conversations}
    speakers: dict[tuple[str, int], str] = {}
    greetings: list[tuple[str, int]] = []
    of_people = {key for key, row in conversations.items() if PEOPLE in _bots_of(row)}
    for row in bundle.rows(TURNS):
        dialogue, position = row["dialogue"], row["turn"]
        if row["bot_version"] is not None:
            latency = row["latency_ms"]
            replies[dialogue, position] = (row["bot"], float("nan") if latency is None else float(latency))
        if dialogue in of_people:
            speakers[dialogue, position] = row["said_by"]
        if row["speaker"] == "worker" and position >= conversations[dialogue]["opening_turns"]:
            messages[dialogue][row["text"]] += 1
        greetings += [(dialogue, position)] if only_greets(row["text"]) else []
        is_counted = position >= conversations[dialogue]["opening_turns"] and row["text"] != WITHDRAWN
        if dialogue in texts and is_counted:
            texts[dialogue].append((_spoken_by(row, conversations[dialogue]), row["text"]))
        if row["bot_version"] is not None and row.get("outcome"):  # older bundles have no outcomes
            is_scored = conversations[dialogue]["ending"] == "complete"
            facts.setdefault(row["bot"], []).append(facts_of(row, row["said_at"], is_scored=is_scored))
    for row in bundle.rows(REPLY_VERSIONS) if bundle.has(REPLY_VERSIONS) else ():  # older bundles have none
        if not row["kept"]:
            facts.setdefault(row["bot"], []).append(facts_of(row, row["said_at"], is_scored=False))
    spacing = _reply_spacing(conversations, replies)
    if of_people:
        names = {**names, PEOPLE: HUMAN}
    return _Transcripts(
        conversations, replies, texts, read, spacing, facts, names, messages, speakers, greetings
    )


def _bots_of(conversation: Row) -> list[str]:
    """The bots of a conversation; PEOPLE if two workers talk."""
    bots = (conversation["bot"] or "").split()
    return bots or ([PEOPLE] if len(_workers_of(conversation)) > 1 else [])


def _workers_of(conversation: Row) -> list[str]:
    """The workers of a conversation; the first speaker comes first."""
    return (conversation["worker"] or "").split()


def _spoken_by(turn: Row, conversation: Row) -> str:
    """The bot that said a turn; PEOPLE for a worker's turn."""
    if turn["speaker"] != "bot":
        return PEOPLE
    return turn["bot"] or _bots_of(conversation)[0]


def _first_finished(conversations: Iterable[Row]) -> dict[str, list[str]]:
    """By bot, the first finished conversations, in which repetition is counted."""
    read: dict[str, list[str]] = {}
    for row in conversations:
        for bot in _bots_of(row) if row["ending"] == "complete" else ():
            if len(read.setdefault(bot, [])) < READ_FOR_REPETITION:
                read[bot].append(row["dialogue"])
    return read


def _reply_spacing(conversations: Mapping[str, Row], replies: Iterable[tuple[str, int]]) -> dict[str, int]:
    counted = Counter(
        dialogue for dialogue, position in replies if position >= conversations[dialogue]["opening_turns"]
    )
    return {
        dialogue: 1
        if not counted[dialogue] or 2 * counted[dialogue] > row["turns"] - row["opening_turns"] + 1
        else 2
        for dialogue, row in conversations.items()
    }


def _ask(
    bundle: BundleFiles, ask: Row, questions: QuestionSet, transcripts: _Transcripts, labels: Sequence[Row]
) -> AskData:
    lines = [n for n, row in enumerate(labels, 1) if _is_counted(row, ask, transcripts)]
    with lines_named(f"{bundle.path}, data/labels.jsonl", lines):
        judged = _columns(questions, transcripts, [labels[line - 1] for line in lines])
        check_labels(questions, judged)
    return AskData(ask["about"], ask["required"], questions, judged)


def with_question_keys(labels: Sequence[Row], columns: Mapping[str, Question]) -> list[Row]:
    """Add the answers of labels under their question's key, in addition to their column's name."""
    return [row | {question.key: row[name] for name, question in columns.items()} for row in labels]


def _columns(questions: QuestionSet, transcripts: _Transcripts, counted: Sequence[Row]) -> Judged:
    of_reply = [_bot_and_latency(row, transcripts) for row in counted]
    return Judged(
        bot=np.array([transcripts.names[bot] for bot, _ in of_reply], dtype=object),
        dialogue=np.array(
            [transcripts.conversations[row["dialogue"]]["number"] for row in counted], dtype=np.int64
        ),
        reply=np.array([_number_of_reply(row, transcripts) for row in counted], dtype=np.int64),
        rater=np.array([row["rater"] for row in counted], dtype=object),
        latency_ms=np.array([latency for _, latency in of_reply], dtype=np.float64),
        answer_ms=answer_times(counted),
        answers=coded_columns(questions, counted),
        texts=text_columns(questions, counted),
        day=label_days(counted),
    )


def _bot_and_latency(label: Row, transcripts: _Transcripts) -> tuple[str, float]:
    """Bot and latency of the labelled reply; for other subjects, the partner and NaN."""
    dialogue, position = label["dialogue"], label["turn"]
    partners = _bots_of(transcripts.conversations[dialogue])
    return transcripts.replies.get((dialogue, position)) or (partners[0], float("nan"))


def _number_of_reply(label: Row, transcripts: _Transcripts) -> int:
    if label["turn"] is None:
        return _number_of_partner(label, transcripts.conversations[label["dialogue"]])
    opening: int = transcripts.conversations[label["dialogue"]]["opening_turns"]
    return (int(label["turn"]) - opening) // transcripts.spacing[label["dialogue"]] + 1


def _number_of_partner(label: Row, conversation: Row) -> int:
    """Number of the judged person: of two people, the first speaker is 1; otherwise 1."""
    if PEOPLE not in _bots_of(conversation):
        return 1
    return 2 - _workers_of(conversation).index(label["rater"])


def _refuse_strays(bundle: BundleFiles, about: Row, labels: Sequence[Row], transcripts: _Transcripts) -> None:
    """Refuse labels of turns of neither a bot nor a partner, unless people judge their own turns."""
    if any(ask["about"] == "own_turn" for ask in about["asks"]):
        return
    for label in labels:
        dialogue, position = label["dialogue"], label["turn"]
        if _about(label, transcripts) == "own_turn":
            raise FileError(
                f"{bundle.path}, data/labels.jsonl: a label of turn {position} in conversation {dialogue}, "
                "where data/turns.jsonl has no reply of a bot."
            )


def _is_counted(label: Row, ask: Row, transcripts: _Transcripts) -> bool:
    finished = transcripts.conversations[label["dialogue"]]["ending"] == "complete"
    if not finished or label["judged_in"] is not None:
        return False
    if label["ask"] is not None:
        return bool(label["ask"] == ask["number"])
    # Labels from a file count for the ask with the same question set and subject.
    return bool(label["question_set"] == ask["question_set"] and _about(label, transcripts) == ask["about"])


def _about(label: Row, transcripts: _Transcripts) -> str:
    if label["turn"] is None:
        return WHOLE
    turn = label["dialogue"], label["turn"]
    is_partners = transcripts.speakers.get(turn, label["rater"]) != label["rater"]
    return "partner_turn" if turn in transcripts.replies or is_partners else "own_turn"


def _courses(
    transcripts: _Transcripts, faults: Iterator[Row], prices: Mapping[str, Sequence[Price]]
) -> dict[str, Course]:
    endings = Counter(
        (bot, row["ending"]) for row in transcripts.conversations.values() for bot in _bots_of(row)
    )
    failed: dict[str, Counter[str]] = {}
    for fault in faults:
        bot = transcripts.conversations[fault["dialogue"]]["bot"]  # conversations with faults have one bot
        failed.setdefault(bot, Counter())[fault["kind"]] += 1
    return {
        name: Course(
            finished=endings[bot, "complete"],
            under_way=endings[bot, None],
            bot_failed=endings[bot, "bot_failed"],
            faults=failed.get(bot, {}),
            replies=transcripts.facts.get(bot, ()),
            prices=prices.get(bot, ()),
            texts=[
                [(speaker == bot, text) for speaker, text in transcripts.texts[each]]
                for each in transcripts.read.get(bot, [])
            ],
        )
        for bot, name in sorted(transcripts.names.items(), key=lambda item: item[1])
    }


def _unlabelled(transcripts: _Transcripts, labels: Sequence[Row]) -> int:
    labelled = {(row["dialogue"], row["turn"]) for row in labels}
    replies = [
        reply for reply in transcripts.replies if transcripts.conversations[reply[0]]["ending"] == "complete"
    ]
    return len(set(replies) - labelled)


def _conduct(about: Row, courses: Mapping[str, Course], judged: Judged, unlabelled: int) -> Talks:
    protocol = about["protocol"]
    return Talks(
        bot_opens=protocol["opening_speaker"] == "bot",
        opening_text=protocol["opening_text"],
        min_turns=protocol["min_turns"],
        max_turns=protocol["max_turns"],
        question_set=about["asks"][0]["question_set"],
        blind=protocol["blind"],
        languages=about["languages"],
        conversations={bot: course.finished for bot, course in courses.items()},
        unlabelled=unlabelled,
        most_raters=judged.most_raters,
        primary=protocol["primary_analysis"],
        margin=protocol.get("margin") or 0,
    )
