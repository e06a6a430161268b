"""Questionnaires of participants before and after their work: which ones are due, and saving the answers."""

from collections.abc import Mapping
from typing import Any

from django.db import transaction
from django.utils import timezone
from django.utils.translation import gettext as _
from typing_extensions import override

from evaluation.questions import Answer
from turnwise.crowd.entry import gates
from turnwise.crowd.entry.submitted_answers import check_answers
from turnwise.crowd.languages import language_of_questions
from turnwise.crowd.models import Assignment, Outcome, Participation, Worker
from turnwise.crowd.places.assignment import lock_participation
from turnwise.labels.models import Label
from turnwise.labels.services import Timing
from turnwise.questions.question_sets import in_language, question_set, questions_json
from turnwise.studies.asks import Moment, Party
from turnwise.studies.models import Ask, Study
from turnwise.studies.services import results_changed


def questionnaires_at(study: Study, moment: Moment) -> list[Ask]:
    """The study's questionnaires at one moment, in their order."""
    return [ask for ask in study.questionnaires if ask.moment == moment]


def due_questionnaires(participation: Participation, moment: Moment) -> list[Ask]:
    """Questionnaires that the participant still has to answer or skip.

    Questionnaires before the work come once per worker and study, even if the worker takes part repeatedly:
    the first answers stand, and skipped ones stay skipped. Workers who agreed, began nothing and return in
    another browser are forgotten together with their answers, so they are asked again.

    Questionnaires after the work come with every participation, if its work is complete. Participants who
    withdrew get none.
    """
    asks = questionnaires_at(participation.study, moment)
    if not asks or participation.erased_at or hasattr(participation, "withdrawal"):
        return []
    if moment == Moment.AFTER_WORK and not _is_complete(participation):
        return []
    given = Label.objects.filter(
        participation__worker=participation.worker_id, participation__study=participation.study_id
    )
    if moment == Moment.AFTER_WORK:
        given = given.filter(participation=participation)
    known = set(given.values_list("ask", flat=True))
    return [ask for ask in asks if ask.pk not in known]


def _is_complete(participation: Participation) -> bool:
    work: Assignment | None = getattr(participation, "assignment", None)
    return work is not None and work.outcome == Outcome.COMPLETE


def page_settings(study: Study, asks: list[Ask]) -> dict[str, Any]:
    """Settings of the questionnaire page's script (static/js/questionnaire)."""
    language = language_of_questions(study)
    return {
        "language": language,
        "sets": [
            {
                "key": ask.question_set,
                "required": ask.required,
                "questions": questions_json(ask.question_set, language),
            }
            for ask in asks
        ],
    }


@transaction.atomic
def save_answers(participation: Participation, moment: Moment, sent: Mapping[str, Any]) -> None:
    """Store a participant's answers about themselves. Idempotent: the first answers stay.

    Args:
        participation: the participation of the person who answers.
        moment: the moment of the questionnaires.
        sent: for each question set key its `answers` (None if skipped) and `timing`.

    Raises:
        AnswersRefusedError: a required answer is missing, or an answer is invalid. Nothing was stored.
    """
    # The lock orders this with another tab and with a withdrawal; the participation is read again after it.
    Worker.objects.select_for_update(no_key=True).get(pk=participation.worker_id)
    participation = lock_participation(participation.pk)
    labels = [
        _label(participation, ask, sent.get(ask.question_set))
        for ask in due_questionnaires(participation, moment)
    ]
    if labels:
        Label.objects.bulk_create(labels)
        results_changed(participation.study_id)


def _label(participation: Participation, ask: Ask, sent: object) -> Label:
    submitted = sent if isinstance(sent, dict) else {}
    now = timezone.now()
    return Label(
        study=participation.study,
        participation=participation,
        rater=participation.worker,
        party=Party.THEMSELVES,
        ask=ask,
        question_set=ask.question_set,
        answers=_answers(ask, submitted.get("answers")),
        created_at=now,
        changed_at=now,
        **Timing.of(submitted)._asdict(),
    )


def _answers(ask: Ask, answers: object) -> dict[str, Answer]:
    """Validate answers for storage; a skipped questionnaire has none.

    Raises:
        AnswersRefusedError: an answer is missing or invalid.
    """
    if answers is None and not ask.required:
        return {}
    questions = in_language(question_set(ask.question_set), language_of_questions(ask.study))
    return check_answers(questions, answers, missing=_("You have not answered every question yet."))


class QuestionnaireGate(gates.Gate):
    """Gate that sends participants to their due questionnaires, before the work and before the last page."""

    @override
    def first(self, participation: Participation) -> str:
        return "questionnaires:before" if due_questionnaires(participation, Moment.BEFORE_WORK) else ""

    @override
    def last(self, participation: Participation) -> str:
        return "questionnaires:after" if due_questionnaires(participation, Moment.AFTER_WORK) else ""


gates.register(QuestionnaireGate())
