"""Forms of a study in which people talk with two bots at once."""

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from django import forms
from django.utils.functional import Promise
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from typing_extensions import override

from turnwise.accounts.models import User
from turnwise.bots.models import Bot
from turnwise.judging.models import JudgingPlan
from turnwise.studies.forms import ASKING, FIELDS, StudyForm
from turnwise.studies.models import ReplyDisplay, Speaker, Study
from turnwise.tasks.conversation.talk_task import BotsPage
from turnwise.tasks.pairs.forms import PairsAskForms
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
