from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

from django.db import transaction
from django.db.models import QuerySet
from typing_extensions import override

from evaluation.questions import QuestionSet
from evaluation.report.columns import Table
from evaluation.report.self_play import self_play_figures
from evaluation.report.tables import CONVERSATIONS, FAULTS, MEASURES, TURNS
from turnwise.exports.described import described_bot, is_theirs
from turnwise.live.queue import is_sent
from turnwise.reports.reported import Computation, TaskWithReport
from turnwise.studies.models import Study
from turnwise.studies.planned import Planned, Unit, number
from turnwise.studies.services import Plan
from turnwise.studies.tasks import Rows, Stage, copied_row, register
from turnwise.tasks.self_play import jobs, measuring, queries, services
from turnwise.tasks.self_play.forms import SelfPlayPage
from turnwise.tasks.self_play.models import SelfPlayPlan

SHOWN_FAULTS = 10


@register
class SelfPlay(TaskWithReport):
    """Bots talk with each other, or one with itself; others judge what they said."""

    key = "self_play"
    title = "Chatbots talk with each other"
    menu = "Self-play"
    order = 4
    form = SelfPlayPage
    overview = "tasks/self_play/overview.html"
    manual = "self-play"
    namespace = "self_play"
    has_conversations = True
    way = (Stage.DESIGN, Stage.START, Stage.RESULTS, Stage.JUDGE, Stage.EXPORT)

    report = "tasks/self_play/report.html"
    statements = {MEASURES.name: measuring.ROWS}

    @override
    def why_not_open(self, study: Study) -> str:
        plan = getattr(study, "self_play", None)
        if plan is None:
            return "Choose the chatbots that should talk, then start them."
        off = [str(bot) for bot in (plan.first, plan.second) if not bot.active]
        return f"{off[0]} is switched off. Switch it on under Bots, then start again." if off else ""

    @override
    def planned(self, study: Study | None, sent: Mapping[str, str], wanted: Sequence[int]) -> Planned | None:
        conversations = number(sent.get("self_play-conversations"))
        turns = conversations * number(sent.get("self_play-utterances"))
        return Planned(Unit.CONVERSATION, conversations, 0, turns=turns) if turns else None

    @override
    def opened(self, study: Study) -> None:
        services.take_up_again(study.self_play)
        # If the queue does not answer, the timer sends it once it does.
        transaction.on_commit(partial(is_sent, partial(jobs.send, study.self_play.pk)))

    @override
    def plan_of_copy(self, study: Study) -> Plan | None:
        plan: Plan | None = copied_row(getattr(study, "self_play", None))
        return plan

    @override
    def finished_and_wanted(self, studies: QuerySet[Study]) -> Rows:
        return queries.played_and_wanted(studies)

    @override
    def shown(self, study: Study) -> Mapping[str, Any]:
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
            measuring.measure(plan)

    @override
    def computation(self, study: Study) -> Computation:
        plan = _plan(study)
        assert plan is not None  # a study without one cannot be opened
        return partial(self_play_figures, measuring.self_play_data(plan))

    @override
    def tables(self, asked: Sequence[QuestionSet]) -> tuple[Table, ...]:
        return CONVERSATIONS, TURNS, MEASURES, FAULTS

    @override
    def described(self, study: Study) -> Mapping[str, Any]:
        plan = _plan(study)
        assert plan is not None
        bots = {bot.name: bot for bot in (plan.first, plan.second)}
        shown = measuring.names_of(plan)
        return {
            "bots": [
                described_bot(bot, shown[name], plan.conversations, is_theirs=is_theirs(study, bot))
                for name, bot in bots.items()
            ],
            "self_play": {
                "opener": plan.opener,
                "opening_text": plan.opening_text,
                "conversations": plan.conversations,
                "utterances": plan.utterances,
                "seed": plan.seed,
            },
            "measured_by": measuring.measured_by(plan),
        }


def _plan(study: Study) -> SelfPlayPlan | None:
    plans = SelfPlayPlan.objects.select_related("study", "first", "second")
    return plans.filter(study=study).first()
