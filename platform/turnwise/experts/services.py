"""Writes of adjudication: its declaration, decisions with their history, and gold items from decisions."""

from collections.abc import Mapping
from dataclasses import dataclass, replace

from django.core.exceptions import ValidationError
from django.db import connection, transaction
from django.utils import timezone
from django.utils.translation import gettext as _

from evaluation.questions import Answer, Kind, Question
from evaluation.questions.answers import checked
from turnwise.accounts.models import User
from turnwise.crowd.models import Invitation
from turnwise.experts import disputes
from turnwise.experts.disputes import Judged
from turnwise.experts.models import LONGEST_REASON, Adjudication
from turnwise.judging.batteries.battery_rules import battery_of
from turnwise.judging.gold.gold_items import Gold, declare_gold
from turnwise.judging.items.subjects import insert, lock_plan
from turnwise.judging.models import Item
from turnwise.questions.question_sets import question_set
from turnwise.studies.models import Study
from turnwise.studies.services import OPENED, results_changed


class DecidedMeanwhileError(Exception):
    """Another adjudicator has decided about the item since the page was opened; nothing was saved."""


@dataclass(frozen=True, slots=True)
class Adjudicator:
    """The person who decides: a researcher of the study, or an invited adjudicator."""

    user: User | None = None
    invitation: Invitation | None = None


@transaction.atomic
def set_steps(study: Study, steps: int | None) -> None:
    """Declare that an adjudicator decides, and from which difference on; None: no adjudication.

    Raises:
        ValidationError: the study has been opened, has a battery, or the number is out of bounds.
    """
    plan = lock_plan(study)
    if Study.objects.get(pk=study.pk).state != Study.State.DRAFT:
        raise ValidationError(OPENED)
    if steps and battery_of(study):
        raise ValidationError(
            _("Workers of this study get batteries. Remove the battery to have an adjudicator decide.")
        )
    plan.adjudication_steps = steps
    plan.full_clean(exclude=["study"])
    plan.save(update_fields=["adjudication_steps"])
    results_changed(study.pk)


@transaction.atomic
def decide(
    item: Item, given: Mapping[str, object], *, reason: str, after: int, by: Adjudicator
) -> Adjudication:
    """Store a decision about the open questions of an item.

    Args:
        item: the item.
        given: answers to its open questions, by key; those that are not asked may be missing.
        reason: the reason, not empty.
        after: number of the newest entry that the adjudicator has seen; 0: none.
        by: the adjudicator.

    Raises:
        DecidedMeanwhileError: there is a newer entry.
        AnswersError: an answer is missing or invalid; names the question.
        ValidationError: the reason is missing or too long, the raters agree, judgments are missing, or the
            study is closed; nothing was saved.
    """
    judged = _locked(item, after)
    reason = reason.replace("\x00", "").strip()
    if not judged.open:
        raise ValidationError(_("The raters agree, so there is nothing to decide."))
    if not judged.is_complete:
        raise ValidationError(_("Not all raters have judged this item yet. Decide when they have."))
    if not reason:
        raise ValidationError({"reason": _("Please say why in a few words.")})
    if len(reason) > LONGEST_REASON:
        raise ValidationError(
            {"reason": _("The reason has %(n)d characters; %(most)d is the most.")
             % {"n": len(reason), "most": LONGEST_REASON}}
        )  # fmt: skip
    return _add(item, after, by, answers=checked_decision(judged, given), reason=reason)


@transaction.atomic
def undo(item: Item, *, after: int, by: Adjudicator) -> Adjudication:
    """Undo the decision about an item; it stays in the history.

    Raises:
        DecidedMeanwhileError: there is a newer entry.
        ValidationError: there is no decision, or the study is closed; nothing was changed.
    """
    judged = _locked(item, after)
    if judged.decision is None or judged.decision.answers is None:
        raise ValidationError(_("There is no decision to undo."))
    return _add(item, after, by, answers=None, reason="")


def _locked(item: Item, after: int) -> Judged:
    """The item with its judgments, locked against other decisions.

    Raises:
        DecidedMeanwhileError: there is an entry newer than `after`.
        ValidationError: the study is closed or has no adjudication, or the item has fewer than two judgments.
    """
    study = Study.objects.select_for_update(of=("self",), no_key=True).get(pk=item.study_id)
    steps = disputes.adjudication_steps(study)
    if study.state not in (Study.State.OPEN, Study.State.PAUSED) or steps is None:
        raise ValidationError(_("The study takes no decisions now: open it, with adjudication declared."))
    Item.objects.select_for_update(of=("self",), no_key=True).get(pk=item.pk)
    newest = Adjudication.objects.filter(item=item).order_by("number").last()
    if (newest.number if newest else 0) != after:
        raise DecidedMeanwhileError
    judged = disputes.judged_items(study, steps, item)
    if not judged:
        raise ValidationError(_("Fewer than two raters have judged this item yet."))
    return judged[0]


