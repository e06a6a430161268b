"""Training questions: things to judge whose answers are beyond doubt, in our own words.

Whoever is to judge answers all of them rightly first, where a study asks for it. A set that researchers
declare is trained by its worked examples but the first, which stays one.
"""

from collections.abc import Mapping, Sequence

from evaluation.questions.declarations import QuestionSet
from evaluation.questions.parts import FIRST, SECOND, TIED, Answer, Example
from evaluation.questions.preference import PREFERENCE, PREFERENCES
from evaluation.questions.translation import example_in


def _compared(said: str, first: str, second: str, answers: tuple[str, ...], why: str) -> tuple[Example, ...]:
    """The same pair for each set of preferences: the first answer is about the whole."""
    return tuple(
        Example(
            context=(("You", said),),
            response=first,
            other=second,
            answers=_named(questions, answers[: len(questions.questions)]),
            why=why,
        )
        for questions in (PREFERENCE, PREFERENCES)
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
    questions.key: tuple(of_both[number] for of_both in _PAIRS)
    for number, questions in enumerate((PREFERENCE, PREFERENCES))
}


def training_of(questions: QuestionSet, language: str = "en") -> tuple[Example, ...]:
    """The training questions of a set, which is in this language itself; none if it has none."""
    if questions.key not in TRAINING:
        return questions.examples[1:]
    return tuple(example_in(example, language) for example in TRAINING[questions.key])


def wrong_in(example: Example, questions: QuestionSet, answers: Mapping[str, object]) -> list[str]:
    """Keys of the questions that are answered otherwise than in the example, or not at all."""
    right = questions.check(example.answers)
    return [key for key, answer in right.items() if answers.get(key) != answer]
