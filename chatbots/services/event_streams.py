"""Parsers of the bodies in which services send replies: server-sent events, JSON lines, one JSON document.

Source: html.spec.whatwg.org, section "Server-sent events"; jsonlines.org.
"""

import json
import re
from abc import ABC, abstractmethod
from collections.abc import Iterator
from typing import Any

from chatbots.errors import ServiceError
from chatbots.services.client import MOST_BYTES, TooManyBytesError

DONE = object()
"""Event after which nothing else is read: the line `data: [DONE]` of OpenAI's streams."""

_END_OF_LINE = re.compile(rb"\r\n|\n|\r(?=.)", re.DOTALL)
_EXCERPT = 200


class BodyParser(ABC):
    """Parses a body that arrives in parts of any size.

    Args:
        url: of the service, for messages.
    """

    def __init__(self, url: str) -> None:
        self._url = url

    @property
    def is_whole(self) -> bool:
        """True if the body is one document instead of a stream of events."""
        return False

    @abstractmethod
    def feed(self, part: bytes) -> Iterator[Any]:
        """Yield the parsed JSON of each event, or `DONE`, that is complete with this part.

        Raises:
            ServiceError: an event is no JSON, not in UTF-8 or longer than `MOST_BYTES`.
        """

    @abstractmethod
    def finish(self) -> Iterator[Any]:
        """Yield the events that only the end of the body completes.

        Raises:
            ServiceError: as `feed`; or the body ends in the middle of an event.
        """

    def parsed(self, data: bytes) -> Any:
        """Parse one event.

        Raises:
            ServiceError: it is no JSON, or not in UTF-8.
        """
        try:
            return json.loads(data.decode("utf-8"))
        except UnicodeDecodeError as error:
            where = "ended in the middle of a character" if error.end == len(data) else "sent broken UTF-8"
            raise ServiceError(f"{self._url} {where}: {self.excerpt(data)}") from None
        except (ValueError, RecursionError):
            raise ServiceError(f"{self._url} sent an event that is no JSON: {self.excerpt(data)}") from None

    def excerpt(self, data: bytes) -> str:
        """Return the beginning of data for a message."""
        return data[:_EXCERPT].decode("utf-8", "replace").strip() or "nothing"

    def check_length(self, length: int) -> None:
        """Refuse an event that is too long.

        Raises:
            TooManyBytesError: it is longer than `MOST_BYTES`.
        """
        if length > MOST_BYTES:
            raise TooManyBytesError(
                f"{self._url} sent more than {MOST_BYTES:,} bytes in one event. Make it send the reply only."
            )


class WholeBody(BodyParser):
    """One JSON document, parsed at its end."""

    def __init__(self, url: str) -> None:
        """Start empty."""
        super().__init__(url)
        self._body = bytearray()

    @property
    def is_whole(self) -> bool:
        """True."""
        return True

    def feed(self, part: bytes) -> Iterator[Any]:
        """Collect; yields nothing."""
        self._body += part
        self.check_length(len(self._body))
        yield from ()

    def finish(self) -> Iterator[Any]:
        """Yield the document."""
        try:
            document = json.loads(self._body)
        except (ValueError, RecursionError):
            excerpt = self.excerpt(bytes(self._body))
            raise ServiceError(f"{self._url} did not answer with JSON: {excerpt}") from None
        yield document


class _Lines(BodyParser):
    """A body of lines, which end in LF, CR LF or CR."""

    def __init__(self, url: str) -> None:
        super().__init__(url)
        self._rest: list[bytes] = []
        self._length = 0

    def feed(self, part: bytes) -> Iterator[Any]:
        """Parse the lines that are complete."""
        self._rest.append(part)
        self._length += len(part)
        if b"\n" in part or b"\r" in part:
            *lines, rest = _END_OF_LINE.split(b"".join(self._rest))
            self._rest, self._length = [rest], len(rest)
            for line in lines:
                yield from self.line(line)
        self.check_length(self._length)

    def finish(self) -> Iterator[Any]:
        """Parse the last line, whose end may be missing."""
        if rest := b"".join(self._rest).rstrip(b"\r"):
            yield from self.line(rest)

    @abstractmethod
    def line(self, line: bytes) -> Iterator[Any]:
        """Parse one line."""


class JSONLines(_Lines):
    """One JSON document a line; blank lines are left out."""

    def line(self, line: bytes) -> Iterator[Any]:
        """Yield the line's document."""
        if line.strip():
            yield self.parsed(line)


class ServerSentEvents(_Lines):
    """Server-sent events with JSON as data; a service that answers with one JSON document is understood, too.

    Names and ids of events are left out: the services repeat them in the data.
    """

    def __init__(self, url: str) -> None:
        """Start empty."""
        super().__init__(url)
        self._data: list[bytes] = []
        self._whole: WholeBody | None = None
        self._has_begun = False

    @property
    def is_whole(self) -> bool:
        """True if the service sent one document instead."""
        return self._whole is not None

    def feed(self, part: bytes) -> Iterator[Any]:
        """Parse the events that are complete."""
        if not self._has_begun and (begin := part.removeprefix(b"\xef\xbb\xbf").lstrip()):
            part, self._has_begun = begin, True
            self._whole = WholeBody(self._url) if begin[:1] in b"{[" else None
        if self._has_begun:
            yield from self._whole.feed(part) if self._whole else super().feed(part)

    def finish(self) -> Iterator[Any]:
        """Parse the last event, after which the blank line may be missing."""
        if self._whole:
            yield from self._whole.finish()
            return
        yield from super().finish()
        yield from self._event()

    def line(self, line: bytes) -> Iterator[Any]:
        """Collect the event's data; yield it at the blank line that ends the event."""
        if not line:
            yield from self._event()
            return
        name, _, value = line.partition(b":")
        if name == b"data":
            self._data.append(value.removeprefix(b" "))
            self.check_length(sum(map(len, self._data)))

    def _event(self) -> Iterator[Any]:
        data, self._data = b"\n".join(self._data), []
        if data.strip() == b"[DONE]":
            yield DONE
        elif data.strip():
            yield self.parsed(data)
