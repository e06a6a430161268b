"""The paragraph for a paper of a study: what the study has of it is read here."""

from importlib.metadata import version

from django.utils.translation import gettext as _

from evaluation.report.method import Method, Result
from evaluation.report.method import method as told
from turnwise.questions.resolving import question_set
from turnwise.reports.reported import reported
from turnwise.studies.asks import About
from turnwise.studies.models import Study


def method(study: Study, result: Result) -> Method:
    """What was asked of whom, and how the numbers of this report came about."""
    task = reported(study)
    return told(
        result,
        task=_("Judge contexts") if study.asked[0].about == About.CONTEXT else task.title,
        questions=question_set(study.question_set),
        protocol={**task.protocol(study), **_people(study)},
        of=version("turnwise"),
    )


def _people(study: Study) -> dict[str, str]:
    """In which languages people took part, and for what pay."""
    found = {
        "Languages": study.language_names,
        "Pay": _("%(pay)s each") % {"pay": study.pay} if study.pay else _("none"),
    }
    return {aspect: says for aspect, says in found.items() if says}
