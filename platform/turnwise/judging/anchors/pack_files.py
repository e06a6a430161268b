"""Files of anchor packs: JSON Lines, facts of the pack first, then a line for each anchor; and a table."""

import json
import math
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any

import numpy as np
from django.core.exceptions import ValidationError
from django.db import transaction
from django.utils.translation import gettext as _

from evaluation.files.writing import csv_text
from evaluation.questions import (
    Answer,
    Kind,
    QuestionSet,
    UnknownQuestionSetError,
    bounds,
    coded_answers,
    score_values,
)
from evaluation.statistics.linking import known_values
from turnwise.accounts.models import User
from turnwise.contexts.files import ContextRow
from turnwise.contexts.models import ContextSet
from turnwise.contexts.services import import_version
from turnwise.judging.anchors.file_rows import FileAnchor, FileFacts, FileRow, facts_of, line_error, rows_of
from turnwise.judging.anchors.packs import store_pack, subject_of, texts_of
from turnwise.judging.models import Anchor, AnchorPack
from turnwise.questions.queries import usable_set
from turnwise.questions.question_sets import question_set
from turnwise.responses.services import store_file

MOST_BYTES = 2_000_000


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


def pack_table(pack: AnchorPack) -> str:
    """The anchors as CSV without live formulas, for people to read; values as in the file.

    Its columns are pack, version, anchor, subject, language, system, said_before (a JSON list), text, and for
    each score of the question set its key with _value, _error and _raters, empty where unknown.
    """
    keys = [score.key for score in question_set(pack.question_set).scores]
    facts = ("value", "error", "raters")
    head = ["pack", "version", "anchor", "subject", "language", "system", "said_before", "text"]
    rows: list[list[object]] = [[*head, *(f"{key}_{fact}" for key in keys for fact in facts)]]
    anchors = list(pack.anchors.all())
    for anchor, (before, text) in zip(anchors, texts_of(anchors), strict=True):
        known = [anchor.known.get(key, {}).get(fact) for key in keys for fact in facts]
        said = json.dumps(before, ensure_ascii=False)
        about = [anchor.number, subject_of(anchor), anchor.language, anchor.system, said, text]
        rows.append([pack.title, pack.number, *about, *known])
    return csv_text(rows)


@transaction.atomic
def import_pack(text: str, *, owner: User, now: datetime) -> AnchorPack:
    """Store a pack from a file. Its texts become a context set and a run of responses of the owner.

    Raises:
        ValidationError: the file cannot be used; the message names the line. Nothing was changed.
    """
    lines = [(n, line) for n, line in enumerate(text.splitlines(), 1) if line.strip()]
    if not lines:
        raise ValidationError(_("The file is empty. Choose a file of an anchor pack."))
    facts = facts_of(lines)
    rows = rows_of(lines)
    try:
        questions = usable_set(owner, facts.question_set)
    except UnknownQuestionSetError as error:
        raise line_error(lines[0][0], str(error)) from None
    known, common = _known(questions, facts, rows)
    pack = AnchorPack(
        owner=owner, title=facts.title.strip(), question_set=facts.question_set, made_at=now,
        origin=_("File: %(origin)s") % {"origin": facts.origin or facts.title}, common_variance=common,
    )  # fmt: skip
    return store_pack(pack, _stored_anchors(facts.title, [row.anchor for row in rows], known, owner))


Rows = Sequence[FileRow]
KnownRows = list[dict[str, dict[str, Any]]]


def _known(questions: QuestionSet, facts: FileFacts, rows: Rows) -> tuple[KnownRows, dict[str, float]]:
    """Known values of each anchor, and the common variance by score."""
    if all(row.anchor.labels for row in rows):
        return _from_labels(questions, rows)
    ends = {score.key: bounds(questions, score) for score in questions.scores}
    found: KnownRows = []
    for line, name, anchor in rows:
        if not anchor.known:
            raise line_error(line, _why_without_values(name, has_labels=bool(anchor.labels)))
        for key, each in anchor.known.items():
            if key not in ends:
                raise line_error(
                    line,
                    _("“%(key)s” is no score of “%(set)s”. There are: %(known)s.")
                    % {"key": key[:60], "set": questions.title, "known": ", ".join(ends)},
                )
            low, high = ends[key]
            if not low <= each.value <= high:
                raise line_error(
                    line,
                    _(
                        "%(value)s is outside the scale of “%(key)s”, which goes from %(low)s to %(high)s. "
                        "Shares are from 0 to 1."
                    )
                    % {"value": each.value, "key": key, "low": low, "high": high},
                )
        found.append({key: each.model_dump() for key, each in anchor.known.items()})
    if facts.common_variance is None:
        raise ValidationError(
            _(
                "The first line has no “common_variance”, without which the linking error would be too "
                "small. Give it by score, or give the “labels” of each rater in place of “known” values."
            )
        )
    return found, {key: facts.common_variance.get(key, 0.0) for key in ends}


def _why_without_values(name: str, *, has_labels: bool) -> str:
    if has_labels:
        return _(
            "“%(name)s” has “labels”, and other anchors have “known” values. Give all anchors the one or the "
            "other."
        ) % {"name": name}
    return _(
        "“%(name)s” has no “known” values and no “labels”, so it links nothing. Give one of the two, or "
        "leave it out."
    ) % {"name": name}


def _from_labels(questions: QuestionSet, rows: Rows) -> tuple[KnownRows, dict[str, float]]:
    names: dict[str, int] = {}
    given = [
        (line, number, names.setdefault(rater, len(names)), answers)
        for number, (line, _name, anchor) in enumerate(rows)
        for rater, answers in (anchor.labels or {}).items()
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
    for (line, name, _anchor), values in zip(rows, found, strict=True):
        if not values:
            raise line_error(
                line,
                _(
                    "No score of “%(name)s” has labels by two raters, so its error is not known. Give labels "
                    "of another rater, or leave it out."
                )
                % {"name": name},
            )
    return found, common


def _coded(line: int, questions: QuestionSet, key: str, answer: Answer | None) -> float:
    if answer is None:
        return math.nan
    try:
        return float(coded_answers(questions.question(key), [answer])[0])
    except ValueError as error:
        raise line_error(line, str(error)) from None


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
