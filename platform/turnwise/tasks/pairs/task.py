from collections.abc import Mapping, Sequence
from functools import partial

from django.utils.translation import gettext_lazy as _
from typing_extensions import override

from evaluation.protocols.facts import Evaluation
from evaluation.questions import QuestionSet
from evaluation.report.columns import Table
from evaluation.report.pairs import AskOfPairs, pair_result
from evaluation.report.tables import pair_tables
from turnwise.accounts.models import User
from turnwise.exports.turns import PAIR_JUDGMENTS
from turnwise.judging.asks import asks_of_readers
from turnwise.judging.queued import QueuedTask
from turnwise.judging.subjects import add_all_items_of
from turnwise.questions.resolving import question_set
from turnwise.rehearsals.rehearsed import Crowd, RehearsedTask
from turnwise.reports.queries import analysis_plan
from turnwise.reports.reported import Computation, ReportedTask
from turnwise.studies.asks import About, Asked, By
from turnwise.studies.models import Study
from turnwise.studies.tasks import register
from turnwise.tasks.judging.judged import judged_pairs
from turnwise.tasks.pairs import rehearsal
from turnwise.tasks.pairs.demo import create_demo_pairs
from turnwise.tasks.pairs.forms import PairsPage
from turnwise.tasks.pairs.previewed import PairsPreviewed


@register
class Pairs(QueuedTask, ReportedTask, RehearsedTask):
    """Workers say which of two responses, or of two conversations, is better."""

    key = "pairs"
    title = "Compare two responses or two conversations side by side"
    menu = "Compare side by side"
    order = 5
    form = PairsPage
    overview = "tasks/pairs/overview.html"
    manual = "pairs"
    namespace = "pairs"

    begin = "pairs:start"
    go_on = "pairs:compare"
    heading = _("Say which of two is better")
    welcome = "tasks/pairs/welcome.html"
    instructions = "tasks/pairs/instructions.html"
    previewed = PairsPreviewed

    asks = (Asked("preference", About.PAIR),)
    may_ask = frozenset({(By.READERS, About.PAIR)})

    filled_at = "pairs:add"
    evaluation = Evaluation.PAIRWISE
    report = "tasks/pairs/report.html"
    analysed = "tasks/pairs/analysed.html"
    labels_exported = PAIR_JUDGMENTS
    read = "pairs"

    @override
    def make_demo(self, owner: User) -> None:
        create_demo_pairs(owner)

    @override
    def copied_into(self, study: Study, copy: Study) -> None:
        super().copied_into(study, copy)
        add_all_items_of(copy, study)

    @override
    def computation(self, study: Study) -> Computation:
        asks = [
            AskOfPairs(question_set(ask.question_set), judged_pairs(study, ask))
            for ask in asks_of_readers(study)
        ]
        return partial(pair_result, asks, plan=analysis_plan(study))

    @override
    def tables(self, asked: Sequence[QuestionSet]) -> tuple[Table, ...]:
        return pair_tables(asked)

    @override
    def protocol(self, study: Study) -> Mapping[str, str]:
        plan = getattr(study, "judging", None)
        return {"Raters": f"{plan.raters_per_item} for each pair"} if plan else {}

    @override
    def copied(self, study: Study, workers: int) -> Study:
        return rehearsal.with_queue(study, workers)

    @override
    def crowd(self, rehearsed: Study, server: str, workers: int) -> Crowd:
        return rehearsal.raters(rehearsed, server, workers)
