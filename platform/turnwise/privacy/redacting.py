"""Which redactions hold for what leaves the platform from a study."""

from collections.abc import Collection, Mapping

from evaluation.personal_data import Redactor
from evaluation.questions import Answer, Kind, Question
from turnwise.crowd.redaction import redactor_of
from turnwise.judging.models import Item
from turnwise.studies.models import Study

# From an item to the studies in which what it shows was said or written.
_SAID_IN = (
    "turn__dialogue__study", "dialogue__study", "response__run__study",
    "pair__first_response__run__study", "pair__second_response__run__study",
    "pair__first_dialogue__study", "pair__second_dialogue__study",
)  # fmt: skip


def redactor_for(study: Study) -> Redactor:
    """Those of the study, and of every study whose texts its workers judge."""
    return redactor_of({study.pk, *_sources(study)})


def _sources(study: Study) -> set[int]:
    items, found = Item.objects.filter(study=study).order_by(), set[int]()
    for path in _SAID_IN:
        # Whether an item is of such a thing stands in its own row: else all conversations would be read.
        there = items.filter(**{f"{path.partition('__')[0]}__isnull": False, f"{path}__isnull": False})
        found.update(there.values_list(path, flat=True).distinct())
    return found


def studies_quoted_by(study: Study) -> set[int]:
    """The study, those whose texts it judges, and all that judge the same: its bundle may tell of them."""
    said_in = {study.pk, *_sources(study)}
    return said_in | studies_that_judge(said_in)


def studies_that_judge(studies: Collection[int]) -> set[int]:
    """Studies whose reports and exports have texts of these."""
    items = Item.objects.order_by().values_list("study", flat=True).distinct()
    return {found for path in _SAID_IN for found in items.filter(**{f"{path}__in": studies})}


def answered(question: Question, answers: Mapping[str, Answer], redactor: Redactor) -> Answer | None:
    """What was answered, with marks in free text."""
    answer = answers.get(question.key)
    return redactor(answer) if question.kind is Kind.TEXT and isinstance(answer, str) else answer
