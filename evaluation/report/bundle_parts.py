"""What all studies have in a bundle, as a report reads it: questions, the plan of the analysis, lines."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from evaluation.csv_file import FileError
from evaluation.labels import LabelsError
from evaluation.protocols.facts import AskFact, Design
from evaluation.questions import DeclarationError, QuestionSet
from evaluation.report.analysis import Analysis, AnalysisPlan
from evaluation.report.bundle_files import BundleFiles, Row
from evaluation.report.tables import WORKERS


def questions_of(bundle: BundleFiles, key: str) -> QuestionSet:
    """What was asked, as the bundle declares it."""
    for declared in bundle.listed("questions.json"):
        if isinstance(declared, dict) and declared.get("key") == key:
            try:
                return QuestionSet.from_json(declared)
            except DeclarationError as error:
                raise FileError(f"{bundle.path}, questions.json: {error}") from None
    raise FileError(
        f"{bundle.path}: questions.json does not declare the set “{key}”. Download the bundle again."
    )


def design_of(bundle: BundleFiles, about: Row) -> Design:
    """Which protocol the study was made by, and what it asks."""
    asks = [
        AskFact(
            ask["question_set"],
            ask["about"],
            ask["moment"] or "",
            ask["required"],
            questions_of(bundle, ask["question_set"]).title,
        )
        for ask in about["asks"]
    ]
    return Design(about["protocol"]["protocol"], asks)


def plan_of(bundle: BundleFiles, about: Row) -> AnalysisPlan:
    """What the study declared, and who was excluded since."""
    excluded = {w["rater"]: w["excluded_reason"] for w in bundle.rows(WORKERS) if w["excluded_at"]}
    declared = about["protocol"]
    primary, rules = Analysis(declared["primary_analysis"]), declared["exclusion_rules"]
    # Bundles of before margins were declared have none.
    return AnalysisPlan(primary, rules, excluded, declared.get("margin"))


@contextmanager
def lines_named(file: str, lines: Sequence[int]) -> Iterator[None]:
    """Labels that cannot be true are refused with the lines on which they stand."""
    try:
        yield
    except LabelsError as error:
        where = "" if error.row is None else f", line {lines[error.row]}"
        before = "" if error.earlier is None else f" See line {lines[error.earlier]}."
        raise FileError(f"{file}{where}, column {error.column}: {error.problem}{before}") from None
