"""Base and forms of the tasks in which workers talk."""

import re
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any, ClassVar

from django import forms
from django.core.exceptions import ValidationError
from django.db.models import Q, QuerySet
from django.http import QueryDict
from django.utils.datastructures import MultiValueDict
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from typing_extensions import override

from evaluation.protocols.facts import Evaluation
from evaluation.questions import QuestionSet
from evaluation.questions.sets.topical_chat import TOPICAL_CHAT_OWN
from evaluation.report.bundles.columns import Table
from evaluation.report.bundles.tables import EXCHANGES, tables
from evaluation.report.studies.conversations import study_result
from turnwise.accounts.models import User
from turnwise.bots.models import Bot
from turnwise.bots.queries import BotStatus, is_service, statuses_by_key
from turnwise.bots.search import bots_named, offer_bots
from turnwise.exports.turn_files import LABELLED_TURNS
from turnwise.knowledge.models import BaseVersion
from turnwise.knowledge.queries import versions_of
from turnwise.labels.models import Label
from turnwise.labels.queries import labels_counted_in
from turnwise.reports import queries, reply_metrics
from turnwise.reports.report_kinds import Computation, ReportedTask
from turnwise.studies.asks import UNDER_EACH_REPLY, About, AskSpec, By
from turnwise.studies.conditions.factors import Factor, as_text
from turnwise.studies.conditions.form_field import factors_field
from turnwise.studies.form_fields import AskForms
from turnwise.studies.forms import ASKING, FIELDS, StudyForm, StudyPage
from turnwise.studies.models import MOST_WANTED, Study, StudyBot
from turnwise.studies.queries import choosable_bots
from turnwise.studies.scenarios.form_field import scenarios_field
from turnwise.studies.scenarios.tables import Scenario, as_csv

USUAL_TARGET = 100
MOST_ROWS = 200
# Placeholder in the pattern of a row; static/js/find_bots.js replaces it with a bot's title.
_TITLE = "__title__"
_BOT_OF_ROW = re.compile(r"bots-[0-9]+-bot")


class ConversationForm(StudyForm):
    """Form of the fields of a study whose workers talk; its bots have their own form."""

    class Meta(StudyForm.Meta):
        fields = (
            *FIELDS, "opening_speaker", "opening_text", "min_turns", "max_turns", "blind", "material",
            "bots_read", "knowledge", *ASKING, "re_entry", "re_entry_most",
            "reply_display", "reply_pace", "may_stop_replies", "max_reply_versions",
            "max_reply_chars", "max_message_chars", "stores_reasoning",
            "scenario", "persona", "takes_pictures", "scenarios", "factors",
        )  # fmt: skip
        labels = {"pay_amount": gettext_lazy("Pay per conversation")}

    scenarios = scenarios_field()
    factors = factors_field()

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.initial["scenarios"] = as_csv(self.instance.scenarios)
        self.initial["factors"] = as_text(self.instance.factors)

    @property
    def factor_levels(self) -> list[Factor]:
        """Factors for the preview: those that are submitted if they are valid, else those that are stored."""
        factors: list[Factor] = getattr(self, "cleaned_data", {}).get("factors", self.instance.factors)
        return factors

    @property
    def scenario_rows(self) -> list[Scenario]:
        """Rows for the preview: those that are submitted if they are valid, else those that are stored."""
        rows: list[Scenario] = getattr(self, "cleaned_data", {}).get("scenarios", self.instance.scenarios)
        return rows

    def clean(self) -> dict[str, Any]:
        """Refuse a scenario beside a table; show a file's rows as text if the form is shown again."""
        cleaned = super().clean()
        if cleaned.get("scenario") and cleaned.get("scenarios"):
            says = _("There is a scenario above, too. Empty it, or make it a row of this table.")
            self.add_error("scenarios", says)
        elif self.files and "scenarios" in cleaned:
            shown = QueryDict(mutable=True)
            shown.update(self.data)
            shown["scenarios"] = as_csv(cleaned["scenarios"])
            self.data, self.files = shown, MultiValueDict()
        return cleaned


class BotsPage(StudyPage):
    """Forms of the study, its bots, and its asks."""

    ask_forms_class: ClassVar[type[AskForms]] = AskForms

    @override
    def __init__(self, user: User, study: Study, data: Any = None) -> None:
        super().__init__(user, study, data)
        self.bots = BotsOfStudy(user, study if study.pk else None, data)
        self.ask_forms = self.ask_forms_class(user, study, data)

    @override
    def is_valid(self) -> bool:
        return all([super().is_valid(), self.bots.is_valid(), self.ask_forms.is_valid()])

    @override
    def targets(self) -> Mapping[Bot, int]:
        return self.bots.targets()

    @override
    def asks(self) -> Sequence[AskSpec]:
        return self.ask_forms.ask_specs

    @override
    def template_context(self) -> dict[str, Any]:
        return super().template_context() | {"bots": self.bots, "ask_forms": self.ask_forms}


class ConversationPage(BotsPage):
    """Forms of a study in which people talk, perhaps about knowledge."""

    template = "tasks/conversation/form.html"
    study_form: ClassVar[type[StudyForm]] = ConversationForm

    @override
    def __init__(self, user: User, study: Study, data: Any = None) -> None:
        super().__init__(user, study, data)
        knowledge: Any = self.form.fields["knowledge"]
        knowledge.queryset = versions_of(user) | BaseVersion.objects.filter(pk=study.knowledge_id or 0)
        knowledge.empty_label = _("None")


