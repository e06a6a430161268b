"""Anchor packs: make one from the judgments of a study, list them, and read their texts."""

import hashlib
import json
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import numpy as np
from django.contrib.auth.models import AnonymousUser
from django.core.exceptions import ValidationError
from django.db import connection, transaction
from django.db.models import Count, Q, QuerySet
from django.utils.translation import gettext as _

from evaluation.questions import Kind, QuestionSet, Score, coded_answers, score_values
from evaluation.statistics.labels import FloatArray, IntArray
from evaluation.statistics.linking import FEWEST_ANCHORS, known_values, spread_over
from turnwise.accounts.models import User
from turnwise.judging.models import Anchor, AnchorPack
from turnwise.judging.queries import counts_in_primary_analysis
from turnwise.questions.question_sets import question_set
from turnwise.studies.models import Study
from turnwise.studies.queries import readable_studies_of

MOST_ANCHORS = 500
MOST_NAMED = 3
"""Largest number of items that a refusal names."""
MOST_QUOTED = 60
"""Characters of a text by which a message names a thing that has no id."""
SUBJECTS = ("turn", "response", "dialogue", "context")
Subject = tuple[int | None, ...]
"""Keys of the judged row in the order of `SUBJECTS`, of which one is given."""

# Labels of the primary analysis about anything but pairs, each rater's first. Labels from files count too.
_LABELS = f"""
SELECT l.turn_id, l.response_id, l.dialogue_id, l.context_id, l.rater_id, l.answers,
       coalesce(i.language, c.language, nullif(d.language, ''), ''),
       CASE WHEN l.context_id IS NOT NULL THEN contexts.title || ', version ' || version.number
            ELSE judging_system(l.response_id, d.id) END
  FROM labels_label AS l
  LEFT JOIN judging_slot AS s ON s.label_id = l.id
  LEFT JOIN judging_item AS i ON i.id = s.item_id
  LEFT JOIN responses_response AS r ON r.id = l.response_id
  LEFT JOIN contexts_context AS c ON c.id = coalesce(r.context_id, l.context_id)
  LEFT JOIN contexts_contextsetversion AS version ON l.context_id IS NOT NULL AND version.id = c.version_id
  LEFT JOIN contexts_contextset AS contexts ON contexts.id = version.context_set_id
  LEFT JOIN dialogues_turn AS t ON t.id = l.turn_id
  LEFT JOIN dialogues_dialogue AS d ON d.id = coalesce(t.dialogue_id, l.dialogue_id)
 WHERE l.study_id = %(study)s AND l.question_set = %(questions)s AND l.occasion = 1
   AND num_nonnulls(l.turn_id, l.response_id, l.dialogue_id, l.context_id) = 1
   AND i.right_answers IS NULL AND i.anchor_id IS NULL
   AND {counts_in_primary_analysis("%(study)s")}
 ORDER BY l.id
"""
# As in the table of items of a bundle: what was said before, and the judged text.
_TEXTS = """
SELECT coalesce(to_json(c.turns),
                (SELECT json_agg(b.text ORDER BY b.position) FROM dialogues_turn AS b
                  WHERE b.dialogue_id = d.id AND (t.id IS NULL OR b.position < t.position)), '[]'),
       coalesce(r.text, t.text)
  FROM unnest(%(turn)s::bigint[], %(response)s::bigint[], %(dialogue)s::bigint[], %(context)s::bigint[])
       WITH ORDINALITY AS a (turn_id, response_id, dialogue_id, context_id, number)
  LEFT JOIN responses_response AS r ON r.id = a.response_id
  LEFT JOIN contexts_context AS c ON c.id = coalesce(r.context_id, a.context_id)
  LEFT JOIN dialogues_turn AS t ON t.id = a.turn_id
  LEFT JOIN dialogues_dialogue AS d ON d.id = coalesce(t.dialogue_id, a.dialogue_id)
 ORDER BY a.number
"""


@dataclass(frozen=True, slots=True)
class Choice:
    """What is chosen for a pack.

    Attributes:
        title: name of the pack; an existing name of the same owner makes its next version.
        questions: key of the question set.
        score: key of the score over whose range the anchors are spread.
        number: number of anchors.
        excluded: systems whose items are left out.
    """

    title: str
    questions: str
    score: str
    number: int
    excluded: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Judgments:
    """Judgments of a study from which a pack can be made.

    Attributes:
        questions: the question set.
        subjects, languages, systems: by code of an item, what it is.
        item, rater: (n,) code of the item and of the rater of each judgment.
        values: by score, (n,) values of the judgments; NaN for none.
    """

    questions: QuestionSet
    subjects: Sequence[Subject]
    languages: Sequence[str]
    systems: Sequence[str]
    item: IntArray
    rater: IntArray
    values: Mapping[str, FloatArray]


