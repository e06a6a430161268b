"""Recomputation of a report from the data of its bundle, and comparison with the report in the bundle.

Every stated figure must follow from the data. A report of an older version may have fewer figures, so a
missing figure is no difference. A stated figure that this version does not compute counts as not confirmed.
"""

import json
import zipfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from importlib.metadata import version
from pathlib import Path
from typing import Any

from evaluation.files.reading import FileError
from evaluation.protocols import protocol_named
from evaluation.protocols.facts import Evaluation
from evaluation.questions import QuestionSet
from evaluation.report.answers import check_labels
from evaluation.report.assisted import JudgeLabels, assisted_figures, rule_of
from evaluation.report.bundles.anchor_rows import ANCHORS, AnchorRows, anchor_judgments_table
from evaluation.report.bundles.columns import Table, answered_in
from evaluation.report.bundles.differences import Comparison, Difference, compare
from evaluation.report.bundles.files import BundleFiles, Row, design_of, lines_named, plan_of, questions_of
from evaluation.report.bundles.judging_rows import judged_items, judged_pairs
from evaluation.report.bundles.machine_rows import judge_labels
from evaluation.report.bundles.self_descriptions import Questionnaire, audit_figures, people_figures, replies
from evaluation.report.bundles.study_rows import read_study_data, with_question_keys
from evaluation.report.bundles.tables import (
    AUDITS,
    CONVERSATION_REPLIES,
    CONVERSATIONS,
    DRAWN_ITEMS,
    ITEMS,
    MEASURES,
    PAIRS,
    TURNS,
    WORKERS,
    adjudications_table,
    judgments_table,
    machine_labels_table,
    pair_judgments_table,
    questionnaires_table,
)
from evaluation.report.conduct import manners_of
from evaluation.report.item_draws import DrawnItems, drawn_items
from evaluation.report.label_columns import Analysis
from evaluation.report.studies.conversations import study_result
from evaluation.report.studies.judging import AskOfItems, judging_result
from evaluation.report.studies.pairs import AskOfPairs, pair_result
from evaluation.report.studies.replies import ReplyFacts, facts_of, prices_of
from evaluation.report.studies.self_play import SelfPlayData, self_play_figures

TableOf = Callable[[Sequence[QuestionSet]], Table]
"""Function from question sets to the table with their answers."""

FORMAT = 4
LIBRARIES = ("numpy", "scipy")
"""Distributions whose version can change the last digits of numbers, or the random stream of a seed."""


@dataclass(frozen=True, slots=True)
class Recomputed:
    """A recomputed report.

    Attributes:
        report: all its numbers and sentences, in the form of report.json.
        comparison: of the bundle's report with this one.
        changed_files: files of the bundle that have changed since the bundle was made.
        libraries: by distribution, its installed version and, if it differs, the bundle's version.
    """

    report: dict[str, Any]
    comparison: Comparison
    changed_files: list[str]
    libraries: dict[str, str]

    @property
    def differences(self) -> list[Difference]:
        """Values of the bundle's report that do not follow from its data."""
        return self.comparison.differences

    @property
    def equal(self) -> bool:
        """True if everything that the bundle states follows from its data."""
        return not (self.comparison.differences or self.comparison.not_computed or self.changed_files)


def recompute(path: Path) -> Recomputed:
    """Recompute the report of a bundle and compare it with the one in the bundle.

    Raises:
        FileError: no such file, not a bundle, a bundle of another format, or invalid rows; names the file in
            the bundle and its line.
    """
    try:
        with zipfile.ZipFile(path) as archive:
            return _recomputed(BundleFiles(path, archive))
    except OSError as error:
        raise FileError(f"{path}: {error.strerror}. Give the path of a study's bundle.") from None
    except zipfile.BadZipFile as error:
        raise FileError(
            f"{path}: {error}. The download may be incomplete; download the bundle again."
        ) from None


def _recomputed(bundle: BundleFiles) -> Recomputed:
    made_with = _checked_format(bundle)
    stored = bundle.document("report.json")
    try:
        # Convert through JSON, like the stored report: numbers stay exact, tuples become lists.
        report = json.loads(json.dumps(_result(bundle) | _people(bundle) | _audits(bundle)))
    except FileError:
        raise
    except KeyError as error:
        raise FileError(
            f"{bundle.path}: one of its files names {error}, and that is not where it should be. Download "
            "the bundle again."
        ) from None
    except ValueError as error:  # labels that cannot be true
        raise FileError(f"{bundle.path}, data/{_labels_of(bundle)}.jsonl: {error}") from None
    return Recomputed(report, compare(stored, report), bundle.changed_files(), _libraries(made_with))


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
        name: installed
        if made_with.get(name) == installed
        else f"{installed} (the bundle: {made_with.get(name)})"
        for name, installed in here.items()
    }


