"""Question sets with ratings: human-likeness, five ratings of a conversation, optional votes on replies."""

from evaluation.questions.declarations import QuestionSet
from evaluation.questions.parts import Choice, Combine, Example, Kind, Question, Scale, Score, Subject, Term

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
