"""The task *Talk with two chatbots at once, and say which is better*, with its forms."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from functools import partial
from typing import Any, ClassVar

from django import forms
from django.db.models import Count, F, IntegerField, OuterRef, Q, QuerySet, Subquery, Sum
from django.db.models.functions import Coalesce
from django.utils.functional import Promise
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from typing_extensions import override

from evaluation.protocols.facts import Evaluation
from evaluation.questions import PREFERENCE_BOTH_BAD, QuestionSet
from evaluation.report.bundles.columns import Table
from evaluation.report.bundles.tables import CONVERSATIONS, FAULTS, TURNS, pair_tables
from evaluation.report.studies.pairs import AskOfPairs, pair_result
from turnwise.accounts.models import User
from turnwise.bots.models import Bot
from turnwise.crowd.places.reservation import current_phase_assignments
from turnwise.crowd.running.spending import people_needed
from turnwise.crowd.worker_task import WorkerTask
from turnwise.dialogues.models import Battle, Dialogue
from turnwise.exports.turn_files import PAIR_JUDGMENTS
from turnwise.judging.asks import asks_of_readers
from turnwise.judging.models import JudgingPlan
from turnwise.questions.question_sets import question_set
from turnwise.rehearsals.rehearsed_task import Crowd, RehearsedTask
from turnwise.reports.queries import analysis_plan
from turnwise.reports.report_kinds import Computation, ReportedTask
from turnwise.studies.asks import About, AskSpec, By
from turnwise.studies.forms import ASKING, FIELDS, StudyForm
from turnwise.studies.models import ReplyDisplay, Speaker, Study, StudyBot
from turnwise.studies.outlook import Conclusion, PlannedStudy, Unit, parse_count
from turnwise.studies.queries import active_bots_of, count_expression
from turnwise.studies.starting.intentions import Aim, Intention, Material
from turnwise.studies.tasks import Plan, Rows, Share, copied_row, register
from turnwise.tasks.arena import rehearsal
from turnwise.tasks.arena.battles import battles_left, target_battles, voted_battles
from turnwise.tasks.arena.preview import ArenaPreviewed
from turnwise.tasks.conversation.talk_task import BotsPage
from turnwise.tasks.judging.results import judged_pairs
from turnwise.tasks.pairs.task import PairsAskForms
from turnwise.tasks.plan_pages import PlanForm, PlanPage

USUAL_BATTLES = 5


class ArenaForm(StudyForm):
    """Form of the fields of the study; bots, plan and asks have their own."""

    class Meta(StudyForm.Meta):
        fields = (
            *FIELDS, "min_turns", "max_turns", *ASKING,
            "reply_display", "max_reply_chars", "max_message_chars", "stores_reasoning",
        )  # fmt: skip
        labels = {
            "pay_amount": gettext_lazy("Pay per worker, for all their comparisons"),
            "min_turns": gettext_lazy("Fewest turns before a vote"),
        }
        help_texts: ClassVar[Mapping[str, str | Promise]] = {
            "min_turns": gettext_lazy(
                "The worker's messages and one bot's replies together: 2 for one message."
            ),
            "max_turns": gettext_lazy("2 if workers vote after their first message."),
            "reply_display": gettext_lazy(
                "When both are complete, neither speed nor a failure tells the two apart. Otherwise people "
                "see both write, and which one is faster."
            ),
        }

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        if not self.instance.pk:
            self.initial.update(min_turns=2, max_turns=10)
        display = self.fields["reply_display"]
        assert isinstance(display, forms.ChoiceField)
        display.choices = [
            (ReplyDisplay.WHEN_DONE.value, _("When both are complete")),
            (ReplyDisplay.AS_IT_COMES.value, ReplyDisplay.AS_IT_COMES.label),
        ]

    def clean(self) -> dict[str, Any]:
        """Refuse numbers of turns that no conversation of messages and replies can have."""
        cleaned = super().clean()
        for name in ("min_turns", "max_turns"):
            if (cleaned.get(name) or 0) % 2:
                says = _("Each message gets a reply, so this is an even number. Write %(n)s or %(more)s.")
                n = cleaned[name]
                self.add_error(name, says % {"n": n - 1, "more": n + 1})
        return cleaned


class ArenaPlanForm(PlanForm[JudgingPlan]):
    """Form of the number of comparisons of each worker."""

    attribute = "judging"

    class Meta:
        model = JudgingPlan
        fields = ("batch_size", "judges_each_exchange")
        labels: ClassVar[Mapping[str, str | Promise]] = {"batch_size": gettext_lazy("Comparisons per worker")}
        help_texts: ClassVar[Mapping[str, str | Promise]] = {
            "batch_size": gettext_lazy("Each is a conversation with two bots, which are chosen anew."),
            "judges_each_exchange": gettext_lazy(
                "Workers vote each time both bots have replied, then go on with the same two or begin anew. "
                "The report counts all votes, and its intervals allow for several votes of one conversation. "
                "Otherwise they vote once, and the next comparison begins."
            ),
        }

    @override
    def offer(self, user: User) -> None:
        if self.instance.pk is None:
            self.initial["batch_size"] = USUAL_BATTLES


class ArenaPage(PlanPage[JudgingPlan], BotsPage):
    """Forms of the study, its bots, the comparisons of each worker, and the asks."""

    template = "tasks/arena/form.html"
    study_form = ArenaForm
    plan_form_class = ArenaPlanForm
    ask_forms_class = PairsAskForms

    @override
    def study(self) -> Study:
        study = super().study()
        if study.state == Study.State.DRAFT:  # the worker writes first, and nobody learns the names
            study.opening_speaker, study.opening_text, study.blind = Speaker.HUMAN, "", True
        return study

    @override
    def plan(self) -> JudgingPlan:
        plan = self.plan_form.save(commit=False)
        plan.raters_per_item = 1
        return plan


def why_unfit(bots: Sequence[Bot]) -> str:
    """Reason for which these bots cannot meet, and what to do; empty if they can."""
    operated = next((bot.title for bot in bots if bot.is_operated), None)
    if operated:
        says = _("A person answers in place of “%(bot)s”, who cannot keep pace with a bot. Leave it out.")
        return says % {"bot": operated}
    titles = [bot.title for bot in bots]
    twice = next((title for title in titles if titles.count(title) > 1), None)
    if twice:
        says = _("Two of the bots are called “%(bot)s”, so the report could not tell them apart. Rename one.")
        return says % {"bot": twice}
    if len(bots) < 2:
        return _("Choose at least two active bots with a target above zero, then open the study.")
    return ""


VOTES_EACH = (
    "after each message, on the conversation so far; then workers go on or begin anew. The intervals take "
    "the votes of one conversation, and all votes of one worker, as depending on each other"
)


@register
class Arena(WorkerTask, ReportedTask, RehearsedTask):
    """Workers write to two bots at once, and vote on which is better."""

    key = "arena"
    title = "Talk with two chatbots at once, and say which is better"
    menu = "Talk with two at once"
    order = 7
    intentions = (Intention(Aim.BETTER, Material.LIVE),)
    form = ArenaPage
    overview = "tasks/arena/overview.html"
    manual = "assistants"
    namespace = "arena"
    unit = Unit.COMPARISON
    has_conversations = True

    needs_bots = True
    begin = "arena:start"
    go_on = "arena:talk"
    heading = gettext_lazy("Talk with two chatbots at once, and say which is better")
    welcome = "tasks/arena/welcome.html"
    instructions = "tasks/arena/instructions.html"
    saved = gettext_lazy("Your conversations and all your answers are saved.")
    previewed = ArenaPreviewed

    asks = (AskSpec(PREFERENCE_BOTH_BAD.key, About.PAIR),)
    may_ask = frozenset({(By.READERS, About.PAIR)})

    evaluation = Evaluation.PAIRWISE
    report = "tasks/arena/report.html"
    analysed = "tasks/pairs/analysed.html"
    labels_exported = PAIR_JUDGMENTS
    read_at = "judging:items"
    read = "comparisons"

    @override
    def takes_bots(self, study: Study) -> bool:
        return True

    @override
    def is_blind(self, study: Study) -> bool:
        return True

    @override
    def bots_to_try(self, study: Study) -> list[Bot]:
        return [each.bot for each in active_bots_of(study).order_by("pk")]

    @override
    def why_not_open(self, study: Study) -> str:
        if not hasattr(study, "judging"):
            return str(gettext_lazy("Say how many comparisons each worker makes, then open the study."))
        return why_unfit(self.bots_to_try(study))

    @override
    def plan_of_copy(self, study: Study) -> Plan | None:
        plan: Plan | None = copied_row(getattr(study, "judging", None))
        return plan

    @override
    def completed_and_planned(self, studies: QuerySet[Study]) -> Rows:
        counted = current_phase_assignments(studies)
        voted = Battle.objects.filter(assignment__in=counted, left__ending=Dialogue.Ending.COMPLETE)
        targets = StudyBot.objects.filter(study=OuterRef("study")).order_by().values("study")
        total = Subquery(targets.annotate(n=Sum("target")).values("n"), output_field=IntegerField())
        plans = JudgingPlan.objects.filter(study__in=studies.filter(task=self.key))
        return plans.values_list(
            "study", count_expression(voted, "assignment__study"), Coalesce(total, 0) / 2
        )

    @override
    def shares(self, studies: QuerySet[Study]) -> Rows:
        plans = JudgingPlan.objects.filter(study__in=studies.filter(task=self.key))
        return plans.values_list("study", "batch_size", "raters_per_item")

    @override
    def planned(
        self, study: Study | None, sent: Mapping[str, str], wanted: Sequence[int]
    ) -> PlannedStudy | None:
        each = parse_count(sent.get("judging-batch_size"))
        battles = sum(wanted) // 2
        if not (each and battles and len(wanted) > 1):
            return None
        pairs = len(wanted) * (len(wanted) - 1) // 2
        samples = [battles // pairs] * pairs
        people = people_needed(battles, Share(each, 1))
        return PlannedStudy(Unit.COMPARISON, battles, people, Conclusion.PREFERENCE, samples)

    @override
    def overview_context(self, study: Study) -> Mapping[str, Any]:
        held = (
            Q(bot__seats__dialogue__study=study),
            Q(bot__seats__dialogue__ending=Dialogue.Ending.COMPLETE),
        )
        bots = study.study_bots.select_related("bot").order_by("bot__title")
        finished = Count("bot__seats", filter=held[0] & held[1], distinct=True)
        return {
            "voted": voted_battles(study),
            "wanted": target_battles(study),
            "bots": bots.annotate(finished=finished, open=F("target") * 0),
        }

    @override
    def is_full(self, study: Study, now: datetime) -> bool:
        return not battles_left(study, now)

    @override
    def computation(self, study: Study) -> Computation:
        asks = [
            AskOfPairs(question_set(ask.question_set), judged_pairs(study, ask))
            for ask in asks_of_readers(study)
        ]
        return partial(pair_result, asks, plan=analysis_plan(study))

    @override
    def tables(self, asked: Sequence[QuestionSet]) -> tuple[Table, ...]:
        return *pair_tables(asked), CONVERSATIONS, TURNS, FAULTS

    @override
    def described(self, study: Study) -> Mapping[str, Any]:
        plan = study.judging
        names = ("raters_per_item", "third_rater", "batch_size", "training_tries", "judges_each_exchange")
        return {"judging": {name: getattr(plan, name) for name in names} | {"battery": None}}

    @override
    def protocol(self, study: Study) -> Mapping[str, str]:
        return {
            "Conversations": "with two bots at once, in random order; replies appear together",
            "Turns before the vote": f"{study.min_turns} to {study.max_turns}",
            "Votes": VOTES_EACH if study.judging.judges_each_exchange else "one, at the end",
            "Names of the bots": "hidden",
        }

    @override
    def enough_workers(self, study: Study) -> int:
        return rehearsal.enough_workers(study)

    @override
    def copied(self, study: Study, workers: int) -> Study:
        return rehearsal.copy_with_bots(study, workers)

    @override
    def crowd(self, rehearsed: Study, server: str, workers: int) -> Crowd:
        return rehearsal.voters(rehearsed, server, workers)