def packs_of(user: User | AnonymousUser) -> QuerySet[AnchorPack]:
    """Packs that a person may use: their own, and those from studies that they may read. Newest first."""
    packs = (
        AnchorPack.objects.select_related("owner", "source").annotate(size=Count("anchors")).order_by("-pk")
    )
    if not user.is_authenticated or not user.is_active:
        return packs.none()
    if user.is_superuser:
        return packs
    return packs.filter(Q(owner=user) | Q(source__in=readable_studies_of(user).values("pk")))


def scored_sets(study: Study) -> list[QuestionSet]:
    """Question sets with scores by which the study has judgments of anything but pairs."""
    used = (
        study.labels.filter(participation=None, pair=None).order_by().values_list("question_set", flat=True)
    )
    sets = [question_set(key) for key in sorted(set(used.distinct()))]
    return [each for each in sets if each.scores]


def judgments_of(study: Study, key: str, excluded: Collection[str] = ()) -> Judgments:
    """The judgments of a study by this question set, of systems that are not excluded."""
    questions = question_set(key)
    with connection.cursor() as cursor:
        cursor.execute(_LABELS, {"study": study.pk, "questions": key})
        rows = [row for row in cursor.fetchall() if row[-1] not in excluded]
    codes: dict[Subject, int] = {}
    item = np.array([codes.setdefault(row[:4], len(codes)) for row in rows], dtype=np.int64)
    about = {row[:4]: row[6:] for row in rows}
    answers = [json.loads(row[5]) if isinstance(row[5], str) else row[5] for row in rows]
    coded = {
        question.key: coded_answers(question, [each.get(question.key) for each in answers])
        for question in questions.questions
        if question.kind is not Kind.TEXT
    }
    return Judgments(
        questions,
        list(codes),
        [about[subject][0] or study.languages[0] for subject in codes],
        [about[subject][1] for subject in codes],
        item,
        np.unique(np.array([row[4] for row in rows], dtype=np.int64), return_inverse=True)[1],
        {score.key: score_values(questions, score, coded) for score in questions.scores} if rows else {},
    )


@transaction.atomic
def make_pack(study: Study, choice: Choice, *, owner: User, seed: int, now: datetime) -> AnchorPack:
    """Make a pack from the items of a finished study that two raters or more have judged.

    Raises:
        ValidationError: the study is not finished, or has too few such items; nothing was changed.
    """
    if study.state in (Study.State.OPEN, Study.State.PAUSED) or study.rehearsal_of_id:
        raise ValidationError(
            _("“%(study)s” is not closed, so the values of its items may change. Close it first.")
            % {"study": study}
        )
    score = _score(question_set(choice.questions), choice.score)
    found = judgments_of(study, choice.questions, choice.excluded)
    values = found.values.get(score.key, np.zeros(0))
    known = known_values(values, found.item, found.rater)
    _check_number(choice.number, known.items, found, score)
    chosen = known.items[spread_over(known.values, choice.number, seed=seed)]
    of_scores = {
        each.key: known_values(
            np.where(np.isin(found.item, chosen), found.values[each.key], np.nan), found.item, found.rater
        )
        for each in found.questions.scores
    }
    known_of: dict[int, dict[str, Any]] = {code: {} for code in chosen.tolist()}
    for key, of_score in of_scores.items():
        rows = zip(
            of_score.items.tolist(), of_score.values.tolist(), of_score.errors.tolist(),
            of_score.raters.tolist(), strict=True,
        )  # fmt: skip
        for code, value, error, raters in rows:
            known_of[code][key] = {"value": value, "error": error, "raters": raters}
    pack = AnchorPack(
        owner=owner, title=choice.title.strip(), question_set=choice.questions, spread_by=score.key,
        source=study, origin=_("Study “%(study)s” (%(code)s)") % {"study": study.title, "code": study.code},
        common_variance={key: each.common_variance for key, each in of_scores.items()}, made_at=now,
    )  # fmt: skip
    anchors = [
        Anchor(
            number=number, language=found.languages[code], system=found.systems[code][:500],
            known=known_of[code],
            **{f"{name}_id": key for name, key in zip(SUBJECTS, found.subjects[code], strict=True)},
        )
        for number, code in enumerate(chosen.tolist(), 1)
    ]  # fmt: skip
    return store_pack(pack, anchors)


