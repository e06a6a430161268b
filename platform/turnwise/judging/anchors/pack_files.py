"""Files of anchor packs: JSON Lines, facts of the pack first, then a line for each anchor."""

import json
import math
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from typing import Annotated, Any, Literal, TypeVar

import numpy as np
from django.core.exceptions import ValidationError
from django.db import transaction
from django.utils.translation import gettext as _
from pydantic import BaseModel, ConfigDict, Field
from pydantic import ValidationError as InvalidLineError

from evaluation.questions import (
    Answer,
    Kind,
    QuestionSet,
    UnknownQuestionSetError,
    bounds,
    coded_answers,
    score_values,
)
from evaluation.statistics.linking import FEWEST_ANCHORS, FEWEST_RATERS, known_values
from evaluation.texts.lengths import MAX_TURN_CHARS
from turnwise.accounts.models import User
from turnwise.contexts.files import ContextRow
from turnwise.contexts.models import ContextSet
from turnwise.contexts.services import import_version
from turnwise.contexts.tables import text_problem
from turnwise.judging.anchors.packs import MOST_ANCHORS, store_pack, subject_of, texts_of
from turnwise.judging.models import Anchor, AnchorPack
from turnwise.questions.question_sets import question_set
from turnwise.responses.services import store_file

MOST_BYTES = 2_000_000
M = TypeVar("M", bound=BaseModel)
Text = Annotated[str, Field(min_length=1)]


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

    subject: Literal["response", "turn", "context"] = "response"
    language: str = Field("en", min_length=2, max_length=10)
    system: str = Field("", max_length=500)
    said_before: list[Text] = Field(min_length=1, max_length=100)
    text: Text | None = None
    known: dict[str, Known] | None = None
    labels: dict[str, dict[str, Answer]] | None = None


def pack_lines(pack: AnchorPack) -> Iterator[str]:
    """Lines of the file of a pack: first its facts, then its anchors in order."""
    facts = {
        "format": 1,
        "title": pack.title,
        "version": pack.number,
        "question_set": pack.question_set,
        "origin": pack.origin,
        "sha256": pack.sha256,
        "made_at": pack.made_at.isoformat(),
        "common_variance": pack.common_variance,
    }
    yield f"{json.dumps(facts, ensure_ascii=False)}\n"
    anchors = list(pack.anchors.all())
    for anchor, (before, text) in zip(anchors, texts_of(anchors), strict=True):
        row = {
            "anchor": anchor.number,
            "subject": subject_of(anchor),
            "language": anchor.language,
            "system": anchor.system,
            "said_before": before,
            "text": text,
            "known": anchor.known,
        }
        yield f"{json.dumps(row, ensure_ascii=False)}\n"


@transaction.atomic
def import_pack(text: str, *, owner: User, now: datetime) -> AnchorPack:
    """Store a pack from a file. Its texts become a context set and a run of responses of the owner.

    Raises:
        ValidationError: the file cannot be used; the message names the line. Nothing was changed.
    """
    lines = [(n, line) for n, line in enumerate(text.splitlines(), 1) if line.strip()]
    if not lines:
        raise ValidationError(_("The file is empty. Choose a file of an anchor pack."))
    facts = _parsed(FileFacts, *lines[0])
    rows = [(n, _parsed(FileAnchor, n, line)) for n, line in lines[1 : MOST_ANCHORS + 2]]
    if not FEWEST_ANCHORS <= len(rows) <= MOST_ANCHORS:
        raise ValidationError(
            _("The file has %(n)d anchors or more. A pack has from %(fewest)d to %(most)d.")
            % {"n": len(rows), "fewest": FEWEST_ANCHORS, "most": MOST_ANCHORS}
        )
    try:
        questions = question_set(facts.question_set)
    except UnknownQuestionSetError as error:
        raise _line_error(lines[0][0], str(error)) from None
    for n, row in rows:
        _check_texts(n, row)
    known, common = _known(questions, facts, rows)
    pack = AnchorPack(
        owner=owner, title=facts.title.strip(), question_set=facts.question_set, made_at=now,
        origin=_("File: %(origin)s") % {"origin": facts.origin or facts.title}, common_variance=common,
    )  # fmt: skip
    return store_pack(pack, _stored_anchors(facts.title, [row for _n, row in rows], known, owner))


def _parsed(model: type[M], line: int, text: str) -> M:
    try:
        return model.model_validate_json(text)
    except InvalidLineError as error:
        first = error.errors()[0]
        where = ".".join(str(each) for each in first["loc"])
        raise _line_error(line, f"{where}: {first['msg']}." if where else f"{first['msg']}.") from None


def _line_error(line: int, says: str) -> ValidationError:
    return ValidationError(_("Line %(line)d: %(says)s") % {"line": line, "says": says})