# --- from rows to figures ---------------------------------------------------------------------------

SELF_PLAY = "self_play"
"""Value of `evaluation` in study.json if bots talk with each other and nobody judges."""
_ANSWERED = {
    Evaluation.STATIC.value: "judgments",
    Evaluation.PAIRWISE.value: "pair_judgments",
    SELF_PLAY: MEASURES.name,
}


def _labels_of(bundle: BundleFiles) -> str:
    """Name of the table with the workers' answers, or with the measures."""
    return _ANSWERED.get(bundle.document("study.json").get("evaluation", ""), "labels")


def _result(bundle: BundleFiles) -> dict[str, Any]:
    about = bundle.document("study.json")
    if about.get("evaluation") == SELF_PLAY:
        return self_play_figures(_self_play(bundle, about))
    if _labels_of(bundle) == "labels":
        return study_result(read_study_data(bundle, about))
    if _labels_of(bundle) == "pair_judgments":
        result = pair_result(list(_compared(bundle, about)), plan=plan_of(bundle, about))
        return result | _assisted(bundle, about, PAIRS, pair_judgments_table)
    manners = None if about["rehearsal"] else manners_of(list(bundle.rows(WORKERS)))
    plan, anchors = plan_of(bundle, about), _anchors(bundle, about)
    asks = list(_judged(bundle, about, anchors))
    result = judging_result(asks, plan=plan, manners=manners)
    linked = anchors.with_figures(
        result,
        list(zip([ask["number"] for ask in about["asks"]], asks, strict=True)),
        plan=plan,
        level=protocol_named(about["protocol"]["protocol"]).level,
    )
    return linked | _assisted(bundle, about, ITEMS, judgments_table)


def _anchors(bundle: BundleFiles, about: Row) -> AnchorRows:
    """Rows of anchors; none for studies without and older bundles."""
    table = anchor_judgments_table([questions_of(bundle, ask["question_set"]) for ask in about["asks"]])
    if not bundle.has(ANCHORS):
        return AnchorRows()
    return AnchorRows(list(bundle.rows(ANCHORS)), list(bundle.rows(table)))


@dataclass(frozen=True, slots=True)
class _AskRows:
    """One ask of readers with its items, its judgments, the lines of the judgments, and drawn items."""

    ask: Row
    questions: QuestionSet
    items: list[Row]
    given: list[Row]
    lines: list[int]
    drawn: DrawnItems | None = None


def _ask_rows(bundle: BundleFiles, about: Row, of_items: Table, judgments: TableOf) -> Iterator[_AskRows]:
    """Yield each ask of readers with its rows, in order."""
    question_sets = {ask["question_set"]: questions_of(bundle, ask["question_set"]) for ask in about["asks"]}
    sets = list(question_sets.values())
    items, every, named = list(bundle.rows(of_items)), list(bundle.rows(judgments(sets))), answered_in(sets)
    # Older bundles have no draws.
    draws = list(bundle.rows(DRAWN_ITEMS)) if bundle.has(DRAWN_ITEMS) else []
    for ask in about["asks"]:
        questions = question_sets[ask["question_set"]]
        lines = [n for n, row in enumerate(every, 1) if row["ask"] == ask["number"]]
        rows = with_question_keys([every[n - 1] for n in lines], named[questions.key])
        # Older bundles, in which items have no ask, are of studies with one ask.
        of_ask = [row for row in items if row.get("ask", ask["number"]) == ask["number"]]
        of_draws = [row for row in draws if row["ask"] == ask["number"]]
        drawn = drawn_items(of_draws, {row["item"] for row in rows})
        yield _AskRows(ask, questions, of_ask, rows, lines, drawn)


def _judged(bundle: BundleFiles, about: Row, anchors: AnchorRows) -> Iterator[AskOfItems]:
    design, replies = design_of(bundle, about), _in_conversations(bundle)
    for of in _ask_rows(bundle, about, ITEMS, judgments_table):
        decisions = _decisions(bundle, about, of)
        with lines_named(f"{bundle.path}, data/judgments.jsonl", of.lines):
            judged = judged_items(
                about, of.questions, of.items, of.given, design, of.lines, replies, decisions, of.drawn
            )
            check_labels(of.questions, judged.judged, judged.occasion)
        judged = replace(
            judged,
            anchors=anchors.number_of(of.ask["number"]),
            anchors_judged=anchors.judged_by(of.ask["number"]),
        )
        yield AskOfItems(of.ask["about"], of.ask["required"], of.questions, judged)


