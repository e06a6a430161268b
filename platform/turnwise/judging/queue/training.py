"""Training questions that workers answer rightly before they judge, where the plan asks for it."""

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
from turnwise.judging.asks import sets_of
from turnwise.judging.models import JudgingPlan, Training
from turnwise.studies.models import Study


@dataclass(frozen=True, slots=True)
class Marked:
    """A training question with what somebody answered.

    Attributes:
        example: what is judged, and why the right answers are right.
        wrong: keys of the questions that were answered wrongly; empty: all is right.
        given: the answers.
    """

    example: Example
    wrong: Sequence[str]
    given: Mapping[str, object]


def not_passed() -> EntryRefusedError:
    return EntryRefusedError(
        "training_failed",
        status=403,
        title=_("Thank you for trying"),
        say=_("Not all of your practice answers were right, so you cannot judge in this study."),
        cure=_("If you came from a panel, return the task there. This does not count against you."),
        outcome=Outcome.SCREENED_OUT,
    )


def tries_of(study: Study) -> int:
    """How often workers may try; 0: the study has no training."""
    plan: JudgingPlan | None = getattr(study, "judging", None)
    return plan.training_tries if plan else 0


def examples_of(study: Study, language: str = ENGLISH) -> list[tuple[QuestionSet, Example]]:
    """The training questions of all that readers are asked, each with its set, in this language."""
    sets = [questions.in_language(language) for questions in sets_of(study)]
    return [(questions, example) for questions in sets for example in training_of(questions, language)]


def _of(participation: Participation) -> QuerySet[Training]:
    return Training.objects.filter(worker=participation.worker_id, study=participation.study_id)


def is_due(participation: Participation) -> bool:
    """Whether the worker has still to pass.

    Raises:
        EntryRefusedError: they have used all their tries.
    """
    allowed = tries_of(participation.study)
    if not allowed:
        return False
    found = _of(participation).first()
    if found and found.passed_at is None and found.tries >= allowed:
        raise not_passed()
    return found is None or found.passed_at is None


@transaction.atomic
def answer(participation: Participation, given: Sequence[Mapping[str, object]]) -> list[Marked]:
    """Mark one try. With all answers right the worker has passed.

    Args:
        participation: whose.
        given: by training question, in their order, the answers.

    Raises:
        EntryRefusedError: it was the last try, or none is left.
    """
    Participation.objects.select_for_update(no_key=True).get(pk=participation.pk)
    # Read after the lock, for which a withdrawal may have been waited.
    has_ended = Assignment.objects.filter(participation=participation).exclude(outcome="").exists()
    if has_ended or not is_due(participation):
        return []
    marked = [
        Marked(example, wrong_in(example, questions, answers), answers)
        for (questions, example), answers in zip(examples_of(participation.study), given, strict=True)
    ]
    training = _of(participation).first() or Training(
        worker_id=participation.worker_id, study_id=participation.study_id
    )
    training.tries += 1
    if not any(each.wrong for each in marked):
        training.passed_at = timezone.now()
    training.save()
    return marked


def left(participation: Participation) -> str:
    """How many tries are left, in words."""
    used = _of(participation).values_list("tries", flat=True).first() or 0
    return in_words(tries_of(participation.study) - used)


def in_words(n: int) -> str:
    """So many tries that are left."""
    return ngettext("You have %(n)d attempt left.", "You have %(n)d attempts left.", n) % {"n": n}


def why_untrainable(sets: Sequence[QuestionSet], tries: int) -> str:
    """Why workers cannot be trained with any of these questions; empty if they can, or need not."""
    if not tries or any(training_of(questions) for questions in sets):
        return ""
    return _(
        "The questions “%(title)s” have no training questions. Add worked examples to the set, of which all "
        "but the first train, or ask for no training."
    ) % {"title": "”, “".join(questions.title for questions in sets)}
