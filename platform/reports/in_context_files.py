"""What was said in one context as files: CSV, and a table in LaTeX that needs no package."""

from collections.abc import Callable, Mapping, Sequence

from evaluation.latex import escaped, number
from evaluation.questions import Question, QuestionSet, Scalar, is_same
from evaluation.report.figures import coded_questions
from evaluation.spreadsheets import csv_text
from privacy.redacting import redactor_for
from reports.in_context import Ranked, Said
from studies.models import Study


def as_csv(study: Study, questions: QuestionSet, context: Ranked, said: Sequence[Said]) -> str:
    """A row for each response: its scores, and how many raters gave which answer.

    Texts are redacted as in the bundle.
    """
    redactor = redactor_for(study)
    before = "\n".join(redactor(turn) for turn in context.turns)
    answers = [
        (question, choice.value) for question in coded_questions(questions) for choice in question.choices
    ]
    head = ["context", "said_before", "system", "repetition", "response", "raters"]
    head += [score.key for score in questions.scores]
    head += [f"{question.key}={_as_text(value)}" for question, value in answers]
    rows = [
        [
            context.key,
            before,
            each.system,
            each.repetition,
            redactor(each.text),
            len(each.answers),
            *(each.scores[score.key] for score in questions.scores),
            *(_given(each, question, value) for question, value in answers),
        ]
        for each in said
    ]
    return csv_text([head, *rows])


def as_latex(study: Study, questions: QuestionSet, context: Ranked, said: Sequence[Said]) -> str:
    """The context above its responses with their scores; texts are redacted as in the bundle."""
    redactor = redactor_for(study)
    width = 3 + len(questions.scores)
    turns = [
        rf"\multicolumn{{{width}}}{{p{{0.9\textwidth}}}}{{{speaker}: {escaped(redactor(turn))}}} \\"
        for speaker, turn in zip(_speakers(len(context.turns)), context.turns, strict=True)
    ]
    head = ["System", "Response", *(escaped(score.title) for score in questions.scores), "Raters"]
    rows = [
        [
            escaped(each.system),
            escaped(redactor(each.text)),
            *(number(each.scores[score.key]) for score in questions.scores),
            str(len(each.answers)),
        ]
        for each in said
    ]
    notes = escaped(f"Context {context.key}; means over the raters, shares in percent.")
    return "\n".join(
        [
            f"% {notes}",
            rf"\begin{{tabular}}{{lp{{0.4\textwidth}}{'r' * (width - 2)}}}",
            r"\hline",
            *turns,
            r"\hline",
            " & ".join(head) + r" \\",
            r"\hline",
            *(" & ".join(row) + r" \\" for row in rows),
            r"\hline",
            r"\end{tabular}",
            "",
        ]
    )


Made = Callable[[Study, QuestionSet, Ranked, Sequence[Said]], str]
FILES: Mapping[str, tuple[Made, str]] = {"csv": (as_csv, "text/csv"), "tex": (as_latex, "application/x-tex")}
"""By the ending of a file, how it is made, and its type."""


def _speakers(turns: int) -> list[str]:
    """The last turn of a context is always the partner's, whom the system answers."""
    return ["A" if (turns - n) % 2 else "B" for n in range(turns)]


def _given(said: Said, question: Question, value: Scalar) -> int:
    answers = [given[question.key] for given in said.answers if question.key in given]
    chosen = [each if isinstance(each, list) else [each] for each in answers]
    return sum(any(is_same(value, one) for one in each) for each in chosen)


def _as_text(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
