"""Descriptions of a study for its report and bundle: questionnaires, method, departures from its plan."""

import json
from collections import Counter
from collections.abc import Iterator, Mapping
from importlib.metadata import version
from typing import Any

from django.db import connection
from django.db.models import Exists, OuterRef, Q
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from evaluation.questions import QuestionSet
from evaluation.report.bundles.self_descriptions import Questionnaire, Reply, people_figures
from evaluation.report.publishing.method import Method, Result
from evaluation.report.publishing.method import method as describe_method
from turnwise.accounts.models import Event
from turnwise.bots.models import BotVersion
from turnwise.crowd.models import Participation
from turnwise.dialogues.models import Turn
from turnwise.live.templatetags.times import utc_time
from turnwise.privacy.personal_data import answered, redactor_for
from turnwise.questions.question_sets import question_set
from turnwise.reports.report_kinds import Computation, reported_task, task_with_report
from turnwise.studies.asks import About
from turnwise.studies.models import Preregistration, Study
from turnwise.studies.plans.preregistration import plan_of
from turnwise.studies.plans.stopping import stopping_rule_of
from turnwise.studies.queries import counts_of
from turnwise.studies.services import PROTOCOL_FIELDS

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


_EDITED = ("studies:edit", "api-1:edit", "api-1:change_bots")
_NOT_COMPARED = ("format", "version", "turnwise", "frozen_at", "bots", "main_score", "stopping_rule")
_LONGEST_SHOWN = 60


def departures_of(study: Study) -> list[str] | None:
    """List every departure from the plan; None for a study without one."""
    stored = Preregistration.objects.filter(study=study).first()
    if stored is None:
        return None
    now = plan_of(study, PROTOCOL_FIELDS)
    return [
        *_settings(stored.plan, now),
        *_bots(study, stored, now),
        *_edits(study, stored),
        *_exclusions(study, stored),
        *_numbers(study),
    ]


def _settings(before: Mapping[str, Any], now: Mapping[str, Any]) -> Iterator[str]:
    # Field by field, and only those of the stored plan: a newer Turnwise may describe more. One field of the
    # protocol is its name, and is called `protocol` too.
    planned, current = {**before, **before["protocol"]}, {**now, **now["protocol"]}
    for name in [key for key in planned if key not in _NOT_COMPARED]:
        was, then = planned[name], current.get(name)
        if was == then:
            continue
        if max(len(str(was)), len(str(then))) > _LONGEST_SHOWN:
            yield _("“%(name)s” is not as it was planned.") % {"name": name.replace("_", " ")}
        else:
            values = {"name": name.replace("_", " "), "was": was, "now": then}
            yield _("“%(name)s” was planned as “%(was)s” and is now “%(now)s”.") % values


def _bots(study: Study, stored: Preregistration, now: Mapping[str, Any]) -> Iterator[str]:
    planned = {bot["bot"]: bot for bot in stored.plan["bots"]}
    used = {bot["bot"]: bot for bot in now["bots"]}
    for name in sorted(planned.keys() - used.keys()):
        yield _("%(bot)s was planned and gets no further workers.") % {"bot": planned[name]["title"]}
    for name in sorted(used.keys() - planned.keys()):
        yield _("%(bot)s was added after the opening.") % {"bot": used[name]["title"]}
    for name in sorted(planned.keys() & used.keys()):
        if planned[name]["target"] != used[name]["target"]:
            values = {
                "bot": used[name]["title"],
                "was": planned[name]["target"],
                "now": used[name]["target"],
            }
            yield _("%(was)s conversations with %(bot)s were planned; it is now %(now)s.") % values
    known = [bot["fingerprint"] for bot in planned.values() if bot["fingerprint"]]
    later = BotVersion.objects.filter(bot__name__in=planned, first_seen_at__gt=stored.frozen_at)
    if study.dialogues.exists():  # a version that only other studies used is no departure of this one
        replies = Turn.objects.filter(dialogue__study=study, bot_version=OuterRef("pk"))
        later = later.filter(Exists(replies))
    for each in later.exclude(fingerprint__in=known).select_related("bot").order_by("pk"):
        if planned[each.bot.name]["fingerprint"] is None:
            continue  # it had not answered yet, so this may be the planned one
        values = {"bot": planned[each.bot.name]["title"], "at": utc_time(each.first_seen_at)}
        yield _("%(bot)s was replaced by another version of it on %(at)s.") % values


def _edits(study: Study, stored: Preregistration) -> Iterator[str]:
    """List when the study was edited, by the audit log. `_settings` lists what is still changed."""
    paths = Q(path__startswith=f"/studies/{study.pk}/") | Q(path__startswith=f"/api/studies/{study.code}")
    edits = Event.objects.filter(paths, action__in=_EDITED, at__gt=stored.frozen_at)
    times = [utc_time(at) for at in edits.order_by("at").values_list("at", flat=True)]
    if times:
        says = ngettext(
            "By the audit log, the study's form was saved once after the opening: %(at)s.",
            "By the audit log, the study's form was saved %(n)s times after the opening: %(at)s.",
            len(times),
        )
        yield says % {"n": len(times), "at": ", ".join(times)}


def _exclusions(study: Study, stored: Preregistration) -> Iterator[str]:
    excluded = Participation.objects.filter(study=study, excluded_at__gt=stored.frozen_at)
    reasons = Counter(excluded.values_list("excluded_reason", flat=True))
    for reason, number in sorted(reasons.items()):
        says = ngettext("%(n)s worker was excluded: %(why)s", "%(n)s workers were excluded: %(why)s", number)
        yield says % {"n": number, "why": reason}


def _numbers(study: Study) -> Iterator[str]:
    rule = stopping_rule_of(study)
    if rule and rule.reopened_at:
        yield _("The study was opened again on %(at)s, after its rule had stopped it.") % {
            "at": utc_time(rule.reopened_at)
        }
    if study.state != Study.State.CLOSED or (rule and rule.stopped_at):
        return
    finished, planned = counts_of([study]).get(study.pk, (0, 0))
    if rule:
        yield _("The study was closed by hand, before its stopping rule had closed it.")
    if finished != planned:
        yield _("The study was closed with %(n)s units of work finished of %(planned)s planned.") % {
            "n": finished,
            "planned": planned,
        }