def _decisions(bundle: BundleFiles, about: Row, of: _AskRows) -> list[Row]:
    """Decisions of adjudicators about the items of an ask; none for studies without and older bundles."""
    sets = [questions_of(bundle, ask["question_set"]) for ask in about["asks"]]
    table = adjudications_table(sets)
    rows = bundle.rows(table) if bundle.has(table) else ()
    of_ask = [row for row in rows if row["ask"] == of.ask["number"]]
    return with_question_keys(of_ask, answered_in(sets)[of.questions.key])


def _assisted(bundle: BundleFiles, about: Row, of_items: Table, judgments: TableOf) -> dict[str, Any]:
    """Figures of people assisted by machine judges; none for studies without a judge and older bundles."""
    sets = [questions_of(bundle, ask["question_set"]) for ask in about["asks"]]
    table = machine_labels_table(sets)
    if not bundle.has(table):
        return {}
    plan, named, rows = plan_of(bundle, about), answered_in(sets), list(bundle.rows(table))
    excluded = plan.excluded if plan.primary is not Analysis.ALL else {}
    judges: list[JudgeLabels] = []
    for of in _ask_rows(bundle, about, of_items, judgments):
        of_ask = [row for row in rows if row["ask"] == of.ask["number"]]
        machine = with_question_keys(of_ask, named[of.questions.key])
        judges += judge_labels(
            of.ask["number"], of.questions, of.items, of.given, machine, excluded, of.drawn
        )
    level = protocol_named(about["protocol"]["protocol"]).level
    rule = rule_of(bundle.document("report.json"))
    return {"assisted": assisted_figures(judges, level=level, rule=rule)} if judges else {}


def _compared(bundle: BundleFiles, about: Row) -> Iterator[AskOfPairs]:
    design, replies = design_of(bundle, about), _in_conversations(bundle)
    for of in _ask_rows(bundle, about, PAIRS, pair_judgments_table):
        with lines_named(f"{bundle.path}, data/pair_judgments.jsonl", of.lines):
            judged = judged_pairs(about, of.questions, of.items, of.given, design, of.lines, replies)
            check_labels(of.questions, judged.judged)
        yield AskOfPairs(of.questions, judged)


def _in_conversations(bundle: BundleFiles) -> list[Row]:
    """Replies in judged conversations; none for older bundles."""
    return list(bundle.rows(CONVERSATION_REPLIES)) if bundle.has(CONVERSATION_REPLIES) else []


def _audits(bundle: BundleFiles) -> dict[str, Any]:
    """Figures of the audits of the study's bots, if there are any."""
    return {"audits": audit_figures(bundle.rows(AUDITS))} if bundle.has(AUDITS) else {}


def _people(bundle: BundleFiles) -> dict[str, Any]:
    """Figures of questionnaires about the workers, if the bundle has any."""
    asks = bundle.document("study.json").get("questionnaires", [])
    if not asks:
        return {}
    sets = [questions_of(bundle, ask["question_set"]) for ask in asks]
    answered = replies(sets, bundle.rows(questionnaires_table(sets)))
    questionnaires = [
        Questionnaire(questions, ask["moment"], ask["required"])
        for questions, ask in zip(sets, asks, strict=True)
    ]
    return {"people": people_figures(questionnaires, answered)}


def _self_play(bundle: BundleFiles, about: Row) -> SelfPlayData:
    conversations = {row["dialogue"]: row for row in bundle.rows(CONVERSATIONS)}
    ended = {key: row for key, row in conversations.items() if row["ended_at"]}
    turns: dict[str, list[tuple[str, str]]] = {key: [] for key in ended}
    facts: dict[str, list[ReplyFacts]] = {}
    for row in bundle.rows(TURNS):
        if row["bot_version"] is not None and row.get("outcome"):
            is_scored = conversations[row["dialogue"]]["ending"] == "complete"
            facts.setdefault(row["bot"], []).append(facts_of(row, row["said_at"], is_scored=is_scored))
        if row["dialogue"] in ended and row["turn"] >= ended[row["dialogue"]]["opening_turns"]:
            turns[row["dialogue"]].append((row["bot"], row["text"]))
    return SelfPlayData(
        names={bot["bot"]: bot["shown_as"] for bot in about["bots"]},
        turns=turns,
        under_way=len(conversations) - len(ended),
        silent=sum(row["ending"] == "bot_failed" for row in ended.values()),
        measures=list(bundle.rows(MEASURES)),
        encoders=about["measured_by"],
        replies=facts,
        prices=prices_of(about),
    )
