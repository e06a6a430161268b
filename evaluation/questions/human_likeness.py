"""Whether a person would have said it."""

from evaluation.questions.declarations import QuestionSet
from evaluation.questions.parts import Choice, Example, Question, Score, Subject, Term

HUMAN_LIKENESS = QuestionSet(
    key="human-likeness",
    title="Human-likeness",
    subjects=frozenset({Subject.TURN, Subject.RESPONSE}),
    questions=(
        Question(
            key="human_like",
            wording="Would a person have given this answer?",
            help=(
                "Think of a person in the same conversation at the same moment. Answer Yes if the answer "
                "could well be theirs, even if you would have said something else."
            ),
            choices=(Choice(True, "Yes"), Choice(False, "No")),
        ),
    ),
    source="Adiwardana et al. 2020, arXiv:2001.09977, Figures 2, 9 and 10",
    scores=(Score("human_like", "Human-likeness", (Term("human_like", choice=True),)),),
    examples=(
        Example(
            context=(("You", "I missed my train again this morning."),),
            response="Oh no. Was it the 7:40? I can never catch that one either.",
            answers={"human_like": True},
            why="Somebody who takes the same train could well say that.",
        ),
        Example(
            context=(("You", "I missed my train again this morning."),),
            response="A train is a vehicle. Trains are on time. I was on my train since 1995.",
            answers={"human_like": False},
            why="It strings together facts about trains; nobody would answer a friend like that.",
        ),
    ),
)
