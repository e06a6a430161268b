"""Files in requests of the REST API: their text, limits, and problems by line."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from ninja import Field, Schema
from ninja.errors import HttpError

from turnwise.accounts.access import AuthenticatedHttpRequest
from turnwise.accounts.limits import TooManyAtOnceError, limit_concurrency, too_often
from turnwise.contexts.tables import FileRefusedError, Finding, decoded
from turnwise.live.problems import InvalidFieldsError

MOST_NAMED = 20
"""Most problems of a file that an answer names."""


class FileIn(Schema, extra="forbid"):
    """A file in a request."""

    text: str = Field(min_length=1, description="The whole file.")
    origin: str = Field("", max_length=200, description="Its name, or where it comes from.")

    def content(self) -> str:
        """Text of the file, without a byte order mark.

        Raises:
            InvalidFieldsError: it is empty, too long, or no text.
        """
        try:
            return decoded(self.text.encode(), too_large="Split it into several.")
        except FileRefusedError as error:
            raise InvalidFieldsError({"text": [str(error)]}) from None


@contextmanager
def reading_a_file(request: AuthenticatedHttpRequest) -> Iterator[None]:
    """Limit how many files a person has read, as pages do.

    Raises:
        HttpError: there are too many (429).
    """
    if too_often(request, "imports", rate="60/m", key="user"):
        raise HttpError(429, "Files can be read 60 times a minute. Wait a little.")
    try:
        with limit_concurrency(1, "imports", request.user.pk):
            yield
    except TooManyAtOnceError:
        raise HttpError(
            429, "One file of yours is read at a time, and one is being read now. Wait."
        ) from None


def refuse_findings(problems: Sequence[Finding]) -> None:
    """Refuse a file with problems.

    Raises:
        InvalidFieldsError: the first of them, with their lines.
    """
    if not problems:
        return
    named = [f"Line {each.line}: {each.say}" for each in problems[:MOST_NAMED]]
    if len(problems) > MOST_NAMED:
        named.append(f"There are {len(problems) - MOST_NAMED} further problems.")
    raise InvalidFieldsError({"text": named})
