"""Records of a study: participants, conversations, turns and labels, read page by page."""

from collections.abc import Callable, Iterator
from typing import Any, Generic, TypedDict, TypeVar, cast


class Participant(TypedDict):
    """A participation, from consent to its outcome. Times are ISO 8601 in UTC."""

    worker: str
    number: int
    panel: str
    panel_id: str
    submission: str
    consented_at: str
    began_at: str | None
    ended_at: str | None
    outcome: str
    completion_code: str
    pilot: bool
    signs: str
    proposed_reason: str
    excluded_at: str | None
    excluded_reason: str


class Dialogue(TypedDict):
    """A conversation."""

    dialogue: str
    origin: str
    bots: list[str]
    workers: list[str]
    language: str
    started_at: str
    ended_at: str | None
    ending: str
    turns: int


class Turn(TypedDict):
    """A turn of a conversation, by its position from 0."""

    dialogue: str
    position: int
    by: str
    text: str
    created_at: str
    bot: str | None
    bot_version: str | None
    latency_ms: int | None
    seed: int | None


class Label(TypedDict):
    """Answers of a rater about one thing, by key of the question."""

    id: int
    ask: int | None
    question_set: str
    answers: dict[str, Any]
    rater: str
    rater_role: str
    subject: str
    dialogue: str | None
    turn: int | None
    occasion: int
    labelled_at: str
    changes: int
    shown_ms: int | None
    answer_ms: int | None


Row = TypeVar("Row")


class Records(Generic[Row]):
    """Rows of a list, read anew each time that they are iterated."""

    def __init__(self, read: Callable[[], Iterator[dict[str, Any]]]) -> None:
        self._read = read

    def __iter__(self) -> Iterator[Row]:
        return cast("Iterator[Row]", self._read())

    def to_list(self) -> list[Row]:
        """All rows."""
        return list(self)

    def to_pandas(self) -> Any:
        """All rows as a data frame of pandas, with a column for each answer, such as `answers.KEY`.

        Raises:
            ImportError: pandas is not installed.
        """
        try:
            import pandas
        except ImportError:
            raise ImportError("Install pandas, or use to_list().") from None
        return pandas.json_normalize(list(self._read()))
