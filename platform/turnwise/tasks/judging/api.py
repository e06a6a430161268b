"""REST API of second groups of readers: make one, and compare both groups."""

from typing import Any

from ninja import Field, Router, Schema, Status
from ninja.errors import HttpError

from turnwise.accounts.access import AuthenticatedHttpRequest
from turnwise.accounts.credentials import PEOPLE
from turnwise.accounts.limits import too_often
from turnwise.judging.readers import second_group
from turnwise.live.http_responses import answers, refusals_as_conflicts
from turnwise.live.problems import InvalidFieldsError
from turnwise.tasks.judging.second_groups import (
    MOST,
    MOST_RATERS,
    MOST_SEED,
    compared_studies,
    create_second_group,
    second_groups_of,
    source_study,
)

router = Router(tags=["studies"])


class SecondGroupIn(Schema, extra="forbid"):
    """The sample for a second group, and its raters."""

    number: int = Field(
        100, ge=1, le=MOST, description="Contexts or conversations, as many of each system as of any other."
    )
    raters: int = Field(5, ge=1, le=MOST_RATERS, description="Raters for each item.")
    seed: int = Field(1, ge=0, le=MOST_SEED, description="The same seed draws the same ones.")
    language: str | None = Field(None, description="Of the conversations; null: the study's first language.")


class SecondGroupOut(Schema):
    """A study whose raters judge a part of another one."""

    code: str
    title: str
    state: str = Field(description="draft, open, paused or closed.")


class MadeGroupOut(SecondGroupOut):
    """A second group that was made, as a draft."""

    items: int


class ComparedGroupsOut(Schema):
    """Scores of both groups over the items that both judged."""

    first: str
    second: str
    rows: list[dict[str, Any]] = Field(
        description="One for each ask, system and score, with the columns of the page's CSV file: values of "
        "both groups and their difference with intervals, and the agreement of their majorities."
    )


@router.get("/studies/{slug:code}/second-groups", response=answers(list[SecondGroupOut], 404))
def second_groups(request: AuthenticatedHttpRequest, code: str) -> list[SecondGroupOut]:
    """List the studies whose raters judge items or conversations of this one by the same questions."""
    study = source_study(request.user, code=code)
    return [
        SecondGroupOut(code=each.code, title=each.title, state=each.state)
        for each in second_groups_of(study, request.user)
    ]


@router.post(
    "/studies/{slug:code}/second-groups",
    response=answers(MadeGroupOut, 404, 409, status=201, has_body=True),
)
def make_second_group(
    request: AuthenticatedHttpRequest, code: str, sent: SecondGroupIn
) -> Status[MadeGroupOut]:
    """Draw a sample for a second group of readers, and make its study as a draft."""
    source = source_study(request.user, code=code)
    if sent.language and sent.language not in source.languages:
        cure = f"{sent.language[:40]} is none of {', '.join(source.languages)}."
        raise InvalidFieldsError({"language": [cure]})
    with refusals_as_conflicts():
        made, added = create_second_group(source, **sent.dict(), by=request.user)
    return Status(201, MadeGroupOut(code=made.code, title=made.title, state=made.state, items=added.items))


@router.get(
    "/studies/{slug:code}/second-groups/{slug:other}",
    response=answers(ComparedGroupsOut, 404, 429),
    openapi_extra=PEOPLE,
)
def compare_second_group(request: AuthenticatedHttpRequest, code: str, other: str) -> ComparedGroupsOut:
    """Compare the scores of both groups over the items that both judged."""
    if too_often(request, "compare", rate="60/m", key="user"):
        raise HttpError(429, "Groups can be compared 60 times a minute. Wait a little.")
    first, second = compared_studies(request.user, {"code": code}, {"code": other})
    columns, *rows = second_group.csv_rows(second_group.compare_groups(first, second))
    named = [dict(zip(map(str, columns), row, strict=True)) for row in rows]
    return ComparedGroupsOut(first=first.code, second=second.code, rows=named)
