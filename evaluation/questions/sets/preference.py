"""Question sets on which of two is better, with training questions whose answers are beyond doubt.

If a study requires training, raters must first answer all training questions rightly. For a set declared by
researchers, the worked examples after the first are the training questions.
"""

from collections.abc import Iterable, Mapping, Sequence
from types import MappingProxyType

from evaluation.questions.declarations import QuestionSet, example_in
from evaluation.questions.parts import (
    BOTH_BAD,
    FIRST,
    SECOND,
    TIED,
    Answer,
    Choice,
    Example,
    Question,
    Score,
    Subject,
    Term,
)

_FIRST_SECOND_TIED = (Choice(FIRST, "First"), Choice(SECOND, "Second"), Choice(TIED, "Tied"))


def _preference(key: str, wording: str, help_text: str) -> Question:
    return Question(key=key, wording=wording, help=help_text, choices=_FIRST_SECOND_TIED)


def _shares(questions: Iterable[Question]) -> tuple[Score, ...]:
    """Scores for the share of each choice, with titles short enough for one table."""
    return tuple(
        Score(
            f"{each.key}.{number}",
            f"{each.key.capitalize()}: {choice.label.lower()}",
            (Term(each.key, choice.value),),
        )
        for each in questions
        for number, choice in enumerate(each.choices, 1)
    )


_BETTER = (
    _preference(
        "better", "Which of the two is better?", "Your overall impression, given what was said before."
    ),
)
_BEFORE = (("You", "My cat has been hiding under the bed since the move."),)

PREFERENCE = QuestionSet(
    key="preference",
    title="Which of two is better",
    subjects=frozenset({Subject.PAIR}),
    questions=_BETTER,
    scores=_shares(_BETTER),
    source="Li, Weston & Roller 2019, ACUTE-EVAL, arXiv:1909.03087, section 3",
    examples=(
        Example(
            context=_BEFORE,
            response="I like music.",
            other="Poor thing. Give it a quiet corner and a few days.",
            answers={"better": SECOND},
            why="The first has nothing to do with the cat; the second takes up what was said.",
        ),
        Example(
            context=_BEFORE,
            response="Moving is hard on cats. Does she eat?",
            other="Poor thing. Give it a quiet corner and a few days.",
            answers={"better": TIED},
            why="Both take up the cat and the move. Where neither is better, say so.",
        ),
    ),
)

_BETTER_OR_NEITHER = (
    Question(
        key="better",
        wording="Which of the two is better?",
        help="Your overall impression. If both are equally good, say “Tied”. If neither is of any use, say "
        "“Both are bad”.",
        choices=(*_FIRST_SECOND_TIED, Choice(BOTH_BAD, "Both are bad")),
    ),
)

PREFERENCE_BOTH_BAD = QuestionSet(
    key="preference-both-bad",
    title="Which of two is better, or both are bad",
    subjects=frozenset({Subject.PAIR}),
    questions=_BETTER_OR_NEITHER,
    scores=_shares(_BETTER_OR_NEITHER),
    source="Turnwise, in our words; the four answers after Chiang et al. 2024, Chatbot Arena: An Open "
    "Platform for Evaluating LLMs by Human Preference, arXiv:2403.04132, section 4",
    examples=(
        *PREFERENCE.examples,
        Example(
            context=_BEFORE,
            response="I like music.",
            other="The train to the airport leaves at nine.",
            answers={"better": BOTH_BAD},
            why="Neither has anything to do with the cat. Where neither is of any use, say so.",
        ),
    ),
)

_FOUR = (
    _preference("quality", "Which of the two is better as a whole?", "Your overall impression."),
    _preference("fluency", "Which is more fluent?", "Is it well formed, and easy to read?"),
    _preference("relatedness", "Which is more related to what was said before?", "Does it take that up?"),
    _preference("empathy", "Which is more empathic?", "Does it respond to feelings in a fitting way?"),
)

PREFERENCES = QuestionSet(
    key="preferences",
    title="Which of two is better, in four respects",
    subjects=frozenset({Subject.PAIR}),
    questions=_FOUR,
    scores=_shares(_FOUR),
    source="Ghandeharioun et al. 2019, Approximating Interactive Human Evaluation with Self-Play, "
    "arXiv:1906.09308, section 4.1 and appendix A.8",
    examples=(
        Example(
            context=_BEFORE,
            response="Cats are animals with four legs.",
            other="Poor thing. Give it a quiet corner and a few days.",
            answers={"quality": SECOND, "fluency": TIED, "relatedness": SECOND, "empathy": SECOND},
            why="Both are good English. The first only knows what a cat is; the second takes up the move and "
            "feels with the cat.",
        ),
    ),
)


_TRAINED = (PREFERENCE, PREFERENCES, PREFERENCE_BOTH_BAD)


def _compared(
    message: str, first: str, second: str, answers: tuple[str, ...], why: str
) -> tuple[Example, ...]:
    """Make a training pair for each preference set; the first answer is about the whole."""
    return tuple(
        Example(
            context=(("You", message),),
            response=first,
            other=second,
            answers=_named(questions, answers[: len(questions.questions)]),
            why=why,
        )
        for questions in _TRAINED
    )


def _named(questions: QuestionSet, answers: Sequence[str]) -> dict[str, Answer]:
    return {question.key: answer for question, answer in zip(questions.questions, answers, strict=True)}


_PAIRS = (
    _compared(
        "I finally got the job I wanted!",
        "Congratulations, you must be so happy! When do you start?",
        "Job the is many wanted of a.",
        (FIRST, FIRST, FIRST, FIRST),
        "The second is no English sentence; the first takes up the news and is glad with you.",
    ),
    _compared(
        "My dog died last week, and I miss him so much.",
        "The train to the airport leaves at nine.",
        "I am so sorry. You must miss him a lot.",
        (SECOND, TIED, SECOND, SECOND),
        "Both are good English. Only the second has to do with what was said, and feels with you.",
    ),
    _compared(
        "How are you today?",
        "I am fine, thank you. And you?",
        "I'm fine, thanks. And you?",
        (TIED, TIED, TIED, TIED),
        "They say the same in the same way.",
    ),
)

TRAINING: Mapping[str, tuple[Example, ...]] = {
    questions.key: tuple(of_both[number] for of_both in _PAIRS) for number, questions in enumerate(_TRAINED)
}


def training_of(
    questions: QuestionSet, language: str = "en", written: Mapping[str, str] = MappingProxyType({})
) -> tuple[Example, ...]:
    """Training questions of a set that is already in this language.

    Args:
        questions: the set.
        language: its language.
        written: further translations, by English text, which come before those in `languages`.
    """
    if questions.key not in TRAINING:
        return questions.examples[1:]
    return tuple(example_in(example, language, written) for example in TRAINING[questions.key])


def wrong_in(example: Example, questions: QuestionSet, answers: Mapping[str, object]) -> list[str]:
    """Keys of the questions with a wrong answer or none, compared with the example."""
    right = questions.check(example.answers)
    return [key for key, answer in right.items() if answers.get(key) != answer]
