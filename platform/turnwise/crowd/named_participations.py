"""Participations that a call of the REST API names, by pseudonym and number."""

from collections.abc import Sequence
from typing import Annotated

from django.db.models import Q
from ninja import Field, Schema
from pydantic import StringConstraints

from turnwise.crowd.models import Participation
from turnwise.live.list_pages import MOST_TICKED
from turnwise.live.problems import InvalidFieldsError
from turnwise.studies.models import Study

Pseudonym = Annotated[str, StringConstraints(pattern=r"^[A-Z0-9]{1,20}$")]
Number = Annotated[int, Field(ge=1, le=32_000, description="Which time they took part, from 1.")]


class PersonIn(Schema, extra="forbid"):
    """A participation of a study."""

    worker: Pseudonym = Field(description="Pseudonym in this study.")
    number: Number = 1


People = Annotated[list[PersonIn], Field(min_length=1, max_length=MOST_TICKED)]


def chosen_participations(study: Study, people: Sequence[PersonIn], field: str) -> list[Participation]:
    """Find the named participations, in the order in which they are named, each once.

    Args:
        study: the study.
        people: whom the call names.
        field: field of the request that names them.

    Raises:
        InvalidFieldsError: one of them does not exist.
    """
    wanted = list(dict.fromkeys((each.worker, each.number) for each in people))
    named = Q(pseudonym__in=[worker for worker, _number in wanted])
    rows = study.participations.filter(named).select_related("worker", "entered_by", "study")
    known = {(row.pseudonym, row.number): row for row in rows}
    for position, (worker, number) in enumerate(wanted):
        if (worker, number) not in known:
            says = f"No worker {worker} took part {number} times. GET …/participants lists all."
            raise InvalidFieldsError({f"{field}.{position}.worker": [says]})
    return [known[each] for each in wanted]
