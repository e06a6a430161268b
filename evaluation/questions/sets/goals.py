"""Question set on whether the person reached the goal that a scenario gave them."""

from evaluation.questions.declarations import QuestionSet
from evaluation.questions.parts import Choice, Question, Score, Subject, Term

GOAL = QuestionSet(
    key="goal",
    title="Goal reached?",
    subjects=frozenset({Subject.DIALOGUE}),
    questions=(
        Question(
            key="goal_reached",
            wording="Did you reach your goal?",
            help="Your goal is what you were to do in this conversation.",
            choices=(Choice("yes", "Yes"), Choice("partly", "Partly"), Choice("no", "No")),
        ),
    ),
    source="Turnwise",
    scores=(
        Score("reached", "Goal reached", (Term("goal_reached", choice="yes"),)),
        Score("partly", "Goal partly reached", (Term("goal_reached", choice="partly"),)),
        Score("missed", "Goal not reached", (Term("goal_reached", choice="no"),)),
    ),
)
