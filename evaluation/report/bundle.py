"""Reading a study's bundle, and computing its report again from nothing but the data in it."""

import json
import zipfile
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np

from evaluation.csv_file import FileError
from evaluation.labels import LabelsError
from evaluation.questions import QuestionSet, UnknownQuestionSetError, question_set
from evaluation.report.bundle_files import BundleFiles, Row
from evaluation.report.conformance import Conduct
from evaluation.report.course import READ_FOR_REPETITION, Course
from evaluation.report.figures import scored
from evaluation.report.judged import Judged
from evaluation.report.judging import judging_figures
from evaluation.report.judging_rows import judged_items
from evaluation.report.study import StudyData, study_result
from evaluation.report.tables import (
    CONVERSATIONS,
    FAULTS,
    ITEMS,
    TURNS,
    WORKERS,
    judgments_table,
    labels_table,
)

FORMAT = 1
LIBRARIES = ("numpy", "scipy")
"""Distributions whose version can change the last digits of the numbers, or the stream of a seed."""


@dataclass(frozen=True, slots=True)
class Difference:
    """A value of the report that the data does not give.

    Attributes:
        where: path of the value in report.json, such as `bots[0].cells[2].low`.
        stored: the value in report.json; None if it is not there.
        recomputed: the value that the data gives; None if there is none.
    """

    where: str
    stored: object
    recomputed: object


@dataclass(frozen=True, slots=True)
class Recomputed:
    """A report computed again.

    Attributes:
        report: all its numbers and sentences, as report.json has them.
        values: how many numbers, sentences and reasons were compared.
        differences: those that are not exactly equal.
        changed_files: files of the bundle whose content is not what it was when the bundle was made.
        libraries: by distribution, its version here and, if that differs, the one of the bundle.
    """

    report: dict[str, Any]
    values: int
    differences: list[Difference]
    changed_files: list[str]
    libraries: dict[str, str]


def recompute(path: Path) -> Recomputed:
    """Compute the report of a bundle again and compare it with the one in the bundle, bit by bit.

    Raises:
        FileError: no such file, no bundle, a bundle of another format, or rows that no report can be
            computed from; names the file in the bundle and its line.
    """
    try:
        with zipfile.ZipFile(path) as archive:
            return _recomputed(BundleFiles(path, archive))
    except OSError as error:
        raise FileError(f"{path}: {error.strerror}. Give the path of a study's bundle.") from None
    except zipfile.BadZipFile as error:
        raise FileError(f"{path}: {error}. The download may be broken off; take the bundle again.") from None


def _recomputed(bundle: BundleFiles) -> Recomputed:
    made_with = _checked_format(bundle)
    stored = bundle.document("report.json")
    try:
        # Through JSON, as the stored one went: its numbers are exact, its tuples are lists.
        report = json.loads(json.dumps(_result(bundle)))
    except FileError:
        raise
    except KeyError as error:
        raise FileError(
            f"{bundle.path}: one of its files names {error}, and that is not where it should be. Take the "
            f"bundle again."
        ) from None
    except ValueError as error:  # labels that cannot be true
        raise FileError(f"{bundle.path}, data/{_labels_of(bundle)}.jsonl: {error}") from None
    ours, theirs = dict(_leaves(report)), dict(_leaves(stored))
    differences = [
        Difference(where, theirs.get(where), ours.get(where))
        for where in dict.fromkeys([*theirs, *ours])
        if where not in ours or where not in theirs or ours[where] != theirs[where]
    ]
    return Recomputed(report, len(ours), differences, bundle.changed_files(), _libraries(made_with))


def _checked_format(bundle: BundleFiles) -> dict[str, str]:
    package = bundle.document("datapackage.json")
    if package.get("turnwise_format") != FORMAT:
        raise FileError(
            f"{bundle.path}: format {package.get('turnwise_format')}, and this version reads {FORMAT}. "
            f"Use Turnwise {package.get('turnwise_version', 'of the version that made it')}."
        )
    libraries: dict[str, str] = package["libraries"]
    return libraries


def _libraries(made_with: Mapping[str, str]) -> dict[str, str]:
    here = {name: version(name) for name in LIBRARIES}
    return {
        name: found if made_with.get(name) == found else f"{found} (the bundle: {made_with.get(name)})"
        for name, found in here.items()
    }


def _leaves(value: object, where: str = "") -> Iterator[tuple[str, object]]:
    """Every number, text and empty container of a JSON document with its path."""
    if isinstance(value, dict) and value:
        for key, each in value.items():
            yield from _leaves(each, f"{where}.{key}" if where else key)
    elif isinstance(value, list) and value:
        for index, each in enumerate(value):
            yield from _leaves(each, f"{where}[{index}]")
    else:
        yield where, value


