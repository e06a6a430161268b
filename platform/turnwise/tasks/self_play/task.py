"""The task *Chatbots talk with each other* and its forms."""

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any, ClassVar

from django.db import transaction
from django.db.models import Q, QuerySet
from django.utils.translation import gettext_lazy
from typing_extensions import override

from evaluation.questions import QuestionSet
from evaluation.report.bundles.columns import Table
from evaluation.report.bundles.tables import CONVERSATIONS, FAULTS, MEASURES, TURNS
from evaluation.report.studies.self_play import self_play_figures
from turnwise.accounts.models import User
from turnwise.bots.models import OPERATED, Bot
from turnwise.bots.queries import visible_bots
from turnwise.bots.search import BotField
from turnwise.exports.bundle import describe_bot, is_theirs
from turnwise.live.jobs import is_sent
from turnwise.reports.report_kinds import Computation, TaskWithReport
from turnwise.studies.forms import StudyForm
from turnwise.studies.models import Speaker, Study
from turnwise.studies.outlook import PlannedStudy, Unit, parse_count
from turnwise.studies.starting.intentions import Aim, Intention, Material
from turnwise.studies.tasks import Plan, Rows, Stage, copied_row, register
from turnwise.tasks.plan_pages import PlanForm, PlanPage
from turnwise.tasks.self_play import jobs, metrics, queries, services
from turnwise.tasks.self_play.models import SelfPlayPlan


class SelfPlayForm(StudyForm):
    """Form of a study without workers: no consent text, instructions or pay."""

    class Meta(StudyForm.Meta):
        fields = ("title", "languages", "max_reply_chars", "stores_reasoning", "scenario", "persona")
        help_texts: ClassVar[dict[str, Any]] = {
            "scenario": gettext_lazy("The situation of both bots; a system prompt gets it as {scenario}."),
            "persona": gettext_lazy("Of both bots; a system prompt gets it as {persona}."),
        }
        labels = {"persona": gettext_lazy("persona of the chatbots")}

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        del self.fields["consent_text"]


class SelfPlayPlanForm(PlanForm[SelfPlayPlan]):
    """Form of the bots, the opening, and the number of conversations and turns."""

    attribute = "self_play"

    class Meta:
        model = SelfPlayPlan
        fields = ("first", "second", "opener", "opening_text", "conversations", "utterances", "seed")

    @override
    def offer(self, user: User) -> None:
        for name in ("first", "second"):
            chosen = getattr(self.instance, f"{name}_id")
            usable = Bot.objects.filter(
                Q(pk__in=visible_bots(user).filter(active=True).values("pk")) | Q(pk=chosen)
            ).exclude(adapter=OPERATED)
            listed = [chosen, self.data.get(self.add_prefix(name))]
            self.fields[name] = BotField(usable, user, chosen=listed, label=self.fields[name].label)


def protocol_of(plan: SelfPlayPlan) -> dict[str, Any]:
    """Protocol fields of the plan's study: the opening, and the number of turns."""
    return {
        "opening_speaker": Speaker.HUMAN,  # with Speaker.BOT the text could not be empty
        "opening_text": plan.opening_text if plan.opener == SelfPlayPlan.Opener.TEXT else "",
        "min_turns": plan.utterances,
        "max_turns": plan.utterances + plan.utterances % 2,
    }


class SelfPlayPage(PlanPage[SelfPlayPlan]):
    """Forms of the study and of its bots."""

    template = "tasks/self_play/form.html"
    study_form = SelfPlayForm

    plan_form_class = SelfPlayPlanForm

    @override
    def plan(self) -> SelfPlayPlan:
        return self.plan_form.save(commit=False)

    @override
    def study(self) -> Study:
        study = super().study()
        if study.state == Study.State.DRAFT:
            for name, value in protocol_of(self.plan()).items():
                setattr(study, name, value)
        return study

    @override
    def consent_text(self) -> str:
        return ""


