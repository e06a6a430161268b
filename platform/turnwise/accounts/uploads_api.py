"""Uploads in requests of the REST API: their bytes, and limits as on pages."""

from base64 import b64decode
from collections.abc import Iterator
from contextlib import contextmanager

from ninja import Field, Schema
from ninja.errors import HttpError

from turnwise.accounts.access import AuthenticatedHttpRequest
from turnwise.accounts.limits import TooManyAtOnceError, limit_concurrency, too_often
from turnwise.live.problems import InvalidFieldsError

MOST_NAMED = 20
"""Most problems of a file that an answer names."""


class UploadIn(Schema, extra="forbid"):
    """A file in a request, as text or, of packed formats, in base64."""

    name: str = Field(min_length=1, max_length=200, description="Name of the file with its ending.")
    text: str | None = Field(None, description="The whole file, if it is text.")
    base64: str | None = Field(None, description="The whole file in base64, such as of a workbook.")

    def data(self) -> bytes:
        """Bytes of the file.

        Raises:
            InvalidFieldsError: there is not exactly one of text and base64, or it is no base64.
        """
        if (self.text is None) == (self.base64 is None):
            raise InvalidFieldsError({"text": ["Send the file either in `text` or in `base64`."]})
        if self.text is not None:
            return self.text.encode()
        try:
            return b64decode(self.base64 or "", validate=True)
        except ValueError:
            raise InvalidFieldsError({"base64": ["This is no base64."]}) from None


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
