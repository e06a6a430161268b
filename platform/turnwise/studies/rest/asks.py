"""Asks of a study in the REST API."""

from collections.abc import Sequence
from typing import Literal

from ninja import Field, Schema

from turnwise.accounts.models import User
from turnwise.live.problems import InvalidFieldsError
from turnwise.questions.queries import readable
from turnwise.studies.asks import About, AskSpec, Moment
from turnwise.studies.models import Study


class AskSchema(Schema, extra="forbid"):
    """An ask of a study."""

    question_set: str = Field(description="Key of the questions.", max_length=60)
    about: About = Field(description="Subject of the questions.")
    moment: Moment | Literal[""] = Field("", description="When it is asked; empty for readers.")
    required: bool = True


def ask_specs(user: User, sent: Sequence[AskSchema], path: str = "") -> tuple[AskSpec, ...]:
    """Asks as they were sent.

    Args:
        user: the user.
        sent: the asks.
        path: where they stand in the request, with a full stop at its end; empty: at the top.

    Raises:
        InvalidFieldsError: the user cannot use a question set.
    """
    for number, ask in enumerate(sent):
        if not readable(user, ask.question_set):
            says = f"There is no question set “{ask.question_set}” that you can use."
            raise InvalidFieldsError({f"{path}{number}.question_set": [says]})
    return tuple(AskSpec(ask.question_set, ask.about, ask.moment or None, ask.required) for ask in sent)


def ask_schemas(study: Study) -> list[AskSchema]:
    """All asks of a study in their order."""
    return [
        AskSchema(
            question_set=ask.question_set,
            about=About(ask.about),
            moment=Moment(ask.moment) if ask.moment else "",
            required=ask.required,
        )
        for ask in study.asks.all()
    ]
