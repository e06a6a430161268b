"""Who passes a qualification. Tries are counted in the database: another tab or study gives no new ones."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from django.core.exceptions import ValidationError
from django.db import transaction
from django.db.models import Max
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from turnwise.crowd import ending
from turnwise.crowd.models import Assignment, Outcome, Participation, Worker
from turnwise.quality.models import Attempt, Qualification, Requirement
from turnwise.quality.writing import Written
from turnwise.studies.models import Study

FIRST = 10
"""So many people are to have used all tries in vain before a qualification is warned of."""

Given = Mapping[int, Sequence[int]]


@dataclass(frozen=True, slots=True)
class Standing:
    """How far somebody is with a qualification."""

    passed: bool
    tries: int
    left: int

    @property
    def failed(self) -> bool:
        return not self.passed and not self.left


def wanted_by(study: Study) -> Qualification | None:
    """The qualification that the study wants; None if none."""
    found: Requirement | None = getattr(study, "requirement", None)
    return found.qualification if found else None


def standing(worker: Worker, qualification: Qualification) -> Standing:
    tried = list(Attempt.objects.filter(worker=worker, qualification=qualification))
    passed = any(each.passed for each in tried)
    return Standing(passed, len(tried), max(0, qualification.tries - len(tried)))


@transaction.atomic
def attempt(participation: Participation, given: Given) -> Attempt | None:
    """Mark one try; whoever fails the last one is screened out.

    Args:
        participation: whose.
        given: by number of the question, the numbers of the choices, from 0.

    Returns:
        The try; None if none was due: they had passed, have no try left, or their part has ended.
    """
    worker = Worker.objects.select_for_update(no_key=True).get(pk=participation.worker_id)
    qualification = wanted_by(participation.study)
    if qualification is None or Assignment.objects.filter(participation=participation).exists():
        return None
    before = standing(worker, qualification)
    if before.passed:
        return None
    if before.failed:
        ending.end(participation.pk, Outcome.SCREENED_OUT)
        return None
    right = len(qualification.questions) - len(wrong_in(qualification.questions, given))
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


def wrong_in(questions: Sequence[Written], given: Given) -> set[int]:
    """Numbers of the questions that were answered otherwise than with all right choices and no others."""
    return {
        number
        for number, question in enumerate(questions)
        if sorted(set(given.get(number, ()))) != sorted(question["right"])
    }


@transaction.atomic
def save(qualification: Qualification) -> Qualification:
    """Store a qualification.

    Raises:
        ValidationError: nobody could pass it, or somebody has tried, so that it stays.
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


def require(study: Study, qualification: Qualification | None) -> None:
    """Have new workers of the study pass it; None: nothing. Who has begun goes on."""
    if qualification is None:
        Requirement.objects.filter(study=study).delete()
    else:
        Requirement.objects.update_or_create(study=study, defaults={"qualification": qualification})


@dataclass(frozen=True, slots=True)
class Fared:
    """How people fared: how many tried, passed, and used all attempts without passing."""

    tried: int
    passed: int
    failed: int


def outcome_of(qualification: Qualification) -> Fared:
    """How people fared with it."""
    of_workers = Attempt.objects.filter(qualification=qualification).values("worker").order_by()
    rows = list(of_workers.annotate(most=Max("number")))
    passed = of_workers.filter(passed=True).distinct().count()
    passers = set(
        Attempt.objects.filter(qualification=qualification, passed=True).values_list("worker", flat=True)
    )
    failed = sum(row["worker"] not in passers and row["most"] >= qualification.tries for row in rows)
    return Fared(len(rows), passed, failed)


def warning(qualification: Qualification) -> str:
    """That nobody seems able to pass, if so; else empty."""
    found = outcome_of(qualification)
    if found.passed or found.failed < FIRST:
        return ""
    return ngettext(
        "%(n)d person has used all attempts, and nobody has passed. Look at the questions and the pass mark.",
        (
            "%(n)d people have used all attempts, and nobody has passed. Look at the questions and "
            "the pass mark."
        ),
        found.failed,
    ) % {"n": found.failed}
