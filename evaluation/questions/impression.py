"""What a reply makes one think of whoever gave it, and why."""

from evaluation.questions.declarations import QuestionSet
from evaluation.questions.parts import Kind, Question, Scale, Score, Subject, Term


def _statement(key: str, wording: str, help_text: str) -> Question:
    scale = Scale(1, 7, "strongly disagree", "strongly agree")
    return Question(key=key, wording=wording, help=help_text, kind=Kind.SCALE, scale=scale)


_STATEMENTS = (
    _statement("appropriate", "The reply is appropriate.", "Does it fit what was said before?"),
    _statement("trustworthy", "The reply is trustworthy.", "Could you rely on whoever answers like this?"),
    _statement("friendly", "The reply is friendly.", "Is it kind to the person it answers?"),
)

REPLY_IMPRESSION = QuestionSet(
    key="reply-impression",
    title="Appropriate, trustworthy and friendly, 1 to 7, and why",
    subjects=frozenset({Subject.RESPONSE}),
    questions=(
        *_STATEMENTS,
        Question(
            key="reason",
            wording="Why do you rate it like this?",
            help="A few words are enough.",
            kind=Kind.TEXT,
            longest=500,
            required=False,
        ),
    ),
    source="Gros, Li & Yu 2021, The R-U-A-Robot Dataset, ACL, section 6",
    scores=tuple(Score(each.key, each.key.capitalize(), (Term(each.key),)) for each in _STATEMENTS),
)
