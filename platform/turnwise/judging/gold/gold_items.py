"""Gold items: items with a known answer, judged unannounced among the others. They count in no score.

The queue hands them out (judging/sql/gold.sql). This module declares them, reads them from files, and counts
right answers.
"""

import csv
import io
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from uuid import UUID

from django.core.exceptions import ValidationError
from django.db import transaction
from django.utils.translation import gettext as _

from evaluation.files.writing import original
from evaluation.quality.accuracy import is_right
from evaluation.questions import Answer, Kind, Question, QuestionSet
from turnwise.judging.asks import questions_about
from turnwise.judging.batteries.batch_allocation import fill_slots
from turnwise.judging.batteries.battery_rules import battery_of
from turnwise.judging.items.subjects import lock_plan
from turnwise.judging.models import Item, Slot
from turnwise.questions.question_sets import question_set
from turnwise.studies.models import Study
from turnwise.studies.services import results_changed

MOST_BYTES = 1_000_000
MOST_ROWS = 5000
COLUMNS = ("item", "question", "right")
_INSTRUCTED = "instructed"
_YES = frozenset({"yes", "true", "1"})


@dataclass(slots=True)
class Gold:
    """The right answers about an item.

    Attributes:
        right: right answers by question.
        is_instructed: True if the item itself says what to answer.
    """

    right: dict[str, list[Answer]] = field(default_factory=dict)
    is_instructed: bool = False


@dataclass(frozen=True, slots=True)
class GoldCount:
    """A worker's results on gold items.

    Attributes:
        worker: pseudonym.
        right, judged: right judgments and all judgments of gold that is no attention check.
        attentive, checks: the same for attention checks, which say themselves what to answer.
        wrong: keys of the items with a wrong judgment.
    """

    worker: str
    right: int
    judged: int
    attentive: int
    checks: int
    wrong: Sequence[UUID]


def gold_items_of(study: Study) -> list[Item]:
    """The gold items of a study, attention checks last."""
    gold = study.items.filter(right_answers__isnull=False)
    subjects = ("ask", "turn", "response", "pair", "context")
    return list(gold.select_related(*subjects).order_by("is_instructed", "pk"))


@transaction.atomic
def declare_gold(study: Study, wanted: Mapping[UUID, Gold]) -> int:
    """Make these items gold, or replace their right answers.

    Raises:
        ValidationError: one reason for each item that cannot be gold; nothing was changed.
    """
    plan = lock_plan(study)
    if battery_of(study):
        raise ValidationError(
            _("Workers of this study get batteries, whose composition is fixed. Gold is mixed into a queue.")
        )
    items = {item.key: item for item in study.items.filter(key__in=wanted).select_related("ask")}
    problems = [why for key, gold in wanted.items() if (why := _problem_of(key, items.get(key), gold))]
    if problems:
        raise ValidationError(problems)
    for key, gold in wanted.items():
        item = items[key]
        item.right_answers, item.is_instructed = gold.right, gold.is_instructed
        item.save(update_fields=["right_answers", "is_instructed"])
    Slot.objects.filter(item__in=items.values(), batch=None, is_gold=False).delete()
    fill_slots(plan)
    results_changed(study.pk)
    return len(items)


def _problem_of(key: UUID, item: Item | None, gold: Gold) -> str:
    if item is None:
        return _("This queue has no item %(key)s. Take its name from the list of items.") % {"key": key}
    if item.removed_at:
        return _(
            "Item %(key)s was taken out of the queue. Put its system back first, or choose another as gold."
        ) % {"key": key}
    if item.anchor_id:
        return _(
            "Item %(key)s is an anchor with known values, so it has no right answers. Choose another as gold."
        ) % {"key": key}
    if not any(gold.right.values()):
        return _("Item %(key)s has no right answer, so nobody could judge it correctly. Say which it is.") % {
            "key": key
        }
    if Slot.objects.filter(item=item, is_gold=False).exclude(batch=None).exists():
        return _(
            "Item %(key)s has already been given to workers, whose judgments count. Choose another as gold."
        ) % {"key": key}
    questions = questions_about(item)
    for name, answers in gold.right.items():
        question = next((each for each in questions.questions if each.key == name), None)
        if question is None or question.kind is Kind.TEXT:
            return _("“%(name)s” is not a question with answers to choose from. There are: %(known)s.") % {
                "name": name,
                "known": ", ".join(each.key for each in closed_questions(questions)),
            }
        for answer in answers:
            if question.index_of(answer) is None:
                return _no_answer(question, answer)
    return ""


def _no_answer(question: Question, answer: object) -> str:
    return _("“%(answer)s” is not an answer to “%(question)s”. There are: %(known)s.") % {
        "answer": str(answer)[:60],
        "question": question.key,
        "known": ", ".join(choice.label for choice in question.choices),
    }


@transaction.atomic
def undeclare_gold(study: Study, key: UUID) -> None:
    """Make a gold item an ordinary one, which counts in scores.

    Raises:
        ValidationError: workers were given it as gold.
    """
    plan = lock_plan(study)
    item = study.items.get(key=key)
    if item.slots.filter(is_gold=True).exists():
        raise ValidationError(
            _("Workers were given this item as gold, so it stays gold. Set how many each gets to 0 for none.")
        )
    item.right_answers, item.is_instructed = None, False
    item.save(update_fields=["right_answers", "is_instructed"])
    fill_slots(plan)
    results_changed(study.pk)


