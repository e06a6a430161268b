"""Which redactions hold for what leaves the platform from a study."""

from collections.abc import Mapping

from django.db.models import Q

from crowd.redaction import redactor_of
from evaluation.personal_data import Redactor
from evaluation.questions import Answer, Kind, Question
from judging.models import Item
from studies.models import Study


def redactor_for(study: Study) -> Redactor:
    """Those of the study, and of every study whose texts its workers judge."""
    return redactor_of({study.pk, *_sources(study)})


def _sources(study: Study) -> set[int]:
    items = Item.objects.filter(study=study).order_by()
    paths = (
        "turn__dialogue__study", "dialogue__study", "response__run__study",
        "pair__first_response__run__study", "pair__second_response__run__study",
        "pair__first_dialogue__study", "pair__second_dialogue__study",
    )  # fmt: skip
    return {
        found
        for path in paths
        for found in items.filter(Q(**{f"{path}__isnull": False})).values_list(path, flat=True).distinct()
    }


def studies_sharing(study: Study) -> set[int]:
    """The study, those that judge its texts and those whose texts it judges: all whose bundles tell of it."""
    return {study.pk, *_sources(study), *studies_that_judge(study)}


def studies_that_judge(study: Study) -> set[int]:
    """Studies whose reports and exports have texts of this one."""
    about = (
        Q(turn__dialogue__study=study) | Q(dialogue__study=study) | Q(response__run__study=study)
        | Q(pair__first_dialogue__study=study) | Q(pair__second_dialogue__study=study)
        | Q(pair__first_response__run__study=study) | Q(pair__second_response__run__study=study)
    )  # fmt: skip
    return set(Item.objects.filter(about).values_list("study", flat=True).distinct().order_by())


def answered(question: Question, answers: Mapping[str, Answer], redactor: Redactor) -> Answer | None:
    """What was answered, with marks in free text."""
    answer = answers.get(question.key)
    return redactor(answer) if question.kind is Kind.TEXT and isinstance(answer, str) else answer
