"""Practice before the work: workers try a study's questions on worked examples. No answer becomes a label.

A worker who has tried all examples of a question set does not practise it again in any study.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from django.utils import timezone
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from evaluation.questions import Example, Kind, QuestionSet
from turnwise.crowd.entry.submitted_answers import check_answers
from turnwise.crowd.languages import language_of_questions
from turnwise.crowd.models import Participation, Practice, Worker
from turnwise.crowd.worker_task import WorkerTask
from turnwise.questions.question_sets import in_language, question_json, question_set
from turnwise.studies.asks import By
from turnwise.studies.models import Ask, Study
from turnwise.studies.tasks import task_of

_TALKERS, _READERS = (_("You"), _("Chatbot")), (_("Speaker A"), _("Speaker B"))


@dataclass(frozen=True, slots=True)
class PracticeAsk:
    """An ask of a study with its question set, whose examples workers try."""

    ask: Ask
    questions: QuestionSet

    @property
    def examples(self) -> Sequence[Example]:
        return self.questions.examples


def practice_asks(study: Study) -> list[PracticeAsk]:
    """Asks that workers of the study practise, in order.

    Empty if the study has no practice, or has training questions, which teach the same.
    """
    task = task_of(study)
    if not study.practice or (isinstance(task, WorkerTask) and task.trains(study)):
        return []
    first = {ask.question_set: ask for ask in reversed(study.work_asks)}
    asks = sorted(first.values(), key=lambda ask: ask.number)
    language = language_of_questions(study)
    every = [PracticeAsk(ask, in_language(question_set(ask.question_set), language)) for ask in asks]
    return [each for each in every if each.examples]


def number_of_examples(study: Study) -> int:
    return sum(len(each.examples) for each in practice_asks(study))


def is_due(participation: Participation) -> bool:
    """True if the worker has to practise before the work."""
    required = {each.questions.key for each in practice_asks(participation.study)}
    passed = Practice.objects.filter(worker=participation.worker_id, question_set__in=required)
    return passed.count() < len(required)


def page_settings(study: Study) -> dict[str, Any]:
    """Practice as JSON for its page (static/js/practice)."""
    every = practice_asks(study)
    # Optional free text is left out: the author's answer has nothing to compare with.
    sets = [
        [
            question_json(each)
            for each in of.questions.questions
            if each.required or each.kind is not Kind.TEXT
        ]
        for of in every
    ]
    examples = [
        _example(f"{at}-{number}", at, each, example)
        for at, each in enumerate(every)
        for number, example in enumerate(each.examples)
    ]
    return {"sets": sets, "examples": examples, "language": language_of_questions(study)}


def _example(key: str, at: int, of: PracticeAsk, example: Example) -> dict[str, Any]:
    you, other = map(str, _TALKERS if of.ask.by == By.TALKERS else _READERS)
    verdicts = of.questions.answered_questions(of.questions.check(example.answers))
    return {
        "key": key,
        "set": at,
        "about": of.ask.about,
        "context": [
            {"name": you if speaker == "You" else other, "is_own": speaker == "You", "text": text}
            for speaker, text in example.context
        ],
        "text": example.response,
        "name": other,
        "other": example.other,
        "answers": {question.key: answer for question, answer in verdicts if answer is not None},
        "why": example.why,
    }


def record_practice(participation: Participation, answers: Mapping[str, Any]) -> None:
    """Record that the worker has tried every example. Idempotent.

    Args:
        participation: the worker's participation.
        answers: by key of the example (as on its page), the answers by question.

    Raises:
        AnswersRefusedError: an example was not tried, or has invalid answers.
    """
    every = practice_asks(participation.study)
    for at, each in enumerate(every):
        for number in range(len(each.examples)):
            submitted = answers.get(f"{at}-{number}")
            check_answers(each.questions, submitted, missing=gettext("You have not tried every example yet."))
    _note(participation.worker, [each.questions.key for each in every])


def _note(worker: Worker, keys: Sequence[str]) -> None:
    now = timezone.now()
    rows = [Practice(worker=worker, question_set=key, passed_at=now) for key in keys]
    Practice.objects.bulk_create(rows, ignore_conflicts=True)