def _check_texts(line: int, row: FileAnchor) -> None:
    for text in (*row.said_before, *([row.text] if row.text else [])):
        if problem := text_problem(text, limit=MAX_TURN_CHARS, what=_("A text")):
            raise _line_error(line, problem)
    if (row.text is None) != (row.subject == "context"):
        raise _line_error(
            line,
            _(
                "A response needs “text”, and a context has none. For whole conversations, import "
                "transcripts with their labels, and make a pack from that study."
            ),
        )


Rows = Sequence[tuple[int, FileAnchor]]
KnownRows = list[dict[str, dict[str, Any]]]


def _known(questions: QuestionSet, facts: FileFacts, rows: Rows) -> tuple[KnownRows, dict[str, float]]:
    """Known values of each anchor, and the common variance by score."""
    if all(row.labels for _n, row in rows):
        return _from_labels(questions, rows)
    ends = {score.key: bounds(questions, score) for score in questions.scores}
    found: KnownRows = []
    for line, row in rows:
        if not row.known:
            raise _line_error(
                line, _("The anchor has no “known” values and no “labels”, so it links nothing.")
            )
        for key, each in row.known.items():
            if key not in ends:
                raise _line_error(
                    line,
                    _("“%(key)s” is no score of “%(set)s”. There are: %(known)s.")
                    % {"key": key[:60], "set": questions.title, "known": ", ".join(ends)},
                )
            low, high = ends[key]
            if not low <= each.value <= high:
                raise _line_error(
                    line,
                    _(
                        "%(value)s is outside the scale of “%(key)s”, which goes from %(low)s to %(high)s. "
                        "Shares are from 0 to 1."
                    )
                    % {"value": each.value, "key": key, "low": low, "high": high},
                )
        found.append({key: each.model_dump() for key, each in row.known.items()})
    if facts.common_variance is None:
        raise ValidationError(
            _(
                "The first line has no “common_variance”, without which the linking error would be too "
                "small. Give it by score, or give the “labels” of each rater in place of “known” values."
            )
        )
    return found, {key: facts.common_variance.get(key, 0.0) for key in ends}


def _from_labels(questions: QuestionSet, rows: Rows) -> tuple[KnownRows, dict[str, float]]:
    names: dict[str, int] = {}
    given = [
        (line, number, names.setdefault(rater, len(names)), answers)
        for number, (line, row) in enumerate(rows)
        for rater, answers in (row.labels or {}).items()
    ]
    coded = {
        question.key: np.array(
            [
                _coded(line, questions, question.key, answers.get(question.key))
                for line, _number, _rater, answers in given
            ]
        )
        for question in questions.questions
        if question.kind is not Kind.TEXT
    }
    item = np.array([number for _line, number, _rater, _answers in given], dtype=np.int64)
    rater = np.array([each for _line, _number, each, _answers in given], dtype=np.int64)
    found: KnownRows = [{} for _row in rows]
    common: dict[str, float] = {}
    for score in questions.scores:
        known = known_values(score_values(questions, score, coded), item, rater)
        common[score.key] = known.common_variance
        columns = (known.items, known.values, known.errors, known.raters)
        for number, value, error, raters in zip(*(column.tolist() for column in columns), strict=True):
            found[number][score.key] = {"value": value, "error": error, "raters": raters}
    for (line, _row), values in zip(rows, found, strict=True):
        if not values:
            raise _line_error(
                line, _("No score of the anchor has labels by two raters, so its error is not known.")
            )
    return found, common


def _coded(line: int, questions: QuestionSet, key: str, answer: Answer | None) -> float:
    if answer is None:
        return math.nan
    try:
        return float(coded_answers(questions.question(key), [answer])[0])
    except ValueError as error:
        raise _line_error(line, str(error)) from None


def _stored_anchors(
    title: str, rows: Sequence[FileAnchor], known: Sequence[Mapping[str, Any]], owner: User
) -> list[Anchor]:
    """Anchors that point to a new context set and, unless contexts are judged, to a run over it."""
    name = f"anchors-{ContextSet.objects.filter(owner=owner).count() + 1}-{owner.pk}"
    of = ContextSet.objects.create(owner=owner, name=name, title=_("Anchors: %(title)s") % {"title": title})
    version = import_version(
        of,
        [
            ContextRow(n, f"a{n}", tuple(row.said_before), "", row.language, False, "")
            for n, row in enumerate(rows, 1)
        ],
        origin=_("Anchor pack"),
    )
    contexts = list(version.contexts.order_by("position"))
    texts = {
        (context.pk, 1): row.text for context, row in zip(contexts, rows, strict=True) if row.text is not None
    }
    run = store_file(version, texts, system=str(of.title)[:120], owner=owner) if texts else None
    responses = {each.context_id: each for each in run.responses.all()} if run else {}
    return [
        Anchor(
            number=n,
            response=responses.get(context.pk),
            context=None if context.pk in responses else context,
            language=row.language,
            system=row.system or of.title,
            known=values,
        )
        for n, (context, row, values) in enumerate(zip(contexts, rows, known, strict=True), 1)
    ]
