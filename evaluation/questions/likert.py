"""Five ratings of a whole conversation, their sum, and a comment."""

from evaluation.questions.declarations import QuestionSet
from evaluation.questions.parts import Combine, Example, Kind, Question, Scale, Score, Subject, Term


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
_COMMENT = Question(
    key="comment",
    wording="Is there anything else you would like to say about it?",
    help="A few words are enough. You may leave it empty.",
    kind=Kind.TEXT,
    required=False,
)

LIKERT = QuestionSet(
    key="likert",
    title="Five ratings of a whole conversation, 1 to 7",
    subjects=frozenset({Subject.DIALOGUE}),
    questions=(*_QUESTIONS, _COMMENT),
    source="Ghandeharioun et al. 2019, Approximating Interactive Human Evaluation with Self-Play, "
    "arXiv:1906.09308, section 4.2",
    scores=(
        *(Score(each.key, each.key.capitalize(), (Term(each.key),)) for each in _QUESTIONS),
        Score("sum", "Sum of the five", tuple(Term(each.key) for each in _QUESTIONS), Combine.SUM),
    ),
    examples=(
        Example(
            context=(
                ("You", "My dog is ill, and I hardly slept."),
                ("Chatbot", "I am sorry. Has a vet seen her yet?"),
                ("You", "Yes, this morning. Now we wait for the blood test."),
            ),
            response="Waiting is the hardest part. I hope she lets you rest a little tonight.",
            answers={"quality": 6, "diversity": 5, "fluency": 7, "relatedness": 7, "empathy": 7},
            why="It is well written, follows every turn and feels with the owner; with two replies nobody "
            "can tell yet how varied it is.",
        ),
        Example(
            context=(
                ("You", "My dog is ill, and I hardly slept."),
                ("Chatbot", "I like dogs. Do you like dogs?"),
                ("You", "Of course. I am really worried about her."),
            ),
            response="I like dogs. What is your favourite food?",
            answers={"quality": 2, "diversity": 2, "fluency": 7, "relatedness": 2, "empathy": 1},
            why="Each sentence is good English, yet it repeats itself, leaves the subject and passes over "
            "the worry.",
        ),
    ),
)
