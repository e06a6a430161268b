"""Qualification tests: parse and format their questions, and record attempts.

Questions are written as text: a question, its choices (right ones with *), and the reason.

Which reply makes sense after “How are you?”
* Fine, thanks. And you?
- The train leaves at nine.
> Only the first answers the question.

Attempts are counted in the database, over all tabs and studies.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from django.contrib.auth.models import AnonymousUser
from django.core.exceptions import ValidationError
from django.db import transaction
from django.db.models import Max, ProtectedError, QuerySet
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from turnwise.accounts.access import visible_to
from turnwise.accounts.models import User
from turnwise.crowd.models import Assignment, Outcome, Participation, Worker
from turnwise.crowd.places import ending
from turnwise.quality.models import Attempt, Qualification, Requirement
from turnwise.studies.models import Study
from turnwise.trash.models import Deletion
from turnwise.trash.soft_delete import SoftDeleter


def qualifications_of(user: User | AnonymousUser) -> QuerySet[Qualification]:
    """Qualifications of this user; admins see all."""
    return visible_to(user, Qualification.objects.all(), owner="owner")


MOST_QUESTIONS = 50
MOST_CHOICES = 10
LONGEST = 1000

QuestionData = dict[str, Any]


def parse_questions(text: str) -> list[QuestionData]:
    """Parse the questions of a text, separated by empty lines.

    Raises:
        ValidationError: there is no question, or one is invalid; names the line.
    """
    questions = [_question(block) for block in _blocks(text.replace("\x00", ""))]
    if not questions:
        raise ValidationError(_("Write a question with its choices."))
    if len(questions) > MOST_QUESTIONS:
        raise ValidationError(
            _("These are %(n)d questions; a qualification has at most %(most)d.")
            % {"n": len(questions), "most": MOST_QUESTIONS}
        )
    return questions


def _blocks(text: str) -> Iterator[list[tuple[int, str]]]:
    block: list[tuple[int, str]] = []
    for number, line in enumerate(text.splitlines(), 1):
        if line.strip():
            block.append((number, line.strip()))
        elif block:
            yield block
            block = []
    if block:
        yield block


def _question(block: Sequence[tuple[int, str]]) -> QuestionData:
    phrases: list[str] = []
    choices: list[tuple[str, bool]] = []
    why: list[str] = []
    for number, line in block:
        if len(line) > LONGEST:
            raise _at(number, _("It has more than %(most)d characters. Shorten it.") % {"most": LONGEST})
        mark, rest = line[0], line[1:].strip()
        if mark in "*-":
            _refuse_choice(number, mark, rest, [choice for choice, _right in choices])
            choices.append((rest, mark == "*"))
        elif mark == ">":
            why.append(rest)
        elif choices:
            raise _at(number, _("A choice begins with * or -, and a new question follows an empty line."))
        else:
            phrases.append(line)
    right = [number for number, (_choice, is_right) in enumerate(choices) if is_right]
    _refuse_question(block[0][0], phrases, len(choices), len(right))
    return {
        "text": "\n".join(phrases),
        "choices": [choice for choice, _right in choices],
        "right": right,
        "why": " ".join(why),
    }


def _refuse_choice(number: int, mark: str, choice: str, before: Sequence[str]) -> None:
    if not choice:
        raise _at(number, _("There is nothing after the %(mark)s.") % {"mark": mark})
    if choice in before:
        raise _at(number, _("“%(choice)s” appears twice.") % {"choice": choice})


def _refuse_question(first: int, said: Sequence[str], choices: int, right: int) -> None:
    if not said:
        raise _at(first, _("The choices have no question above them."))
    if not 2 <= choices <= MOST_CHOICES:
        raise _at(
            first,
            _("The question has %(n)d choices, and needs 2 to %(most)d.")
            % {"n": choices, "most": MOST_CHOICES},
        )
    if not right:
        raise _at(first, _("No choice is right. Begin the right one with *."))
    if right == choices:
        raise _at(first, _("Every choice is right, so the question shows nothing. Begin wrong ones with -."))


def _at(line: int, says: str) -> ValidationError:
    return ValidationError(_("Line %(line)d: %(says)s") % {"line": line, "says": says})


def format_questions(questions: Sequence[QuestionData]) -> str:
    """Format questions as text; the inverse of `parse_questions`."""
    blocks = []
    for question in questions:
        marks = ("*" if n in question["right"] else "-" for n in range(len(question["choices"])))
        lines = [question["text"]]
        lines += [f"{mark} {choice}" for mark, choice in zip(marks, question["choices"], strict=True)]
        blocks.append("\n".join([*lines, *([f"> {question['why']}"] if question["why"] else [])]))
    return "\n\n".join(blocks)


FIRST = 10
"""Number of workers who failed, with none passing, from which a warning is shown."""

Given = Mapping[int, Sequence[int]]


@dataclass(frozen=True, slots=True)
class AttemptStatus:
    """State of a worker's attempts at a qualification."""

    passed: bool
    tries: int
    left: int

    @property
    def failed(self) -> bool:
        return not self.passed and not self.left