SHOWN_FAULTS = 10


@register
class SelfPlay(TaskWithReport):
    """Bots talk with each other or with themselves; another study judges the conversations."""

    key = "self_play"
    title = "Chatbots talk with each other"
    menu = "Self-play"
    order = 4
    intentions = (Intention(Aim.SELF_TALK, Material.BOTS),)
    form = SelfPlayPage
    overview = "tasks/self_play/overview.html"
    manual = "self-play"
    namespace = "self_play"
    has_conversations = True
    stages = (Stage.DESIGN, Stage.START, Stage.RESULTS, Stage.JUDGE, Stage.EXPORT)

    report = "tasks/self_play/report.html"
    statements = {MEASURES.name: metrics.ROWS}

    @override
    def why_not_open(self, study: Study) -> str:
        plan = getattr(study, "self_play", None)
        if plan is None:
            return "Choose the chatbots that should talk, then start them."
        off = [str(bot) for bot in (plan.first, plan.second) if not bot.active]
        return f"{off[0]} is switched off. Switch it on under Bots, then start again." if off else ""

    @override
    def planned(
        self, study: Study | None, sent: Mapping[str, str], wanted: Sequence[int]
    ) -> PlannedStudy | None:
        conversations = parse_count(sent.get("self_play-conversations"))
        turns = conversations * parse_count(sent.get("self_play-utterances"))
        return PlannedStudy(Unit.CONVERSATION, conversations, 0, turns=turns) if turns else None

    @override
    def opened(self, study: Study) -> None:
        services.reset_failures(study.self_play)
        # If the queue is down, the periodic `take_up` sends the job later.
        transaction.on_commit(partial(is_sent, partial(jobs.send, study.self_play.pk)))

    @override
    def plan_of_copy(self, study: Study) -> Plan | None:
        plan: Plan | None = copied_row(getattr(study, "self_play", None))
        return plan

    @override
    def completed_and_planned(self, studies: QuerySet[Study]) -> Rows:
        return queries.ended_and_target(studies)

    @override
    def overview_context(self, study: Study) -> Mapping[str, Any]:
        plan = getattr(study, "self_play", None)
        if plan is None:
            return {"plan": None}
        progress = queries.progress(plan)
        return {
            "plan": plan,
            "progress": progress,
            "overlaps": {} if study.state == Study.State.OPEN else queries.overlaps(plan, progress),
            "stamp": queries.stamp(plan, progress),
            "faults": queries.last_faults(plan, SHOWN_FAULTS),
        }

    @override
    def prepare(self, study: Study) -> None:
        if plan := _plan(study):
            metrics.measure(plan)

    @override
    def computation(self, study: Study) -> Computation:
        plan = _plan(study)
        assert plan is not None  # a study without one cannot be opened
        return partial(self_play_figures, metrics.self_play_data(plan))

    @override
    def tables(self, asked: Sequence[QuestionSet]) -> tuple[Table, ...]:
        return CONVERSATIONS, TURNS, MEASURES, FAULTS

    @override
    def described(self, study: Study) -> Mapping[str, Any]:
        plan = _plan(study)
        assert plan is not None
        bots = {bot.name: bot for bot in (plan.first, plan.second)}
        shown = metrics.names_of(plan)
        return {
            "bots": [
                describe_bot(bot, shown[name], plan.conversations, is_theirs=is_theirs(study, bot))
                for name, bot in bots.items()
            ],
            "self_play": {
                "opener": plan.opener,
                "opening_text": plan.opening_text,
                "conversations": plan.conversations,
                "utterances": plan.utterances,
                "seed": plan.seed,
            },
            "measured_by": metrics.measured_by(plan),
        }


def _plan(study: Study) -> SelfPlayPlan | None:
    plans = SelfPlayPlan.objects.select_related("study", "first", "second")
    return plans.filter(study=study).first()