def _add(
    item: Item, after: int, by: Adjudicator, *, answers: Mapping[str, Answer | None] | None, reason: str
) -> Adjudication:
    added = Adjudication.objects.create(
        item=item,
        number=after + 1,
        answers=answers,
        reason=reason,
        at=timezone.now(),
        by=by.user,
        invitation=by.invitation,
    )
    results_changed(item.study_id)
    return added


def checked_decision(judged: Judged, given: Mapping[str, object]) -> dict[str, Answer | None]:
    """Validate the answers to the open questions of an item; None for those that are not asked.

    Raises:
        AnswersError: an answer is missing or invalid; names the question.
    """
    decided: dict[str, Answer | None] = {}
    for question in open_questions_of(judged):
        if not is_asked(question, decided):
            decided[question.key] = question.otherwise
            continue
        alone = replace(question, asked_if=None, otherwise=None)
        decided[question.key] = checked([alone], {question.key: given.get(question.key)}).get(question.key)
    return decided


def open_questions_of(judged: Judged) -> list[Question]:
    """The open questions of an item, in their order."""
    return [each for each in question_set(judged.ask.question_set).questions if each.key in judged.open]


def is_asked(question: Question, decided: Mapping[str, Answer | None]) -> bool:
    """True if an open question is asked after these decisions.

    Raters who agree on an earlier question were asked, and so is the adjudicator.
    """
    condition = question.asked_if
    if condition is None or condition.question not in decided:
        return True
    return condition.holds({key: answer for key, answer in decided.items() if answer is not None})


# The things judged, once more in another study, for the ask with the same questions.
_COPIES = """
INSERT INTO judging_item (study_id, ask_id, turn_id, response_id, dialogue_id, context_id, key, language)
SELECT %(study)s, ask.id, i.turn_id, i.response_id, i.dialogue_id, i.context_id, judging_key(ask.number),
       i.language
  FROM judging_item AS i JOIN studies_ask AS source_ask ON source_ask.id = i.ask_id
  JOIN studies_ask AS ask ON ask.study_id = %(study)s AND ask.question_set = source_ask.question_set
   AND ask.about = source_ask.about
 WHERE i.id = ANY(%(items)s) AND i.pair_id IS NULL AND i.language = ANY(%(languages)s)
 ORDER BY ask.number, i.id
    ON CONFLICT DO NOTHING
"""
_COPIED = """
SELECT i.id, copied.key
  FROM judging_item AS i JOIN studies_ask AS source_ask ON source_ask.id = i.ask_id
  JOIN judging_item AS copied ON copied.study_id = %(study)s
   AND copied.turn_id IS NOT DISTINCT FROM i.turn_id AND copied.response_id IS NOT DISTINCT FROM i.response_id
   AND copied.dialogue_id IS NOT DISTINCT FROM i.dialogue_id
   AND copied.context_id IS NOT DISTINCT FROM i.context_id AND copied.pair_id IS NULL
  JOIN studies_ask AS ask ON ask.id = copied.ask_id AND ask.question_set = source_ask.question_set
   AND ask.about = source_ask.about
 WHERE i.id = ANY(%(items)s)
"""


@transaction.atomic
def make_gold(study: Study, target: Study) -> int:
    """Make the decided items of a study gold items of another one, and return their number.

    The right answers are the decided ones, and where the raters agree, theirs.

    Args:
        study: the study with the decisions.
        target: a draft of a judging study that asks the same questions.

    Raises:
        ValidationError: the target is no draft, nothing is decided, or no decided item fits its asks and
            languages; nothing was changed.
    """
    lock_plan(target)
    if Study.objects.get(pk=target.pk).state != Study.State.DRAFT or target.pk == study.pk:
        raise ValidationError(_("Gold items are added to a draft. Make a new study, or a copy."))
    steps = disputes.adjudication_steps(study)
    judged = disputes.judged_items(study, steps) if steps else []
    decided = {each.item_id: each for each in judged if each.is_decided}
    insert(target, _COPIES, items=list(decided), languages=target.languages)
    with connection.cursor() as cursor:
        cursor.execute(_COPIED, {"study": target.pk, "items": list(decided)})
        copies = cursor.fetchall()
    wanted = {key: Gold(right) for item, key in copies if (right := _right_answers(decided[item]))}
    if not wanted:
        raise ValidationError(
            _("No decided item fits “%(title)s”: it must ask the same questions in the same language.")
            % {"title": target.title}
        )
    return declare_gold(target, wanted)


def _right_answers(judged: Judged) -> dict[str, list[Answer]]:
    """Right answers by question with one answer: the decided one, else all that the raters gave."""
    assert judged.decision
    decided = judged.decision.answers or {}
    right: dict[str, list[Answer]] = {}
    for question in question_set(judged.ask.question_set).questions:
        if question.kind in (Kind.TEXT, Kind.SEVERAL):
            continue
        is_open = question.key in judged.open
        given = (
            [decided.get(question.key)] if is_open else [each.get(question.key) for each in judged.answers]
        )
        accepted = [answer for answer in dict.fromkeys(given) if answer is not None]
        if accepted:
            right[question.key] = accepted
    return right
