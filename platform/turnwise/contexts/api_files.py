"""Files of text in requests of the REST API, and their problems by line."""

from collections.abc import Sequence

from ninja import Field, Schema

from turnwise.accounts.uploads_api import MOST_NAMED
from turnwise.contexts.tables import FileRefusedError, Finding, decoded
from turnwise.live.problems import InvalidFieldsError


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
