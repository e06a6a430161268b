"""Questionnaires of participants, and the method paragraph for a paper, for a study's report and bundle."""

import json
from importlib.metadata import version
from typing import Any

from django.db import connection
from django.utils.translation import gettext as _

from evaluation.questions import QuestionSet
from evaluation.report.bundles.self_descriptions import Questionnaire, Reply, people_figures
from evaluation.report.publishing.method import Method, Result
from evaluation.report.publishing.method import method as describe_method
from turnwise.privacy.personal_data import answered, redactor_for
from turnwise.questions.question_sets import question_set
from turnwise.reports.report_kinds import Computation, reported_task, task_with_report
from turnwise.studies.asks import About
from turnwise.studies.models import Study

# Columns in the order of the bundle's table `questionnaires`; the answers come last.
STATEMENT = """
SELECT p.number, ask.moment, p.pseudonym, ask.number, l.question_set, l.changed_at, l.changes, l.shown_ms,
       l.answer_ms, l.answers::text
  FROM labels_label AS l
  JOIN crowd_participation AS p ON p.id = l.participation_id
  JOIN studies_ask AS ask ON ask.id = l.ask_id
 WHERE l.study_id = %s
 ORDER BY l.id
"""


def questionnaire_sets(study: Study) -> list[QuestionSet]:
    """The question sets that people answer about themselves."""
    return [question_set(ask.question_set) for ask in study.questionnaires]


def computation(study: Study) -> Computation:
    """Function that computes a report: the figures of the study's task and of its questionnaires."""
    of_task = task_with_report(study).computation(study)
    if not study.questionnaires:
        return of_task
    about_people = questionnaire_figures(study)
    return lambda: {**of_task(), "people": about_people}


def questionnaire_figures(study: Study) -> list[dict[str, Any]]:
    """Figures of a study's questionnaires; empty without questionnaires."""
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
    for _number, _moment, rater, _ask, key, *_times, answers_json in rows:
        given = json.loads(answers_json)
        answers = {
            each.key: answer
            for each in question_set(key).questions
            if (answer := answered(each, given, redactor)) is not None
        }
        found.append(Reply(key, rater, answers))
    return found


def method(study: Study, result: Result) -> Method:
    """Method paragraph of this report: who was asked what, and how its numbers were computed."""
    task = reported_task(study)
    return describe_method(
        result,
        task=_("Judge contexts") if study.work_asks[0].about == About.CONTEXT else task.title,
        questions=question_set(study.question_set),
        protocol={**task.protocol(study), **_recruitment(study)},
        of=version("turnwise"),
    )


def _recruitment(study: Study) -> dict[str, str]:
    """Languages and pay of the participants, by aspect."""
    found = {
        "Languages": study.language_names,
        "Pay": _("%(pay)s each") % {"pay": study.pay} if study.pay else _("none"),
    }
    return {aspect: says for aspect, says in found.items() if says}
