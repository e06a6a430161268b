"""Training questions that workers must answer correctly before they judge, if the plan wants them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from django.db import transaction
from django.db.models import QuerySet
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from evaluation.questions import Example, QuestionSet
from evaluation.questions.sets.preference import training_of, wrong_in
from turnwise.crowd.languages import ENGLISH
from turnwise.crowd.models import Assignment, Outcome, Participation
from turnwise.crowd.refusals import EntryRefusedError
from turnwise.judging.asks import question_sets_of
from turnwise.judging.models import JudgingPlan, Training
from turnwise.questions.question_sets import in_language, training_in
from turnwise.studies.models import Study


@dataclass(frozen=True, slots=True)
class MarkedExample:
    """A training question with a worker's answers.

    Attributes:
        example: the example, with its right answers and their reasons.
        wrong: keys of the questions with a wrong answer; empty: all answers are right.
        given: the worker's answers.
    """

    example: Example
    wrong: Sequence[str]
    given: Mapping[str, object]


def training_failed() -> EntryRefusedError:
    return EntryRefusedError(
        "training_failed",
        status=403,
        title=_("Thank you for trying"),
        say=_("Not all of your practice answers were right, so you cannot judge in this study."),
        cure=_("If you came from a panel, return the task there. This does not count against you."),
        outcome=Outcome.SCREENED_OUT,
    )


def allowed_tries(study: Study) -> int:
    """Number of attempts that workers have; 0: the study has no training."""
    plan: JudgingPlan | None = getattr(study, "judging", None)
    return plan.training_tries if plan else 0


def examples_of(study: Study, language: str = ENGLISH) -> list[tuple[QuestionSet, Example]]:
    """Training examples of all question sets of readers, each with its set, in this language."""
    sets = [in_language(questions, language) for questions in question_sets_of(study)]
    return [(questions, example) for questions in sets for example in training_in(questions, language)]


def _trainings_of(participation: Participation) -> QuerySet[Training]:
    return Training.objects.filter(worker=participation.worker_id, study=participation.study_id)


def is_due(participation: Participation) -> bool:
    """True if the worker has not passed the training yet.

    Raises:
        EntryRefusedError: the worker has used all attempts.
    """
    allowed = allowed_tries(participation.study)
    if not allowed:
        return False
    found = _trainings_of(participation).first()
    if found and found.passed_at is None and found.tries >= allowed:
        raise training_failed()
    return found is None or found.passed_at is None


@transaction.atomic
def mark_attempt(participation: Participation, given: Sequence[Mapping[str, object]]) -> list[MarkedExample]:
    """Mark one attempt. The worker has passed if all answers are right.

    Args:
        participation: the worker's participation.
        given: answers to each training question, in order.

    Raises:
        EntryRefusedError: no attempt is left.
    """
    Participation.objects.select_for_update(no_key=True).get(pk=participation.pk)
    # Read after the lock, since a withdrawal may have ended the assignment meanwhile.
    has_ended = Assignment.objects.filter(participation=participation).exclude(outcome="").exists()
    if has_ended or not is_due(participation):
        return []
    marked = [
        MarkedExample(example, wrong_in(example, questions, answers), answers)
        for (questions, example), answers in zip(examples_of(participation.study), given, strict=True)
    ]
    training = _trainings_of(participation).first() or Training(
        worker_id=participation.worker_id, study_id=participation.study_id
    )
    training.tries += 1
    if not any(each.wrong for each in marked):
        training.passed_at = timezone.now()
    training.save()
    return marked


def attempts_left_text(participation: Participation) -> str:
    """Sentence that says how many attempts the worker has left."""
    used = _trainings_of(participation).values_list("tries", flat=True).first() or 0
    return describe_attempts_left(allowed_tries(participation.study) - used)


def describe_attempts_left(n: int) -> str:
    """Sentence about this number of attempts."""
    return ngettext("You have %(n)d attempt left.", "You have %(n)d attempts left.", n) % {"n": n}


def why_untrainable(sets: Sequence[QuestionSet], tries: int) -> str:
    """Reason why workers cannot be trained with these questions; empty if they can or need not."""
    if not tries or any(training_of(questions) for questions in sets):
        return ""
    return _(
        "The questions “%(title)s” have no training questions. Add worked examples to the set, of which all "
        "but the first train, or ask for no training."
    ) % {"title": "”, “".join(questions.title for questions in sets)}