def _score(questions: QuestionSet, key: str) -> Score:
    for score in questions.scores:
        if score.key == key:
            return score
    raise ValidationError(
        _("“%(title)s” has no score “%(key)s”. There are: %(known)s.")
        % {
            "title": questions.title,
            "key": key[:60],
            "known": ", ".join(each.key for each in questions.scores),
        }
    )


def _check_number(number: int, with_values: IntArray, found: Judgments, score: Score) -> None:
    available = len(with_values)
    if available < FEWEST_ANCHORS:
        says = _(
            "%(available)d items have a value of “%(score)s” by two raters or more, and a pack needs "
            "%(fewest)d. With one rater, the error of a value is not known."
        ) % {"available": available, "score": score.title, "fewest": FEWEST_ANCHORS}
        without = np.setdiff1d(found.item, with_values)[:MOST_NAMED].tolist()
        if without:
            named = ", ".join(f"“{name}”" for name in _names([found.subjects[code] for code in without]))
            says += " " + _("Have a second person judge, for example, %(items)s.") % {"items": named}
        raise ValidationError(says)
    if not FEWEST_ANCHORS <= number <= min(available, MOST_ANCHORS):
        raise ValidationError(
            _("%(number)d anchors are not possible. Choose from %(fewest)d to %(most)d.")
            % {"number": number, "fewest": FEWEST_ANCHORS, "most": min(available, MOST_ANCHORS)}
        )


def _names(subjects: Sequence[Subject]) -> list[str]:
    """Names of judged things: the id in the file of an imported conversation, or how the text begins."""
    anchors = [
        Anchor(**{f"{name}_id": key for name, key in zip(SUBJECTS, subject, strict=True)})
        for subject in subjects
    ]
    return [
        _source_id(anchor) or shortened(text or " / ".join(before))
        for anchor, (before, text) in zip(anchors, texts_of(anchors), strict=True)
    ]


def _source_id(anchor: Anchor) -> str:
    dialogue = anchor.dialogue or (anchor.turn.dialogue if anchor.turn else None)
    return dialogue.source_id if dialogue else ""


def shortened(text: str) -> str:
    """The beginning of a text, to name a thing that has no id."""
    return text if len(text) <= MOST_QUOTED else f"{text[:MOST_QUOTED]}…"


def store_pack(pack: AnchorPack, anchors: Sequence[Anchor]) -> AnchorPack:
    """Store a pack as the next version of its name, with its hash. Call it in a transaction.

    Raises:
        ValidationError: a value is invalid, such as an empty name.
    """
    User.objects.select_for_update().get(pk=pack.owner_id)  # versions are numbered one after the other
    versions = AnchorPack.objects.filter(owner=pack.owner_id, title=pack.title)
    pack.number = (versions.order_by("-number").values_list("number", flat=True).first() or 0) + 1
    pack.sha256 = content_hash(pack, anchors)
    pack.full_clean(validate_constraints=False)
    pack.save()
    for anchor in anchors:
        anchor.pack = pack
    Anchor.objects.bulk_create(anchors)
    return pack


def subject_of(anchor: Anchor) -> str:
    """Name of what the anchor is: turn, response, dialogue or context."""
    return next(name for name in SUBJECTS if getattr(anchor, f"{name}_id") is not None)


def texts_of(anchors: Sequence[Anchor]) -> list[tuple[list[str], str | None]]:
    """What was said before each anchor, oldest first, and its text; None for a conversation or a context."""
    keys = {name: [getattr(anchor, f"{name}_id") for anchor in anchors] for name in SUBJECTS}
    with connection.cursor() as cursor:
        cursor.execute(_TEXTS, keys)
        return [(list(before), text) for before, text in cursor.fetchall()]


def content_hash(pack: AnchorPack, anchors: Sequence[Anchor]) -> str:
    """SHA-256 of the question set, the texts and the known values, as JSON with sorted keys."""
    content = {
        "question_set": question_set(pack.question_set).to_json(),
        "common_variance": pack.common_variance,
        "anchors": [
            {"language": anchor.language, "said_before": before, "text": text, "known": anchor.known}
            for anchor, (before, text) in zip(anchors, texts_of(anchors), strict=True)
        ],
    }
    stored = json.dumps(content, ensure_ascii=False, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(stored.encode()).hexdigest()
