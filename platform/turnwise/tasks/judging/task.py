from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

from django.utils.translation import gettext_lazy as _
from typing_extensions import override

from evaluation.machine_judges.template import judgeable_questions
from evaluation.protocols.facts import Evaluation
from evaluation.questions import QuestionSet
from evaluation.report.bundles.columns import Table
from evaluation.report.bundles.tables import tables
from evaluation.report.studies.judging import judging_result
from turnwise.accounts.models import User
from turnwise.exports.rows import anchor_rows
from turnwise.exports.turn_files import JUDGMENTS
from turnwise.judging.anchors.study_anchors import copy_packs
from turnwise.judging.batteries.battery_rules import battery_of
from turnwise.judging.items.subjects import add_all_items_of, add_responses
from turnwise.judging.models import JudgingPlan
from turnwise.judging.queue.queued_task import QueuedTask
from turnwise.questions.question_sets import question_set
from turnwise.rehearsals.rehearsed_task import Crowd, RehearsedTask
from turnwise.reports.conduct import manners
from turnwise.reports.queries import analysis_plan
from turnwise.reports.report_kinds import Computation, ReportedTask
from turnwise.responses.queries import listed_runs
from turnwise.studies.asks import OF_EACH_ITEM, About, AskSpec, By
from turnwise.studies.models import Study
from turnwise.studies.starting.intentions import MACHINE, Aim, Intention, Material, Raters
from turnwise.studies.tasks import SetupStep, register
from turnwise.tasks.judging import battery_rehearsal, forms, rehearsal
from turnwise.tasks.judging.demo import create_demo_of_judges
from turnwise.tasks.judging.forms import JudgingPage
from turnwise.tasks.judging.preview import JudgingPreviewed
from turnwise.tasks.judging.report_parts import labels_of_judges, with_anchors, with_assisted
from turnwise.tasks.judging.results import asks_with_judgments


@register
class Judging(QueuedTask, ReportedTask, RehearsedTask):
    """Workers judge responses, turns, conversations or contexts, one after the other."""

    key = "judging"
    title = "Judge responses, single turns or whole conversations"
    menu = "Judge responses or conversations"
    order = 3
    intentions = (
        *(Intention(aim, Material.RESPONSES) for aim in (Aim.QUALITY, Aim.QUESTIONS)),
        *(Intention(aim, Material.CONVERSATIONS) for aim in (Aim.QUALITY, Aim.QUESTIONS, Aim.PEOPLE)),
        *(Intention(aim, Material.FILE, forms.WAY) for aim in (Aim.QUALITY, Aim.QUESTIONS, Aim.PEOPLE)),
    )
    form = JudgingPage
    overview = "tasks/judging/overview.html"
    manual = "labelling"
    namespace = "judging_task"
    asks = (OF_EACH_ITEM,)
    may_ask = frozenset((By.READERS, about) for about in (About.RESPONSE, About.DIALOGUE, About.CONTEXT))

    entry_points = {forms.WAY: _("Judge imported conversations")}

    begin = "judging_task:start"
    go_on = "judging_task:judge"
    heading = _("Judge what was said in conversations")
    welcome = "tasks/judging/welcome.html"
    instructions = "tasks/judging/instructions.html"
    previewed = JudgingPreviewed

    has_batteries = True
    has_adjudication = True
    has_anchors = True
    evaluation = Evaluation.STATIC
    report = "tasks/judging/report.html"
    analysed = "tasks/judging/analysed.html"
    labels_exported = JUDGMENTS
    read = "items"

    @override
    def make_demo(self, owner: User) -> None:
        create_demo_of_judges(owner)

    @override
    def first_page(self, study: Study, way: str, by: str = "") -> str:
        if way == forms.WAY:
            return forms.begin_with_import(study)
        # A machine judge starts from the queue, once it has items.
        return self.designed_at(study) if by == MACHINE.key else super().first_page(study, way, by)

    @override
    def chosen_material(self, user: User, sent: Mapping[str, str]) -> Sequence[object]:
        return listed_runs(user, sent.get("runs", ""))

    @override
    def fill(self, study: Study, material: Sequence[Any]) -> None:
        if material:
            add_responses(study, *material)

    @override
    def raters(self, asks: Sequence[AskSpec]) -> Sequence[Raters]:
        able = any(judgeable_questions(question_set(ask.question_set)) for ask in asks)
        return [*super().raters(asks), *([MACHINE] if able else [])]

    @override
    def first_steps(self, study: Study) -> Sequence[SetupStep]:
        return forms.first_steps(study)

    @override
    def copied_into(self, study: Study, copy: Study) -> None:
        super().copied_into(study, copy)
        add_all_items_of(copy, study)
        copy_packs(study, copy)

    @override
    def computation(self, study: Study) -> Computation:
        anchors, plan = anchor_rows(study), analysis_plan(study)
        asks = asks_with_judgments(study, anchors)
        of_people = partial(judging_result, asks, plan=plan, manners=manners(study))
        if anchors.anchors:
            of_people = partial(with_anchors, of_people, anchors, asks, study, plan)
        judges = labels_of_judges(study)
        return partial(with_assisted, of_people, judges, study.protocol) if judges else of_people

    @override
    def tables(self, asked: Sequence[QuestionSet]) -> tuple[Table, ...]:
        return tables(asked, judging=True)

    @override
    def protocol(self, study: Study) -> Mapping[str, str]:
        plan = JudgingPlan.objects.select_related("battery").filter(study=study).first()
        if battery := getattr(plan, "battery", None):
            return {
                "Raters": f"{battery.workers}, each with a battery of {len(battery.targets)} targets, "
                f"{battery.fillers} fillers and {battery.repeats} of these a second time"
            }
        return {"Raters": f"{plan.raters_per_item} for each item"} if plan else {}

    @override
    def copied(self, study: Study, workers: int) -> Study:
        battery = battery_of(study)
        if battery:
            return battery_rehearsal.copy_with_batteries(study, battery, workers)
        return rehearsal.copy_with_queue(study, workers)

    @override
    def crowd(self, rehearsed: Study, server: str, workers: int) -> Crowd:
        if battery_of(rehearsed):
            return battery_rehearsal.raters(rehearsed, server, workers)
        return rehearsal.raters(rehearsed, server, workers)
