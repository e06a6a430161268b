"""The data of a study's report, read in one snapshot; and the reports of a study."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from django.db import connection, transaction
from django.db.models import Exists, OuterRef

from evaluation.protocols.facts import AskFact, Design, Talks
from evaluation.report.conditions import Conditions
from evaluation.report.label_columns import Analysis, AnalysisPlan, Judged
from evaluation.report.stopping import StoppingRule
from evaluation.report.studies.conversations import StudyData
from evaluation.report.studies.course import Course
from turnwise.crowd.models import Participation
from turnwise.crowd.queries import BotProgress
from turnwise.dialogues.models import Dialogue, Turn
from turnwise.labels.models import Label
from turnwise.labels.queries import labels_counted_in
from turnwise.questions.question_sets import question_set
from turnwise.reports import reply_metrics
from turnwise.reports.answers import bot_names, load_ask_data
from turnwise.reports.conduct import courses, manners, replies_of_greetings
from turnwise.reports.models import Report
from turnwise.studies.models import Speaker, Study
from turnwise.studies.models import StoppingRule as StoppingRow


def newest_report(study: Study) -> Report | None:
    return study.reports.first()


def newest_result(study: Study) -> Report | None:
    return study.reports.filter(state=Report.State.READY).first()


def stopping_figures_of(study: Study) -> dict[str, Any] | None:
    """Figures of the study's stopping rule in its newest ready report; None without any."""
    ready = study.reports.filter(state=Report.State.READY).order_by("-pk")
    found: dict[str, Any] | None = ready.values_list("result__stopping", flat=True).first()
    return found


def stamp(study: Study, newest: Report | None, at: Sequence[BotProgress]) -> str:
    """Version string of the report's page: changes with its reports, results and conversations."""
    done = ".".join(f"{bot.finished}+{bot.open}" for bot in at)
    state = f"{newest.pk}-{newest.state}" if newest else "none"
    return f"{study.results_version}-{state}-{done}"


@contextmanager
def snapshot() -> Iterator[None]:
    """Read-only transaction: every read inside sees the same state, even if others commit."""
    with transaction.atomic():
        with connection.cursor() as cursor:
            cursor.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY")
        yield


def study_data(study: Study) -> StudyData:
    """All data that the report depends on. Call it inside `snapshot`."""
    asks, went = [load_ask_data(study, ask) for ask in study.work_asks], courses(study)
    conduct = _conduct(study, went, asks[0].judged)
    names = bot_names(study)
    facets = {names[bot]: levels for bot, levels in study.study_bots.values_list("bot_id", "facets")}
    measured = reply_metrics.exchange_measures(study)
    plan, design = analysis_plan(study), design_of(study)
    dealt = Dialogue.objects.filter(study=study, scenario__isnull=False)
    scenarios = dict(dealt.values_list("pk", "scenario__name"))
    greetings = replies_of_greetings(study)
    stopping = declared_rule(study)
    people = study.participations.filter(number=1).values_list("pseudonym", "condition")
    conditions = Conditions.declared(study.factors, dict(people) if study.factors else {})
    return StudyData(
        asks, went, plan, conduct, manners(study), facets, measured, design, scenarios, stopping, greetings,
        conditions,
    )  # fmt: skip


def declared_rule(study: Study) -> StoppingRule | None:
    """The study's stopping rule as its report uses it; None without a rule, and before the study opens."""
    rule = StoppingRow.objects.filter(study=study, frozen_at__isnull=False).first()
    if rule is None:
        return None
    names = bot_names(study)
    return StoppingRule(
        systems=[names[bot] for bot in rule.compared if bot in names],
        score=rule.score,
        margin=rule.difference,
        equivalence=rule.equivalence,
        planned=rule.planned,
        largest=rule.largest,
        first_look=rule.first_look,
        stopped=rule.stopped,
        reopened=rule.reopened_at is not None,
    )


def analysis_plan(study: Study) -> AnalysisPlan:
    """Analysis that the study declared, with the participants excluded since."""
    excluded = Participation.objects.filter(study=study, excluded_at__isnull=False)
    reasons = dict(excluded.values_list("pseudonym", "excluded_reason"))
    return AnalysisPlan(Analysis(study.primary_analysis), study.exclusion_rules, reasons, study.margin)


def design_of(study: Study) -> Design:
    """The study's protocol and its asks."""
    asks = [
        AskFact(ask.question_set, ask.about, ask.moment, ask.required, question_set(ask.question_set).title)
        for ask in study.work_asks
    ]
    return Design(study.protocol, asks)


def _conduct(study: Study, went: Mapping[str, Course], labels: Judged) -> Talks:
    return Talks(
        bot_opens=study.opening_speaker == Speaker.BOT,
        opening_text=study.opening_text,
        min_turns=study.min_turns,
        max_turns=study.max_turns,
        question_set=study.question_set,
        blind=study.blind,
        languages=study.languages,
        conversations={bot: course.finished for bot, course in went.items()},
        unlabelled=unlabelled_replies(study),
        most_raters=labels.most_raters,
        primary=study.primary_analysis,
        margin=study.margin or 0,
    )


def unlabelled_replies(study: Study) -> int:
    """Number of unlabelled replies in finished conversations; the turn protocol keeps it at 0."""
    labelled = Label.objects.filter(labels_counted_in(study.pk), turn=OuterRef("pk"))
    replies = Turn.objects.filter(dialogue__study=study, dialogue__ending=Dialogue.Ending.COMPLETE)
    return replies.filter(~Exists(labelled), bot_version__isnull=False).count()
