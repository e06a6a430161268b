"""Which of two is better, or neither."""

from collections.abc import Iterable

from evaluation.questions.declarations import QuestionSet
from evaluation.questions.parts import (
    FIRST,
    SECOND,
    TIED,
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
    """How often each side is preferred, and neither; with names short enough for a table of all of them."""
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
