"""Lines of a file of an anchor pack: its facts, anchors, and conversations whose turns are anchors."""

import json
from collections.abc import Iterator, Sequence
from typing import Annotated, Literal, NamedTuple, TypeVar

from django.core.exceptions import ValidationError
from django.utils.translation import gettext as _
from pydantic import BaseModel, ConfigDict, Field
from pydantic import ValidationError as InvalidLineError

from evaluation.questions import Answer
from evaluation.statistics.linking import FEWEST_ANCHORS, FEWEST_RATERS
from evaluation.texts.lengths import MAX_TURN_CHARS
from turnwise.contexts.tables import text_problem
from turnwise.judging.anchors.packs import MOST_ANCHORS, shortened

M = TypeVar("M", bound=BaseModel)
Text = Annotated[str, Field(min_length=1)]
Labels = dict[str, dict[str, Answer]]
"""Answers by rater and question."""


class Known(BaseModel):
    """Known value of an anchor by one score: a share in [0, 1], or points."""

    model_config = ConfigDict(allow_inf_nan=False)

    value: float
    error: float = Field(ge=0)
    raters: int = Field(ge=FEWEST_RATERS)


class FileFacts(BaseModel):
    """First line of a file."""

    model_config = ConfigDict(allow_inf_nan=False)

    format: Literal[1]
    title: str = Field(min_length=1, max_length=120)
    question_set: str = Field(max_length=60)
    origin: str = Field("", max_length=200)
    common_variance: dict[str, Annotated[float, Field(ge=0)]] | None = None


class FileAnchor(BaseModel):
    """A line of an anchor: its texts, and its known values or its labels by rater."""

    id: str | int = ""
    subject: Literal["response", "turn", "context"] = "response"
    language: str = Field("en", min_length=2, max_length=10)
    system: str = Field("", max_length=500)
    said_before: list[Text] = Field(min_length=1, max_length=100)
    text: Text | None = None
    known: dict[str, Known] | None = None
    labels: Labels | None = None


class FileTurn(BaseModel):
    """A turn of a conversation; with values or labels it becomes an anchor."""

    speaker: str = Field("", max_length=500)
    text: Text
    known: dict[str, Known] | None = None
    labels: Labels | None = None


class FileConversation(BaseModel):
    """A line of a conversation, of which every turn with values or labels becomes an anchor."""

    id: str | int = ""
    language: str = Field("en", min_length=2, max_length=10)
    turns: list[FileTurn] = Field(min_length=2, max_length=101)
    labels: Labels | None = None


class FileRow(NamedTuple):
    """An anchor of a file with its line, and its name for messages."""

    line: int
    name: str
    anchor: FileAnchor


Lines = Sequence[tuple[int, str]]


def facts_of(lines: Lines) -> FileFacts:
    """Facts of the pack, from the first line.

    Raises:
        ValidationError: the line cannot be read.
    """
    return _parsed(FileFacts, *lines[0])


def rows_of(lines: Lines) -> list[FileRow]:
    """Anchors of all lines but the first, in order.

    Raises:
        ValidationError: a line cannot be read, or there are too few anchors or too many.
    """
    rows: list[FileRow] = []
    for line, text in lines[1:]:
        rows += _conversation(line, text) if _has_turns(text) else [_anchor(line, text)]
        if len(rows) > MOST_ANCHORS:
            break
    if not FEWEST_ANCHORS <= len(rows) <= MOST_ANCHORS:
        raise ValidationError(
            _("The file has %(n)d anchors or more. A pack has from %(fewest)d to %(most)d.")
            % {"n": len(rows), "fewest": FEWEST_ANCHORS, "most": MOST_ANCHORS}
        )
    for row in rows:
        _check_texts(row)
    return rows


def _has_turns(text: str) -> bool:
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        return False  # reading it as an anchor says what is wrong
    return isinstance(found, dict) and "turns" in found


def _anchor(line: int, text: str) -> FileRow:
    anchor = _parsed(FileAnchor, line, text)
    quoted = anchor.text or anchor.said_before[-1]
    return FileRow(line, str(anchor.id) or shortened(quoted), anchor)


def _conversation(line: int, text: str) -> Iterator[FileRow]:
    """The judged turns of a conversation, each with what was said before."""
    found = _parsed(FileConversation, line, text)
    name = str(found.id) or shortened(found.turns[0].text)
    if found.labels:
        raise line_error(
            line,
            _(
                "The labels of the conversation “%(name)s” are about the whole, and such a file has labels "
                "of turns. Import the conversations with their labels into a draft, in the format JSON Lines "
                "of turns, and make a pack from it."
            )
            % {"name": name},
        )
    judged = [n for n, turn in enumerate(found.turns) if turn.known or turn.labels]
    if not judged:
        raise line_error(
            line,
            _(
                "No turn of the conversation “%(name)s” has “labels” or “known” values, so it links nothing. "
                "Give the labels of two raters or more, or leave the conversation out."
            )
            % {"name": name},
        )
    for n in judged:
        turn = found.turns[n]
        if not n:
            raise line_error(
                line,
                _("The first turn of the conversation “%(name)s” cannot be an anchor: nothing precedes it.")
                % {"name": name},
            )
        anchor = FileAnchor(
            language=found.language, system=turn.speaker, said_before=[each.text for each in found.turns[:n]],
            text=turn.text, known=turn.known, labels=turn.labels,
        )  # fmt: skip
        yield FileRow(line, _("%(conversation)s, turn %(n)d") % {"conversation": name, "n": n + 1}, anchor)


def _parsed(model: type[M], line: int, text: str) -> M:
    try:
        return model.model_validate_json(text)
    except InvalidLineError as error:
        first = error.errors()[0]
        where = ".".join(str(each) for each in first["loc"])
        raise line_error(line, f"{where}: {first['msg']}." if where else f"{first['msg']}.") from None


def line_error(line: int, says: str) -> ValidationError:
    """Error about a line of the file."""
    return ValidationError(_("Line %(line)d: %(says)s") % {"line": line, "says": says})


def _check_texts(row: FileRow) -> None:
    line, _name, anchor = row
    for text in (*anchor.said_before, *([anchor.text] if anchor.text else [])):
        if problem := text_problem(text, limit=MAX_TURN_CHARS, what=_("A text")):
            raise line_error(line, problem)
    if (anchor.text is None) != (anchor.subject == "context"):
        raise line_error(
            line,
            _(
                "A response needs “text”, and a context has none. For whole conversations, import "
                "them with their labels into a draft, and make a pack from it."
            ),
        )
