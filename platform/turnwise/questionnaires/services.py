"""What people are asked about themselves, before they begin and when their work is done.

Before and after somebody's work: whether they are asked something about themselves.
"""

from collections.abc import Mapping
from typing import Any

from django.db import transaction
from django.utils import timezone
from django.utils.translation import gettext as _
from typing_extensions import override

from evaluation.questions import Answer
from turnwise.crowd.entry import gates
from turnwise.crowd.entry.submitted_answers import checked
from turnwise.crowd.languages import language_of_questions
from turnwise.crowd.models import Assignment, Outcome, Participation, Worker
from turnwise.crowd.places.assignment import lock_participation
from turnwise.labels.models import Label
from turnwise.labels.services import Timing
from turnwise.questions.question_sets import all_asked, question_set
from turnwise.studies.asks import Moment, Party
from turnwise.studies.models import Ask, Study
from turnwise.studies.services import results_changed


def asked_at(study: Study, moment: Moment) -> list[Ask]:
    """The questionnaires of a study at one moment, in their order."""
    return [ask for ask in study.questionnaires if ask.moment == moment]


def due(own: Participation, moment: Moment) -> list[Ask]:
    """What they still have to answer, or to leave out.

    Before the work everybody is asked once in a study, in whichever browser, and however often they take
    part: they are the same person each time, so their first answers stand, and what they left out then stays
    left out. Another study asks anew. Who agreed and began nothing is forgotten once they come back in
    another browser, and their answers with them; they are asked again.

    After the work they are asked each time, as it is about that time, and only if the work is complete.
    Who has withdrawn is asked nothing.
    """
    asks = asked_at(own.study, moment)
    if not asks or own.erased_at or hasattr(own, "withdrawal"):
        return []
    if moment == Moment.AFTER_WORK and not _is_complete(own):
        return []
    given = Label.objects.filter(participation__worker=own.worker_id, participation__study=own.study_id)
    if moment == Moment.AFTER_WORK:
        given = given.filter(participation=own)
    known = set(given.values_list("ask", flat=True))
    return [ask for ask in asks if ask.pk not in known]


def _is_complete(own: Participation) -> bool:
    work: Assignment | None = getattr(own, "assignment", None)
    return work is not None and work.outcome == Outcome.COMPLETE


def shown(study: Study, asks: list[Ask]) -> dict[str, Any]:
    """These questionnaires as their page takes them (static/js/questionnaire)."""
    language = language_of_questions(study)
    return {
        "language": language,
        "sets": [
            {
                "key": ask.question_set,
                "required": ask.required,
                "questions": all_asked(ask.question_set, language),
            }
            for ask in asks
        ],
    }


@transaction.atomic
def take(own: Participation, moment: Moment, sent: Mapping[str, Any]) -> None:
    """Store what somebody answered about themselves. Safe to repeat: the first answers stay.

    Args:
        own: whose.
        moment: at which they were asked.
        sent: by question set its `answers`, None for one that they leave out, and their `timing`.

    Raises:
        NotTakenError: something that has to be answered is not, or an answer cannot be. Nothing was
            stored.
    """
    # Two tabs that send at once take turns, and so does a withdrawal: what was read before it is out of date.
    Worker.objects.select_for_update(no_key=True).get(pk=own.worker_id)
    own = lock_participation(own.pk)
    labels = [_label(own, ask, sent.get(ask.question_set)) for ask in due(own, moment)]
    if labels:
        Label.objects.bulk_create(labels)
        results_changed(own.study_id)


def _label(own: Participation, ask: Ask, sent: object) -> Label:
    told = sent if isinstance(sent, dict) else {}
    now = timezone.now()
    return Label(
        study=own.study,
        participation=own,
        rater=own.worker,
        party=Party.THEMSELVES,
        ask=ask,
        question_set=ask.question_set,
        answers=_answers(ask, told.get("answers")),
        created_at=now,
        changed_at=now,
        **Timing.of(told)._asdict(),
    )


def _answers(ask: Ask, given: object) -> dict[str, Answer]:
    """As they are stored: none of a questionnaire that is left out as a whole.

    Raises:
        NotTakenError: they cannot be.
    """
    if given is None and not ask.required:
        return {}
    questions = question_set(ask.question_set).in_language(language_of_questions(ask.study))
    return checked(questions, given, missing=_("You have not answered every question yet."))


class QuestionnaireGate(gates.Gate):
    """Who is asked before they begin answers first; who is asked afterwards, before their last page."""

    @override
    def first(self, participation: Participation) -> str:
        return "questionnaires:before" if due(participation, Moment.BEFORE_WORK) else ""

    @override
    def last(self, participation: Participation) -> str:
        return "questionnaires:after" if due(participation, Moment.AFTER_WORK) else ""


gates.register(QuestionnaireGate())
