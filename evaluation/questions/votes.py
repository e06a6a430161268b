"""A thumb up or down for a reply, which nobody has to give."""

from evaluation.questions.declarations import QuestionSet
from evaluation.questions.parts import Choice, Question, Score, Subject, Term

VOTES = QuestionSet(
    key="votes",
    title="Votes for single replies",
    subjects=frozenset({Subject.TURN}),
    questions=(
        Question(
            key="vote",
            wording="Do you like this reply?",
            help="Vote whenever a reply strikes you as good or bad. You need not vote on every one.",
            choices=(Choice(-1, "Down", "a bad reply"), Choice(1, "Up", "a good reply")),
            required=False,
        ),
    ),
    source="Ghandeharioun et al. 2019, Approximating Interactive Human Evaluation with Self-Play, "
    "arXiv:1906.09308, appendix A.9",
    scores=(
        Score("up", "Votes up", (Term("vote", choice=1),)),
        Score("vote", "Mean vote", (Term("vote"),)),
    ),
)
