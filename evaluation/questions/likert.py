"""Five ratings of a whole conversation, and their sum."""

from evaluation.questions.declarations import QuestionSet
from evaluation.questions.parts import Combine, Kind, Question, Scale, Score, Subject, Term


def _rating(
    key: str, wording: str, help_text: str, low: str = "not at all", high: str = "extremely"
) -> Question:
    return Question(key=key, wording=wording, help=help_text, kind=Kind.SCALE, scale=Scale(1, 7, low, high))


_QUESTIONS = (
    _rating("quality", "How good is the conversation as a whole?", "Your overall impression.",
            "very poor", "very high"),
    _rating("diversity", "How varied is it?", "Does it say new things, or repeat itself?"),
    _rating("fluency", "How fluent is it?", "Is it well formed, and easy to read?"),
    _rating("relatedness", "How related are the answers?", "Do they take up what was said before?"),
    _rating("empathy", "How empathic is it?", "Does it respond to feelings in a fitting way?"),
)  # fmt: skip

LIKERT = QuestionSet(
    key="likert",
    title="Five ratings of a whole conversation, 1 to 7",
    subjects=frozenset({Subject.DIALOGUE}),
    questions=_QUESTIONS,
    source="Ghandeharioun et al. 2019, Approximating Interactive Human Evaluation with Self-Play, "
    "arXiv:1906.09308, section 4.2",
    scores=(
        *(Score(each.key, each.key.capitalize(), (Term(each.key),)) for each in _QUESTIONS),
        Score("sum", "Sum of the five", tuple(Term(each.key) for each in _QUESTIONS), Combine.SUM),
    ),
)