def required_qualification(study: Study) -> Qualification | None:
    """Qualification that the study requires; None if there is none."""
    requirement: Requirement | None = getattr(study, "requirement", None)
    return requirement.qualification if requirement else None


def attempt_status(worker: Worker, qualification: Qualification) -> AttemptStatus:
    tried = list(Attempt.objects.filter(worker=worker, qualification=qualification))
    passed = any(each.passed for each in tried)
    return AttemptStatus(passed, len(tried), max(0, qualification.tries - len(tried)))


@transaction.atomic
def record_attempt(participation: Participation, given: Given) -> Attempt | None:
    """Mark and record one attempt; a worker who fails the last one is screened out.

    Args:
        participation: the worker's participation.
        given: numbers of the selected choices by number of the question, both from 0.

    Returns:
        The attempt; None if none was due: passed before, no attempt left, or the participation has ended.
    """
    worker = Worker.objects.select_for_update(no_key=True).get(pk=participation.worker_id)
    qualification = required_qualification(participation.study)
    if qualification is None or Assignment.objects.filter(participation=participation).exists():
        return None
    before = attempt_status(worker, qualification)
    if before.passed:
        return None
    if before.failed:
        ending.end(participation.pk, Outcome.SCREENED_OUT)
        return None
    right = len(qualification.questions) - len(wrong_questions(qualification.questions, given))
    made = Attempt.objects.create(
        worker=worker,
        qualification=qualification,
        participation=participation,
        number=before.tries + 1,
        right=right,
        passed=right >= qualification.pass_mark,
        given={str(number): list(chosen) for number, chosen in given.items()},
    )
    if not made.passed and before.left == 1:
        ending.end(participation.pk, Outcome.SCREENED_OUT)
    return made


def wrong_questions(questions: Sequence[QuestionData], given: Given) -> set[int]:
    """Numbers of wrongly answered questions; an answer is right with all right choices and no others."""
    return {
        number
        for number, question in enumerate(questions)
        if sorted(set(given.get(number, ()))) != sorted(question["right"])
    }


@transaction.atomic
def save_qualification(qualification: Qualification) -> Qualification:
    """Store a qualification.

    Raises:
        ValidationError: it cannot be passed, or it has attempts and cannot be changed.
    """
    if qualification.pk:
        Qualification.objects.select_for_update().get(pk=qualification.pk)
        if qualification.attempts.exists():
            raise ValidationError(
                _("People have tried it, so it is fixed: everybody must pass the same one. Make another.")
            )
    if qualification.pass_mark > qualification.of:
        raise ValidationError(
            {
                "pass_mark": _(
                    "Nobody could pass: %(mark)d right answers are required, and there are %(n)d questions."
                )
                % {"mark": qualification.pass_mark, "n": qualification.of}
            }
        )
    qualification.full_clean(exclude=["owner"])
    qualification.save()
    return qualification


def delete_qualification(qualification: Qualification, *, by: User) -> Deletion:
    """Delete a qualification, which can be put back for a day.

    Raises:
        ValidationError: a study requires it, or a worker has tried it; nothing was changed.
    """
    deleter = SoftDeleter()
    try:
        with transaction.atomic():
            deleter.delete(Qualification.objects.filter(pk=qualification.pk))
            return deleter.store(qualification.title, by=by)
    except ProtectedError:
        raise ValidationError(_("Studies require it, or people have tried it, so it is kept.")) from None


def set_requirement(study: Study, qualification: Qualification | None) -> None:
    """Require a qualification of the study's new workers, or none. Workers who have started continue."""
    if qualification is None:
        Requirement.objects.filter(study=study).delete()
    else:
        Requirement.objects.update_or_create(study=study, defaults={"qualification": qualification})


@dataclass(frozen=True, slots=True)
class PassCounts:
    """Numbers of workers who tried, passed, and used all attempts without passing."""

    tried: int
    passed: int
    failed: int


def pass_counts(qualification: Qualification) -> PassCounts:
    """Count the workers who tried, passed and failed a qualification."""
    of_workers = Attempt.objects.filter(qualification=qualification).values("worker").order_by()
    rows = list(of_workers.annotate(most=Max("number")))
    passed = of_workers.filter(passed=True).distinct().count()
    passers = set(
        Attempt.objects.filter(qualification=qualification, passed=True).values_list("worker", flat=True)
    )
    failed = sum(row["worker"] not in passers and row["most"] >= qualification.tries for row in rows)
    return PassCounts(len(rows), passed, failed)


def warning(qualification: Qualification) -> str:
    """Warning that no worker seems able to pass; empty if there is no sign of it."""
    counts = pass_counts(qualification)
    if counts.passed or counts.failed < FIRST:
        return ""
    return ngettext(
        "%(n)d person has used all attempts, and nobody has passed. Look at the questions and the pass mark.",
        (
            "%(n)d people have used all attempts, and nobody has passed. Look at the questions and "
            "the pass mark."
        ),
        counts.failed,
    ) % {"n": counts.failed}