class TargetForm(forms.Form):
    """Row of one bot: whether it is in the study, and its target of conversations."""

    bot = forms.IntegerField(widget=forms.HiddenInput)
    chosen = forms.BooleanField(required=False)
    target = forms.IntegerField(min_value=1, max_value=MOST_WANTED, initial=USUAL_TARGET)
    standing: BotStatus | None = None
    writes_markdown = False

    def __init__(self, *args: Any, bots: Mapping[int, Bot], **kwargs: Any) -> None:
        """`bots` maps keys to bots that may be chosen; a row without a bot is the pattern for new rows."""
        super().__init__(*args, **kwargs)
        self.bots = bots
        bot = bots.get(_key(self["bot"].value()))
        title = bot.title if bot else _TITLE
        self.fields["chosen"].label = title
        self.fields["target"].label = _("Conversations with %(bot)s") % {"bot": title}
        self.writes_markdown = bot is not None and is_service(bot)
        if bot and bot.is_operated:
            self.fields["chosen"].help_text = _("A person of the team answers in its place.")

    def clean_bot(self) -> Bot:
        found = self.bots.get(self.cleaned_data["bot"])
        if found is None:
            raise ValidationError(_("There is no such bot that you can choose. Choose another."))
        return found


class BotsOfStudy:
    """Forms of a study's bots: rows of likely bots, and a field for names of others.

    Attributes:
        rows: rows of bots, those of the study first.
        more: form with names of other bots.
        unlisted: number of bots without a row.
    """

    def __init__(self, user: User, study: Study | None, data: Any = None) -> None:
        targets = dict(StudyBot.objects.filter(study=study).values_list("bot_id", "target")) if study else {}
        bots = choosable_bots(user, study)
        sent = [_key(value) for name, value in (data or {}).items() if _BOT_OF_ROW.fullmatch(name)]
        offered = offer_bots(bots, user, chosen=Q(pk__in=[*targets, *sent[:MOST_ROWS]]))
        listed = sorted(offered.bots, key=lambda bot: not targets.get(bot.pk))
        self.unlisted = offered.unlisted
        # A request with more rows than this gets none of the additional ones.
        make = forms.formset_factory(TargetForm, extra=0, max_num=MOST_ROWS, absolute_max=MOST_ROWS)
        initial = [
            {"bot": bot.pk, "chosen": target > 0, "target": target or USUAL_TARGET}
            for bot, target in ((bot, targets.get(bot.pk, 0)) for bot in listed)
        ]
        by_key = {bot.pk: bot for bot in listed}
        self.rows = make(data, prefix="bots", initial=initial, form_kwargs={"bots": by_key})
        standings = statuses_by_key(listed)
        for row in self.rows:
            row.standing = standings.get(_key(row["bot"].value()))
        self.more = MoreBots(data, bots=bots)

    def is_valid(self) -> bool:
        return all([self.rows.is_valid(), self.more.is_valid()])

    @property
    def has_errors(self) -> bool:
        return bool(self.rows.total_error_count() or self.more.errors)

    def targets(self) -> dict[Bot, int]:
        """Target of conversations for each chosen bot; the forms must be valid."""
        named = dict.fromkeys(self.more.cleaned_data["other"], USUAL_TARGET)
        return named | {row["bot"]: row["target"] for row in self.rows.cleaned_data if row.get("chosen")}


class MoreBots(forms.Form):
    """Form for bots without a row, by their names."""

    prefix = "bots"

    def __init__(self, data: Any, *, bots: QuerySet[Bot]) -> None:
        super().__init__(data)
        self.bots = bots
        self.fields["other"] = forms.CharField(required=False, max_length=2000)

    def clean_other(self) -> list[Bot]:
        return bots_named(self.bots, self.cleaned_data["other"].split(","))


def _key(value: Any) -> int:
    """Parse a bot's key from a form value; 0 if it is not a valid key."""
    text = str(value)
    return int(text) if text.isascii() and text.isdecimal() and len(text) < 10 else 0


def pictures_line(study: Study) -> dict[str, str]:
    """Protocol line on pictures; empty if people send none."""
    return {"Pictures": "people may send one with a message"} if study.takes_pictures else {}


class TalkTask(ReportedTask):
    """A task whose workers talk, with a bot or with each other, and judge the turns."""

    has_conversations = True
    asks = (UNDER_EACH_REPLY,)
    may_ask = frozenset((By.TALKERS, about) for about in (About.PARTNER_TURN, About.OWN_TURN, About.DIALOGUE))

    evaluation = Evaluation.INTERACTIVE
    labels_exported = LABELLED_TURNS
    statements = {EXCHANGES.name: reply_metrics.ROWS}
    read_at = "labels:dialogues"
    read = "conversations"

    @staticmethod
    def fits_topical_chat(study: Study) -> bool:
        """True if the study has the ask that the files of Topical-Chat need."""
        return any(ask.question_set == TOPICAL_CHAT_OWN.key for ask in study.work_asks)

    @override
    def prepare(self, study: Study) -> None:
        reply_metrics.measure(study)

    @override
    def described(self, study: Study) -> Mapping[str, Any]:
        is_measured = reply_metrics.has_turn_metrics(study)
        return {"measured_by": reply_metrics.metric_encoders(study)} if is_measured else {}

    @override
    def computation(self, study: Study) -> Computation:
        return partial(study_result, queries.study_data(study))

    @override
    def labels(self, study: Study) -> QuerySet[Label]:
        # Use one index for each condition: both in one query would read every label.
        of_turns, whole = (
            Label.objects.filter(**{path: study}).order_by().values("pk")
            for path in ("turn__dialogue__study", "dialogue__study")
        )
        return Label.objects.filter(labels_counted_in(study.pk), pk__in=of_turns.union(whole, all=True))

    @override
    def tables(self, asked: Sequence[QuestionSet]) -> tuple[Table, ...]:
        return tables(asked)