@transaction.atomic
def set_gold_per_worker(study: Study, number: int) -> None:
    """Set how many gold items each worker judges who begins from now on.

    Raises:
        ValidationError: the number is out of bounds, or a language of the study has too few gold items.
    """
    plan = lock_plan(study)
    plan.gold_items = number
    plan.full_clean(exclude=["study"])
    for language in study.languages:
        available = study.items.filter(language=language, right_answers__isnull=False).count()
        if available < number:
            raise ValidationError(
                _(
                    "Every worker should judge %(number)d gold items, but there are %(there)d in the "
                    "language %(language)s. Name more, or ask for fewer."
                )
                % {"number": number, "there": available, "language": language}
            )
    plan.save(update_fields=["gold_items"])


def closed_questions(questions: QuestionSet) -> list[Question]:
    """Questions with answers to choose from, all of which can have a right answer."""
    return [each for each in questions.questions if each.kind is not Kind.TEXT]


# --- from a file --------------------------------------------------------------------------------


def parse_gold_file(text: str, study: Study) -> dict[UUID, Gold]:
    """Parse a CSV file of right answers, with a row for each, into gold by item.

    Raises:
        ValidationError: the file cannot be used; the message names the line.
    """
    found: dict[UUID, Gold] = {}
    sets = dict(study.items.values_list("key", "ask__question_set"))
    for line, row in _rows(text):
        answer = original(row["right"]).strip()
        name = row["question"].strip()
        if not answer and not name:  # a row of the downloaded list that was left empty
            continue
        key = _key(line, row["item"])
        gold = found.setdefault(key, Gold())
        closed = closed_questions(question_set(sets.get(key, study.question_set)))
        question = next((each for each in closed if each.key == name), None)
        if question is None:
            known = ", ".join(each.key for each in closed)
            raise _line_error(line, _("“%(name)s” is not a question with answers to choose from. There "
"are: %(known)s.")
                      % {"name": name[:60], "known": known})  # fmt: skip
        if not answer:
            raise _line_error(line, _("The right answer is missing. Gold without an answer tells nothing."))
        gold.right.setdefault(name, []).append(_answer(line, question, answer))
        gold.is_instructed |= row.get(_INSTRUCTED, "").strip().lower() in _YES
    if not found:
        raise ValidationError(_("The file names no item with a right answer. Fill in question and right."))
    return found


def _rows(text: str) -> list[tuple[int, dict[str, str]]]:
    reader = csv.DictReader(io.StringIO(text.removeprefix("\ufeff")), restval="")
    try:
        header = [name.strip() for name in reader.fieldnames or ()]
        missing = [name for name in COLUMNS if name not in header]
        if missing:
            raise ValidationError(
                _("The file has no column “%(name)s”. Its first line must name: %(columns)s.")
                % {"name": missing[0], "columns": ", ".join(COLUMNS)}
            )
        reader.fieldnames = header
        rows: list[tuple[int, dict[str, str]]] = []
        for row in reader:
            rows.append((reader.line_num, {key: value or "" for key, value in row.items() if key}))
            if len(rows) > MOST_ROWS:
                raise ValidationError(
                    _("The file has more than %(most)d rows. Split it.") % {"most": MOST_ROWS}
                )
    except csv.Error as error:
        raise ValidationError(_("This is not a CSV file: %(why)s.") % {"why": error}) from None
    return rows


def _key(line: int, text: str) -> UUID:
    try:
        return UUID(text.strip())
    except ValueError:
        raise _line_error(
            line, _("“%(text)s” is not the name of an item.") % {"text": text.strip()[:60]}
        ) from None


def _answer(line: int, question: Question, text: str) -> Answer:
    """The answer with this caption or stored value."""
    for choice in question.choices:
        stored = str(choice.value)
        if text.lower() in (choice.label.lower(), stored.lower()):
            return choice.value
    raise _line_error(line, _no_answer(question, text))


def _line_error(line: int, says: str) -> ValidationError:
    return ValidationError(_("Line %(line)d: %(says)s") % {"line": line, "says": says})


# --- results of workers -------------------------------------------------------------------------


def gold_counts(study: Study) -> list[GoldCount]:
    """Results of each worker on gold items, the most wrong answers first."""
    judgments: dict[str, list[tuple[UUID, bool, bool]]] = {}
    slots = Slot.objects.filter(study=study, is_gold=True, label__isnull=False).order_by("label")
    names = dict(study.participations.values_list("worker", "pseudonym"))
    for slot in slots.select_related("item", "label"):
        assert slot.label
        judgments.setdefault(names[slot.label.rater_id], []).append(
            (
                slot.item.key,
                slot.item.is_instructed,
                is_right(slot.item.right_answers or {}, slot.label.answers),
            )
        )
    rows = [_count(worker, of_worker) for worker, of_worker in judgments.items()]
    return sorted(rows, key=lambda row: (-len(row.wrong), row.worker))


def _count(worker: str, judgments: Sequence[tuple[UUID, bool, bool]]) -> GoldCount:
    gold = [right for _key, is_check, right in judgments if not is_check]
    checks = [right for _key, is_check, right in judgments if is_check]
    wrong = [key for key, _check, right in judgments if not right]
    return GoldCount(worker, sum(gold), len(gold), sum(checks), len(checks), wrong)
