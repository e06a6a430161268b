"""Types of the values in a declaration: pydantic checks their limits, and the JSON schema states them."""

from typing import Annotated

from pydantic import BeforeValidator, Field, StrictInt, StringConstraints

from evaluation.questions.errors import DeclarationError

MOST_QUESTIONS = 40
MOST_CHOICES = 50
MOST_SCORES = 200
MOST_EXAMPLES = 20
LONGEST_TEXT_ANSWER = 4000
LARGEST = 1_000_000
_KEY, _SCORE_KEY, _LANGUAGE = 40, 50, 20
_LINE, _CAPTION, _LONG = 300, 120, 4000

NOT_BLANK = r"\S"
SET_KEY = r"^[a-z][a-z0-9-]*$"
QUESTION_KEY = r"^[a-z][a-z0-9_]*$"
SCORE_KEY = r"^[a-z][a-z0-9_.]*$"
LANGUAGE = r"^[a-z]{2,3}(-[A-Za-z0-9]{2,8})*$"

SetKey = Annotated[str, StringConstraints(strict=True, pattern=SET_KEY, max_length=_KEY)]
QuestionKey = Annotated[str, StringConstraints(strict=True, pattern=QUESTION_KEY, max_length=_KEY)]
ScoreKey = Annotated[str, StringConstraints(strict=True, pattern=SCORE_KEY, max_length=_SCORE_KEY)]
Language = Annotated[str, StringConstraints(strict=True, pattern=LANGUAGE, max_length=_LANGUAGE)]
Line = Annotated[str, StringConstraints(strict=True, pattern=NOT_BLANK, max_length=_LINE)]
Caption = Annotated[str, StringConstraints(strict=True, pattern=NOT_BLANK, max_length=_CAPTION)]
Hint = Annotated[str, StringConstraints(strict=True, max_length=_CAPTION)]
"""A caption that may be empty."""
Text = Annotated[str, StringConstraints(strict=True, pattern=NOT_BLANK, max_length=_LONG)]
OptionalText = Annotated[str, StringConstraints(strict=True, max_length=_LONG)]
# The title of a share is the wording of its question and the caption of its choice.
ScoreTitle = Annotated[
    str, StringConstraints(strict=True, pattern=NOT_BLANK, max_length=_LINE + 1 + _CAPTION)
]
WholeNumber = Annotated[StrictInt, Field(ge=-LARGEST, le=LARGEST)]


def _storable(value: object) -> object:
    """Refuse a value that cannot be stored as an answer; a union of types would report one error a type."""
    if not isinstance(value, bool | int | str):
        raise DeclarationError(
            "", f"{value!r:.80} cannot be an answer.", "Give true, false, a whole number or a text."
        )
    if isinstance(value, str):
        if not value.strip():
            raise DeclarationError("", "it is empty.", "Write what is stored.")
        if len(value) > _CAPTION:
            raise DeclarationError(
                "", f"it has {len(value)} characters; {_CAPTION} is the most.", "Shorten it."
            )
    elif abs(value) > LARGEST:
        raise DeclarationError("", f"{value} is out of range.", f"Stay within -{LARGEST} and {LARGEST}.")
    return value


def _answer(value: object) -> object:
    """Refuse values that no question accepts; a later check compares the answer with its question."""
    for each in value if isinstance(value, list | tuple) else (value,):
        if not isinstance(each, bool | int | str):
            raise DeclarationError(
                "", f"{each!r:.80} cannot be an answer.", "Give true, false, a whole number or a text."
            )
    return value


StoredValue = Annotated[bool | int | str, BeforeValidator(_storable)]
"""Stored value of one choice."""
GivenAnswer = Annotated[bool | int | str | list[bool | int | str], BeforeValidator(_answer)]
"""An answer in a worked example; a list for several choices."""
