"""What the report in a bundle states, against what the bundle's data give. Pure.

Everything that is stated must follow from the data. An older version may have had fewer figures, so one about
which its report is silent contradicts nothing. One that is stated and that this version does not compute is
confirmed by nothing.

Reading a study's bundle, and computing its report again from nothing but the data in it.
"""

import json
import zipfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from importlib.metadata import version
from pathlib import Path
from typing import Any

from evaluation.files.reading import FileError
from evaluation.protocols.facts import Evaluation
from evaluation.questions import QuestionSet
from evaluation.report.answers import check_labels
from evaluation.report.bundles.columns import Table, answered_in
from evaluation.report.bundles.files import BundleFiles, Row, design_of, lines_named, plan_of, questions_of
from evaluation.report.bundles.judging_rows import judged_items, judged_pairs
from evaluation.report.bundles.self_descriptions import Questionnaire, audit_figures, people_figures, replies
from evaluation.report.bundles.study_rows import read_study_data, with_question_keys
from evaluation.report.bundles.tables import (
    AUDITS,
    CONVERSATIONS,
    ITEMS,
    MEASURES,
    PAIRS,
    TURNS,
    WORKERS,
    judgments_table,
    pair_judgments_table,
    questionnaires_table,
)
from evaluation.report.conduct import manners_of
from evaluation.report.studies.conversations import study_result
from evaluation.report.studies.judging import AskOfItems, judging_result
from evaluation.report.studies.pairs import AskOfPairs, pair_result
from evaluation.report.studies.self_play import SelfPlayData, self_play_figures


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
class Comparison:
    """A report beside the same report computed again.

    Attributes:
        values: how many numbers, sentences and reasons were compared.
        differences: those that are not exactly equal, and the rows of a list that only one of the two has.
        not_stated: by path, figures that were computed and that the stored report does not have.
        not_computed: by path, figures that the stored report has and that are not computed.
    """

    values: int = 0
    differences: list[Difference] = field(default_factory=list)
    not_stated: dict[str, object] = field(default_factory=dict)
    not_computed: dict[str, object] = field(default_factory=dict)


def compare(stored: dict[str, Any], computed: dict[str, Any]) -> Comparison:
    """Compare two reports as JSON has them, bit by bit."""
    found = Comparison()
    values = 0
    for where, theirs, ours in _matching_parts(stored, computed, ""):
        if theirs is _ABSENT:
            found.not_stated.update(_leaves(ours, where))
        elif ours is _ABSENT:
            found.not_computed.update(_leaves(theirs, where))
        else:
            left, right = dict(_leaves(theirs, where)), dict(_leaves(ours, where))
            values += len(right)
            found.differences.extend(_differences(left, right))
    return replace(found, values=values)


def _differences(stored: Mapping[str, object], computed: Mapping[str, object]) -> Iterator[Difference]:
    for where in dict.fromkeys([*stored, *computed]):
        if where not in stored or where not in computed or stored[where] != computed[where]:
            yield Difference(where, stored.get(where), computed.get(where))


_ABSENT = object()
"""In place of a figure that one of the two documents does not name."""


def _matching_parts(stored: object, computed: object, where: str) -> Iterator[tuple[str, object, object]]:
    """The parts of two JSON documents that stand in the same place, as far down as both have the same shape.

    Only what has a name can be absent: a list is stated as a whole.
    """
    if isinstance(stored, dict) and isinstance(computed, dict) and stored and computed:
        for key in dict.fromkeys([*stored, *computed]):
            at = f"{where}.{key}" if where else key
            yield from _matching_parts(stored.get(key, _ABSENT), computed.get(key, _ABSENT), at)
    elif isinstance(stored, list) and isinstance(computed, list) and len(stored) == len(computed) > 0:
        for index, (theirs, ours) in enumerate(zip(stored, computed, strict=True)):
            yield from _matching_parts(theirs, ours, f"{where}[{index}]")
    else:
        yield where, stored, computed


def _leaves(value: object, where: str) -> Iterator[tuple[str, object]]:
    """Every number, text and empty container of a JSON document with its path."""
    if isinstance(value, dict) and value:
        for key, each in value.items():
            yield from _leaves(each, f"{where}.{key}" if where else key)
    elif isinstance(value, list) and value:
        for index, each in enumerate(value):
            yield from _leaves(each, f"{where}[{index}]")
    else:
        yield where, value


TableOf = Callable[[Sequence[QuestionSet]], Table]
"""The table with the answers to these questions."""

FORMAT = 4
LIBRARIES = ("numpy", "scipy")
"""Distributions whose version can change the last digits of the numbers, or the stream of a seed."""


@dataclass(frozen=True, slots=True)
class Recomputed:
    """A report computed again.

    Attributes:
        report: all its numbers and sentences, as report.json has them.
        comparison: of the bundle's report with this one.
        changed_files: files of the bundle whose content is not what it was when the bundle was made.
        libraries: by distribution, its version here and, if that differs, the one of the bundle.
    """

    report: dict[str, Any]
    comparison: Comparison
    changed_files: list[str]
    libraries: dict[str, str]

    @property
    def differences(self) -> list[Difference]:
        """Values of the bundle's report that its data does not give."""
        return self.comparison.differences

    @property
    def equal(self) -> bool:
        """Whether the data gives everything that the bundle states."""
        return not (self.comparison.differences or self.comparison.not_computed or self.changed_files)


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
        raise FileError(
            f"{path}: {error}. The download may be incomplete; download the bundle again."
        ) from None


