"""The bytes of a file as numbered lines of text, bounded."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import BinaryIO

LONGEST_LINE = 1_000_000  # bytes


class UnreadableError(Exception):
    """The file cannot be read on from this line.

    Attributes:
        line: counted from 1.
        what: what is wrong there, and what to do.
    """

    def __init__(self, line: int, what: str) -> None:
        self.line = line
        self.what = what
        super().__init__(f"line {line}: {what}")


@dataclass(frozen=True, slots=True)
class Source:
    """A file of conversations, open for reading from its beginning."""

    file: BinaryIO

    def lines(self) -> Iterator[tuple[int, str]]:
        """Each line with its number, counted from 1, without its end; read one at a time.

        Raises:
            UnreadableError: a line that is not UTF-8, or longer than `LONGEST_LINE`.
        """
        number = 0
        while line := self.file.readline(LONGEST_LINE + 1):
            number += 1
            if len(line) > LONGEST_LINE:
                longest = f"{LONGEST_LINE // 10**6}\u00a0MB"
                raise UnreadableError(
                    number, f"The line is longer than {longest}. Choose another format, or break it up."
                )
            yield number, _decoded(line, number).rstrip("\r\n")

    def text(self) -> str:
        """Everything at once, for formats that are one JSON document.

        Raises:
            UnreadableError: it is not UTF-8.
        """
        return _decoded(self.file.read(), 1)


def _decoded(data: bytes, number: int) -> str:
    try:
        text = data.decode()
    except UnicodeDecodeError as error:
        line = number + data.count(b"\n", 0, error.start)
        raise UnreadableError(
            line,
            f"Byte 0x{data[error.start]:02x} is not UTF-8 text. Save the file as UTF-8 and upload it again.",
        ) from error
    return text.removeprefix("\ufeff") if number == 1 else text
