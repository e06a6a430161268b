"""Reception of one answer: its bytes become events, the events a reply, and the text so far is shown."""

import asyncio
from collections.abc import Iterator, Mapping
from time import monotonic
from typing import Any

from chatbots.errors import ServiceError
from chatbots.services.answering import Show
from chatbots.services.client import ByteStream, TooManyBytesError
from chatbots.services.event_streams import DONE, BodyParser
from chatbots.services.replies import ReplyReader, kind_of

SECONDS_AFTER_FINAL = 2.0
"""Longest wait for the usage and the end of a stream after the final event of its text."""

SECONDS_AFTER_DONE = 0.05
"""Longest wait for the end of a stream after its mark, so that the connection can be used again."""


class Reception:
    """Passes the body of one answer to its reader, and the text so far to whoever shows it."""

    def __init__(self, reader: ReplyReader, show: Show) -> None:
        self.reader, self._show = reader, show
        self._started = monotonic()
        self._shown_chars = 0
        self.first_seconds: float | None = None

    async def receive(self, stream: ByteStream, parser: BodyParser) -> None:
        """Read the body to its end, or as far as it matters.

        Raises:
            ServiceError: the body is broken, or ends before the reply does.
        """
        try:
            if not await self._read_parts(stream, parser):
                self._read(parser.finish())
        except TooManyBytesError as error:
            if not self.reader.characters or parser.is_whole:
                raise
            self.reader.cut(f"{error} The rest was not read.")
            return
        except ServiceError as error:
            if not self.reader.is_final:
                raise
            self.reader.remark(f"after the final event: {error}")
        self._check_end()

    async def _read_parts(self, stream: ByteStream, parser: BodyParser) -> bool:
        """Read until the end of the body; True if the service marked the end of its events."""
        loop, is_done = asyncio.get_running_loop(), False
        try:
            async with asyncio.timeout(None) as limit:
                async for part in stream.parts():
                    if is_done:
                        continue
                    is_done = self._read(parser.feed(part))
                    if self.reader.is_final:
                        rest = SECONDS_AFTER_DONE if is_done else SECONDS_AFTER_FINAL
                        limit.reschedule(loop.time() + rest)
        except TimeoutError:
            if is_done:
                return True
            self.reader.remark("the service did not end its stream after the final event")
            return True
        return is_done

    def _read(self, events: Iterator[Any]) -> bool:
        """Read the events and show what they add to the text; True if one of them was the mark of the end."""
        is_done = False
        for event in events:
            if event is DONE:
                self.reader.is_final = is_done = True
                break
            if not isinstance(event, Mapping):
                raise ServiceError(f"{self.reader.url} answered {kind_of(event)} instead of an object.")
            self.reader.read(event)
            if self.first_seconds is None and self.reader.visible_text and not self.reader.is_final:
                self.first_seconds = monotonic() - self._started
        if len(text := self.reader.visible_text) > self._shown_chars:
            self._shown_chars = len(text)
            self._show(text)
        return is_done

    def _check_end(self) -> None:
        reader = self.reader
        if not reader.is_final:
            received = f"{reader.characters:,} characters" if reader.characters else "nothing"
            raise ServiceError(
                f"{reader.url} ended its answer before the reply was complete, after {received}. Ask again."
            )