# --- from rows to what a report reads ----------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Told:
    """The conversations by their id, what was said in them, and which replies have labels."""

    conversations: Mapping[str, Row]
    replies: Mapping[tuple[str, int], tuple[str, float]]  # bot and latency
    texts: Mapping[str, list[tuple[str, str]]]  # name of the bot that spoke or "", and what it said
    read: Mapping[str, list[str]]  # by bot, the conversations in which repetition is counted
    apart: Mapping[str, int]  # how far replies are apart: 1 where both who talk are judged, else 2
    remarked: Mapping[str, int]  # by bot, replies of finished conversations
    fallbacks: Mapping[str, int]
    names: Mapping[str, str]  # what the report calls a bot


def _labels_of(bundle: BundleFiles) -> str:
    """The table with what workers answered."""
    judging = bundle.document("study.json")["protocol"].get("task") == "judging"
    return "judgments" if judging else "labels"


def _result(bundle: BundleFiles) -> dict[str, Any]:
    about = bundle.document("study.json")
    questions = _questions(bundle, about)
    if _labels_of(bundle) == "labels":
        return study_result(_study(bundle, about, questions))
    judgments = bundle.rows(judgments_table([questions]))
    found = judged_items(about, questions, bundle.rows(ITEMS), judgments)
    return judging_figures(questions, found, set_aside=_set_aside(bundle))


def _questions(bundle: BundleFiles, about: Row) -> QuestionSet:
    try:
        return question_set(about["question_set"])
    except UnknownQuestionSetError as error:
        raise FileError(f"{bundle.path}, study.json: {error}") from None


def _set_aside(bundle: BundleFiles) -> dict[str, str]:
    return {w["rater"]: w["set_aside_reason"] for w in bundle.rows(WORKERS) if w["set_aside_at"]}


def _study(bundle: BundleFiles, about: Row, questions: QuestionSet) -> StudyData:
    told = _told(bundle, {bot["bot"]: bot["shown_as"] for bot in about["bots"]})
    labels = list(bundle.rows(labels_table([questions])))
    judged = _judged(bundle, questions, told, labels)
    courses = _courses(told, bundle.rows(FAULTS))
    conduct = _conduct(about, courses, judged, _unlabelled(told, labels))
    return StudyData(questions, judged, courses, _set_aside(bundle), conduct)


def _told(bundle: BundleFiles, names: Mapping[str, str]) -> _Told:
    conversations = {row["dialogue"]: row for row in bundle.rows(CONVERSATIONS)}
    read = _first_finished(conversations.values())
    texts: dict[str, list[tuple[str, str]]] = {each: [] for found in read.values() for each in found}
    replies: dict[tuple[str, int], tuple[str, float]] = {}
    remarked, fallbacks = Counter[str](), Counter[str]()
    for row in bundle.rows(TURNS):
        dialogue, position = row["dialogue"], row["turn"]
        if row["bot_version"] is not None:
            latency = row["latency_ms"]
            replies[dialogue, position] = (row["bot"], float("nan") if latency is None else float(latency))
        if dialogue in texts and position >= conversations[dialogue]["opening_turns"]:
            texts[dialogue].append((_spoken_by(row, conversations[dialogue]), row["text"]))
        # Bundles of before filters' remarks were kept have no such column, and no such figure.
        if row.get("remarks") is not None and conversations[dialogue]["ending"] == "complete":
            remarked[row["bot"]] += 1
            fallbacks[row["bot"]] += row["fallback"]
    apart = _apart(conversations, replies)
    return _Told(conversations, replies, texts, read, apart, remarked, fallbacks, names)


def _bots_of(conversation: Row) -> list[str]:
    return (conversation["bot"] or "").split()


def _spoken_by(turn: Row, conversation: Row) -> str:
    """The bot that spoke; "" if a worker did."""
    if turn["speaker"] != "bot":
        return ""
    return turn["bot"] or _bots_of(conversation)[0]


def _first_finished(conversations: Iterable[Row]) -> dict[str, list[str]]:
    """By bot, the finished conversations in which repetition is counted."""
    read: dict[str, list[str]] = {}
    for row in conversations:
        for bot in _bots_of(row) if row["ending"] == "complete" else ():
            if len(read.setdefault(bot, [])) < READ_FOR_REPETITION:
                read[bot].append(row["dialogue"])
    return read


