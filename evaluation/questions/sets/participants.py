"""Questions about the people who take part: who they are, before they begin, and how it was for them."""

from evaluation.questions.declarations import QuestionSet
from evaluation.questions.parts import Choice, Condition, Kind, Question, Scale, Subject

_UNDISCLOSED = Choice("undisclosed", "I would rather not say")


def _one(key: str, wording: str, *choices: Choice, help_text: str = "") -> Question:
    """Make a question with a list of choices and the choice not to say."""
    return Question(key=key, wording=wording, help=help_text, choices=(*choices, _UNDISCLOSED))


DEMOGRAPHICS = QuestionSet(
    key="demographics",
    title="Age, gender, language, and use of chatbots",
    subjects=frozenset({Subject.PERSON}),
    questions=(
        _one(
            "age",
            "How old are you?",
            Choice("18-24", "18 to 24"),
            Choice("25-34", "25 to 34"),
            Choice("35-44", "35 to 44"),
            Choice("45-54", "45 to 54"),
            Choice("55-64", "55 to 64"),
            Choice("65+", "65 or older"),
        ),
        _one(
            "gender",
            "What is your gender?",
            Choice("woman", "Woman"),
            Choice("man", "Man"),
            Choice("non_binary", "Non-binary"),
            Choice("own_words", "I describe it myself"),
        ),
        Question(
            key="gender_in_own_words",
            wording="How do you describe your gender?",
            kind=Kind.TEXT,
            longest=100,
            required=False,
            asked_if=Condition("gender", ("own_words",)),
        ),
        _one(
            "language",
            "How well do you know the language of this study?",
            Choice("first", "It is a first language of mine"),
            Choice("fluent", "I am fluent in it"),
            Choice("well", "I read and write it well"),
            Choice("some", "I get by with some effort"),
            help_text="The language in which you read this page.",
        ),
        _one(
            "chatbots",
            "How often do you use chatbots?",
            Choice("daily", "Every day"),
            Choice("weekly", "Every week"),
            Choice("monthly", "Every month"),
            Choice("rarely", "Less often"),
            Choice("never", "Never so far"),
            help_text="Any program that you talk or write with in your own words, for work or for fun.",
        ),
    ),
    source="Turnwise",
)

FEEDBACK = QuestionSet(
    key="feedback",
    title="How taking part was: instructions, pages, pay",
    subjects=frozenset({Subject.PERSON}),
    questions=(
        Question(
            key="instructions",
            wording="How clear were the instructions?",
            kind=Kind.SCALE,
            scale=Scale(1, 5, "not clear at all", "completely clear"),
        ),
        Question(
            key="pages",
            wording="Did the pages work as they should?",
            choices=(
                Choice("well", "Yes, all the time"),
                Choice("nearly", "With small problems"),
                Choice("badly", "With serious problems"),
            ),
        ),
        Question(
            key="problems",
            wording="What went wrong?",
            help="A few words are enough.",
            kind=Kind.TEXT,
            required=False,
            asked_if=Condition("pages", ("nearly", "badly")),
        ),
        _one(
            "pay",
            "Is the pay fair for the time that it took you?",
            Choice("low", "No, it is too little"),
            Choice("fair", "Yes, it is fair"),
            Choice("high", "It is more than I expected"),
            Choice("unpaid", "I am not paid for this"),
        ),
        Question(
            key="anything_else",
            wording="Is there anything that we should know?",
            help="Whatever helps us to do it better, or to understand what you did.",
            kind=Kind.TEXT,
            longest=2000,
            required=False,
        ),
    ),
    source="Turnwise",
)
