"""Reads of what people said of themselves, for a study's report and its bundle.

The paragraph for a paper of a study: what the study has of it is read here.
"""

import json
from importlib.metadata import version
from typing import Any

from django.db import connection
from django.utils.translation import gettext as _

from evaluation.questions import QuestionSet
from evaluation.report.bundles.self_descriptions import Questionnaire, Reply, people_figures
from evaluation.report.method import Method, Result
from evaluation.report.method import method as told
from turnwise.privacy.personal_data import answered, redactor_for
from turnwise.questions.question_sets import question_set
from turnwise.reports.report_kinds import Computation, reported, with_report
from turnwise.studies.asks import About
from turnwise.studies.models import Study

# As the bundle's table `questionnaires` has its columns; the answers come last.
STATEMENT = """
SELECT p.number, ask.moment, p.pseudonym, ask.number, l.question_set, l.changed_at, l.changes, l.shown_ms,
       l.answer_ms, l.answers::text
  FROM labels_label AS l
  JOIN crowd_participation AS p ON p.id = l.participation_id
  JOIN studies_ask AS ask ON ask.id = l.ask_id
 WHERE l.study_id = %s
 ORDER BY l.id
"""


def sets_about_people(study: Study) -> list[QuestionSet]:
    """The question sets that people answer about themselves."""
    return [question_set(ask.question_set) for ask in study.questionnaires]


def computation(study: Study) -> Computation:
    """All that a report has: what the study's task computes, and what people said of themselves."""
    of_task = with_report(study).computation(study)
    if not study.questionnaires:
        return of_task
    about_people = said_of_themselves(study)
    return lambda: {**of_task(), "people": about_people}


def said_of_themselves(study: Study) -> list[dict[str, Any]]:
    """The figures of a study's questionnaires; none of one that has none."""
    asked = [
        Questionnaire(question_set(ask.question_set), ask.moment, ask.required)
        for ask in study.questionnaires
    ]
    return people_figures(asked, _replies(study)) if asked else []


def _replies(study: Study) -> list[Reply]:
    redactor = redactor_for(study)
    with connection.cursor() as cursor:
        cursor.execute(STATEMENT, [study.pk])
        rows = cursor.fetchall()
    found = []
    for _number, _moment, rater, _ask, key, *_times, said in rows:
        given = json.loads(said)
        answers = {
            each.key: said_so
            for each in question_set(key).questions
            if (said_so := answered(each, given, redactor)) is not None
        }
        found.append(Reply(key, rater, answers))
    return found


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