def _apart(conversations: Mapping[str, Row], replies: Iterable[tuple[str, int]]) -> dict[str, int]:
    counted = Counter(
        dialogue for dialogue, position in replies if position >= conversations[dialogue]["opening_turns"]
    )
    return {
        dialogue: 1 if 2 * counted[dialogue] > row["turns"] - row["opening_turns"] + 1 else 2
        for dialogue, row in conversations.items()
    }


def _judged(bundle: BundleFiles, questions: QuestionSet, told: _Told, labels: Sequence[Row]) -> Judged:
    lines = [n for n, row in enumerate(labels, 1) if _is_counted(bundle, row, questions, told)]
    counted = [labels[line - 1] for line in lines]
    places = [(row["dialogue"], row["turn"]) for row in counted]
    of_reply = [told.replies[place] for place in places]
    conversations = [told.conversations[dialogue] for dialogue, _ in places]
    judged = Judged(
        bot=np.array([told.names[bot] for bot, _ in of_reply], dtype=object),
        dialogue=np.array([each["number"] for each in conversations], dtype=np.int64),
        reply=np.array(
            [
                (position - each["opening_turns"]) // told.apart[dialogue] + 1
                for (dialogue, position), each in zip(places, conversations, strict=True)
            ],
            dtype=np.int64,
        ),
        rater=np.array([row["rater"] for row in counted], dtype=object),
        latency_ms=np.array([latency for _, latency in of_reply], dtype=np.float64),
        answers={
            question.key: np.array([_number(row[question.key]) for row in counted], dtype=np.float64)
            for question in scored(questions)
        },
    )
    if questions.key == "ssa":
        _check(judged, lines, f"{bundle.path}, data/labels.jsonl")
    return judged


def _check(judged: Judged, lines: Sequence[int], file: str) -> None:
    """Refuse labels of SSA that cannot be true, with the lines on which they stand."""
    try:
        judged.labels  # noqa: B018  # checks them, and keeps what it has checked
    except LabelsError as error:
        where = "" if error.row is None else f", line {lines[error.row]}"
        before = "" if error.earlier is None else f" See line {lines[error.earlier]}."
        raise FileError(f"{file}{where}, column {error.column}: {error.problem}{before}") from None


def _is_counted(bundle: BundleFiles, label: Row, questions: QuestionSet, told: _Told) -> bool:
    dialogue, position = label["dialogue"], label["turn"]
    if (dialogue, position) not in told.replies:
        raise FileError(
            f"{bundle.path}, data/labels.jsonl: a label of turn {position} in conversation {dialogue}, "
            "where data/turns.jsonl has no reply of a bot."
        )
    finished = told.conversations[dialogue]["ending"] == "complete"
    # Bundles of before readers' labels were told apart have no such column.
    by_reader = label.get("judged_in") is not None
    return bool(finished and not by_reader and label["question_set"] == questions.key)


def _number(answer: bool | int | None) -> float:
    return float("nan") if answer is None else float(answer)


def _courses(told: _Told, faults: Iterator[Row]) -> dict[str, Course]:
    endings = Counter((bot, row["ending"]) for row in told.conversations.values() for bot in _bots_of(row))
    failed: dict[str, Counter[str]] = {}
    for fault in faults:
        bot = told.conversations[fault["dialogue"]]["bot"]  # whoever is held here talks with one
        failed.setdefault(bot, Counter())[fault["kind"]] += 1
    return {
        name: Course(
            finished=endings[bot, "complete"],
            under_way=endings[bot, None],
            bot_failed=endings[bot, "bot_failed"],
            faults=failed.get(bot, {}),
            remarked=told.remarked.get(bot, 0),
            fallbacks=told.fallbacks.get(bot, 0),
            texts=[[(who == bot, said) for who, said in told.texts[each]] for each in told.read.get(bot, [])],
        )
        for bot, name in sorted(told.names.items(), key=lambda item: item[1])
    }


def _unlabelled(told: _Told, labels: Sequence[Row]) -> int:
    labelled = {(row["dialogue"], row["turn"]) for row in labels}
    replies = [place for place in told.replies if told.conversations[place[0]]["ending"] == "complete"]
    return len(set(replies) - labelled)


def _conduct(about: Row, courses: Mapping[str, Course], judged: Judged, unlabelled: int) -> Conduct:
    protocol = about["protocol"]
    return Conduct(
        bot_opens=protocol["opening_speaker"] == "bot",
        opening_text=protocol["opening_text"],
        min_turns=protocol["min_turns"],
        max_turns=protocol["max_turns"],
        question_set=about["question_set"],
        blind=protocol["blind"],
        languages=about["languages"],
        conversations={bot: course.finished for bot, course in courses.items()},
        unlabelled=unlabelled,
        most_raters=judged.most_raters,
    )