def _recomputed(bundle: BundleFiles) -> Recomputed:
    made_with = _checked_format(bundle)
    stored = bundle.document("report.json")
    try:
        # Through JSON, as the stored one went: its numbers are exact, its tuples are lists.
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
        name: found if made_with.get(name) == found else f"{found} (the bundle: {made_with.get(name)})"
        for name, found in here.items()
    }


# --- from rows to figures ---------------------------------------------------------------------------

SELF_PLAY = "self_play"
"""In place of what is evaluated, where bots talk with each other and nobody judges."""
_ANSWERED = {
    Evaluation.STATIC.value: "judgments",
    Evaluation.PAIRWISE.value: "pair_judgments",
    SELF_PLAY: MEASURES.name,
}


def _labels_of(bundle: BundleFiles) -> str:
    """The table with what workers answered, or what was measured."""
    return _ANSWERED.get(bundle.document("study.json").get("evaluation", ""), "labels")


def _result(bundle: BundleFiles) -> dict[str, Any]:
    about = bundle.document("study.json")
    if about.get("evaluation") == SELF_PLAY:
        return self_play_figures(_self_play(bundle, about))
    if _labels_of(bundle) == "labels":
        return study_result(read_study_data(bundle, about))
    if _labels_of(bundle) == "pair_judgments":
        return pair_result(list(_compared(bundle, about)), plan=plan_of(bundle, about))
    manners = None if about["rehearsal"] else manners_of(list(bundle.rows(WORKERS)))
    return judging_result(list(_judged(bundle, about)), plan=plan_of(bundle, about), manners=manners)


@dataclass(frozen=True, slots=True)
class _AskRows:
    """What readers were asked, the items of it, and what was answered, with the lines where that stands."""

    ask: Row
    questions: QuestionSet
    items: list[Row]
    given: list[Row]
    lines: list[int]


def _ask_rows(bundle: BundleFiles, about: Row, of_items: Table, judgments: TableOf) -> Iterator[_AskRows]:
    """Each ask of readers, in order."""
    asked = {ask["question_set"]: questions_of(bundle, ask["question_set"]) for ask in about["asks"]}
    sets = list(asked.values())
    items, every, named = list(bundle.rows(of_items)), list(bundle.rows(judgments(sets))), answered_in(sets)
    for ask in about["asks"]:
        questions = asked[ask["question_set"]]
        lines = [n for n, row in enumerate(every, 1) if row["ask"] == ask["number"]]
        given = with_question_keys([every[n - 1] for n in lines], named[questions.key])
        # Bundles of before items had asks are of studies with one.
        own = [row for row in items if row.get("ask", ask["number"]) == ask["number"]]
        yield _AskRows(ask, questions, own, given, lines)


def _judged(bundle: BundleFiles, about: Row) -> Iterator[AskOfItems]:
    design = design_of(bundle, about)
    for of in _ask_rows(bundle, about, ITEMS, judgments_table):
        with lines_named(f"{bundle.path}, data/judgments.jsonl", of.lines):
            found = judged_items(about, of.questions, of.items, of.given, design, of.lines)
            check_labels(of.questions, found.judged, found.occasion)
        yield AskOfItems(of.ask["about"], of.ask["required"], of.questions, found)


def _compared(bundle: BundleFiles, about: Row) -> Iterator[AskOfPairs]:
    design = design_of(bundle, about)
    for of in _ask_rows(bundle, about, PAIRS, pair_judgments_table):
        with lines_named(f"{bundle.path}, data/pair_judgments.jsonl", of.lines):
            found = judged_pairs(about, of.questions, of.items, of.given, design, of.lines)
            check_labels(of.questions, found.judged)
        yield AskOfPairs(of.questions, found)


def _audits(bundle: BundleFiles) -> dict[str, Any]:
    """Of a study whose bots were audited, what they say of themselves."""
    return {"audits": audit_figures(bundle.rows(AUDITS))} if bundle.has(AUDITS) else {}


def _people(bundle: BundleFiles) -> dict[str, Any]:
    """Of a study that asks people about themselves, what they said; bundles of before have nothing of it."""
    asks = bundle.document("study.json").get("questionnaires", [])
    if not asks:
        return {}
    sets = [questions_of(bundle, ask["question_set"]) for ask in asks]
    given = replies(sets, bundle.rows(questionnaires_table(sets)))
    asked = [
        Questionnaire(questions, ask["moment"], ask["required"])
        for questions, ask in zip(sets, asks, strict=True)
    ]
    return {"people": people_figures(asked, given)}


def _self_play(bundle: BundleFiles, about: Row) -> SelfPlayData:
    conversations = {row["dialogue"]: row for row in bundle.rows(CONVERSATIONS)}
    ended = {key: row for key, row in conversations.items() if row["ended_at"]}
    turns: dict[str, list[tuple[str, str]]] = {key: [] for key in ended}
    for row in bundle.rows(TURNS):
        if row["dialogue"] in ended and row["turn"] >= ended[row["dialogue"]]["opening_turns"]:
            turns[row["dialogue"]].append((row["bot"], row["text"]))
    return SelfPlayData(
        names={bot["bot"]: bot["shown_as"] for bot in about["bots"]},
        turns=turns,
        under_way=len(conversations) - len(ended),
        silent=sum(row["ending"] == "bot_failed" for row in ended.values()),
        measures=list(bundle.rows(MEASURES)),
        encoders=about["measured_by"],
    )
