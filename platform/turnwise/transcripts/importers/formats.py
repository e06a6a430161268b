"""Data types of importers, the registry of formats, and reading a file as bounded lines of text."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, BinaryIO, TypeAlias

from turnwise.contexts.packed_files import PackedFileError, kind_of, parquet_records, workbook_rows

if TYPE_CHECKING:
    from evaluation.questions import Answer


LONGEST_LINE = 8_000_000  # bytes


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
class ResearcherSets:
    """Question sets of researchers that labels of a file may name.

    Attributes:
        declarations: those that a file names, by key, as `QuestionSet.to_json` gives them.
        keys: keys that a refusal lists.
    """

    declarations: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    keys: Sequence[str] = ()


@dataclass(frozen=True, slots=True)
class Source:
    """A file of conversations, open for reading from its beginning.

    Attributes:
        file: its bytes.
        columns: for tables, the column of each part of a turn, as the researcher chose them; empty: guessed.
        researcher_sets: question sets of researchers that labels may name.
    """

    file: BinaryIO
    columns: Mapping[str, str] = field(default_factory=dict)
    researcher_sets: ResearcherSets = field(default_factory=ResearcherSets)

    @property
    def is_parquet(self) -> bool:
        return self._kind() == "parquet"

    @property
    def is_workbook(self) -> bool:
        return self._kind() == "workbook"

    def _kind(self) -> str:
        try:
            return kind_of(self.file)
        except PackedFileError as error:
            raise UnreadableError(1, str(error)) from error

    def parquet_records(self) -> Iterator[tuple[int, dict[str, Any]]]:
        """Records of a Parquet file with their row numbers.

        Raises:
            UnreadableError: the file is damaged or too large.
        """
        try:
            yield from parquet_records(self.file)
        except PackedFileError as error:
            raise UnreadableError(1, str(error)) from error

    def workbook_rows(self) -> Iterator[tuple[int, list[str]]]:
        """Rows of a workbook's first sheet with their numbers.

        Raises:
            UnreadableError: the workbook is damaged or too large.
        """
        try:
            yield from workbook_rows(self.file)
        except PackedFileError as error:
            raise UnreadableError(1, str(error)) from error

    def first_line(self) -> str:
        """First line that is not blank, as far as it can be read; the file is at its beginning again."""
        first = b""
        while not first.strip() and (line := self.file.readline(LONGEST_LINE)):
            first = line
        self.file.seek(0)
        return first.decode(errors="ignore").removeprefix("\ufeff")

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
        """Read the whole file, for formats that are one JSON document.

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


Given: TypeAlias = "Mapping[str, Mapping[str, Answer]]"
"""Answers given outside, by key of the question set."""
ByRater: TypeAlias = Mapping[str, "Given"]
"""Answers given outside by several people, by what the file calls each of them."""


@dataclass(frozen=True, slots=True)
class Read:
    """Reading material of a speaker; the fields are those of `dialogues.Material`."""

    key: str
    title: str
    heading: str
    text: str
    points: Sequence[str] = ()
    variant: str = ""


@dataclass(frozen=True, slots=True)
class Utterance:
    """One utterance of a file.

    Attributes:
        speaker: name of the speaker.
        text: what they said.
        line: its first line in the file.
        at: time as ISO 8601 with the offset from UTC; empty if unknown.
        given: answers of the conversation's rater about it.
        own: the speaker's answers about it.
        heard: the partner's answers about it.
        by_rater: answers of several raters about it.
        kind: "system" for a system message, "tool" for a tool's answer; empty for a turn.
        generation: how a reply came about, in the form of the column (bots/generation.py); {} if unknown.
    """

    speaker: str
    text: str
    line: int
    at: str = ""
    given: Given = field(default_factory=dict)
    own: Given = field(default_factory=dict)
    heard: Given = field(default_factory=dict)
    by_rater: ByRater = field(default_factory=dict)
    kind: str = ""
    generation: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Conversation:
    """One conversation of a file.

    Attributes:
        id: what the file calls it.
        line: where it begins.
        turns: oldest first; speakers need not alternate yet.
        details: what else the file says about the whole conversation.
        rater: what the file calls the one who judged it and its turns; empty if it names nobody.
        given: what they answered about the whole conversation.
        by_rater: what each of several raters answered about the whole conversation.
        by_speaker: what each of the two answered about the whole conversation.
        read: what each of the two had to read.
    """

    id: str
    line: int
    turns: tuple[Utterance, ...]
    details: Mapping[str, str] = field(default_factory=dict)
    rater: str = ""
    given: Given = field(default_factory=dict)
    by_rater: ByRater = field(default_factory=dict)
    by_speaker: Mapping[str, Given] = field(default_factory=dict)
    read: Mapping[str, Sequence[Read]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Rated:
    """Answers given outside about a conversation that the file only names.

    Attributes:
        id: what the file calls the conversation.
        line: where it stands.
        rater: what the file calls the one who judged it; empty if it names nobody.
        given: what they answered about the whole conversation.
        details: what else the file says about it.
    """

    id: str
    line: int
    rater: str
    given: Given
    details: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Problem:
    """A problem: the line, and why it is not imported."""

    line: int
    what: str


Reader = Callable[[Source], Iterator[Conversation | Rated | Problem]]


@dataclass(frozen=True, slots=True)
class Format:
    """A format of files of conversations.

    Attributes:
        key: names it in the database and on the command line.
        title: names it on pages.
        looks_like: whether the first kilobytes of a file look like this format.
        read: yields conversations, or ratings of some, and problems; raises UnreadableError where it cannot
            go on.
        is_loose: True if files of other formats may look like this one as well; it is guessed last.
        keys: keys of JSON or columns by which its files are known; for hints where a guess fails.
    """

    key: str
    title: str
    looks_like: Callable[[str], bool]
    read: Reader
    is_loose: bool = False
    keys: tuple[str, ...] = ()


FORMATS: dict[str, Format] = {}


def importer(
    key: str,
    *,
    title: str,
    looks_like: Callable[[str], bool],
    is_loose: bool = False,
    keys: tuple[str, ...] = (),
) -> Callable[[Reader], Reader]:
    """Register a reader under this key.

    Raises:
        ValueError: another reader has it.
    """

    def register(read: Reader) -> Reader:
        if key in FORMATS:
            raise ValueError(f"Two importers are called '{key}'. Give one of them another key.")
        FORMATS[key] = Format(key, title, looks_like, read, is_loose, keys)
        return read

    return register


def guessed(head: str) -> str:
    """Key of a format that the beginning of a file looks like, loose ones last; "" if there is none."""
    head = head.removeprefix("\ufeff").lstrip()
    by_looseness = sorted(FORMATS.values(), key=lambda each: each.is_loose)
    return next((each.key for each in by_looseness if each.looks_like(head)), "")
