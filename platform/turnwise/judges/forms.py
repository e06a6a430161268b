"""Forms: start a machine judge, bring in the labels of one, and draw items for people by its uncertainty."""

import hashlib
from collections.abc import Mapping, Sequence
from decimal import Decimal
from typing import Any

from django import forms
from django.core.exceptions import ValidationError
from django.core.files.uploadedfile import UploadedFile
from django.utils.translation import gettext_lazy as _

from evaluation.machine_judges.imported import Columns
from evaluation.machine_judges.panels import Rule
from evaluation.machine_judges.template import MOST_DRAWS, judgeable_questions
from evaluation.questions import QuestionSet
from turnwise.accounts.models import User
from turnwise.bots.models import OPERATED, OUTSIDE
from turnwise.bots.queries import visible_bots
from turnwise.bots.search import BotField
from turnwise.contexts.tables import FileRefusedError
from turnwise.judges.budgets import Budget
from turnwise.judges.label_imports import files as label_files
from turnwise.judges.models import JudgeRun
from turnwise.judging.models import ItemDraw
from turnwise.studies.models import Ask


class BudgetForm(forms.Form):
    """Limits of a run."""

    most_calls = forms.IntegerField(
        label=_("Most requests"),
        min_value=1,
        max_value=10_000_000,
        required=False,
        help_text=_("The run stops after as many. You can raise the number, and the run goes on."),
    )
    most_cost = forms.DecimalField(
        label=_("Largest amount"),
        min_value=Decimal("0.0001"),
        max_digits=12,
        decimal_places=4,
        required=False,
        help_text=_(
            "In the currency in which the bot has its prices. The run stops before a request would exceed it."
        ),
    )

    def budget(self) -> Budget:
        """The budget that was typed in."""
        return budget_in(self.cleaned_data)


def budget_in(cleaned: Mapping[str, Any]) -> Budget:
    """The budget in the values of a form."""
    return Budget(cleaned["most_calls"], cleaned["most_cost"])


class JudgeForm(forms.Form):
    """A bot that is to judge the items of an ask."""

    draws = forms.IntegerField(
        label=_("Answers for each item"),
        min_value=1,
        max_value=MOST_DRAWS,
        initial=1,
        help_text=_(
            "With several, the mean counts: 3 of 5 times yes is a probability of 0.6. Each costs a request."
        ),
    )

    def __init__(self, user: User, asks: list[Ask], *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.fields |= BudgetForm().fields
        usable = visible_bots(user).filter(active=True).exclude(adapter__in=(OPERATED, OUTSIDE))
        selected = [self.data.get("bot"), self.initial.get("bot")]
        bot: forms.Field = BotField(usable, user, chosen=selected, label=_("Bot"))
        self.fields = {**_choice_of_ask(asks), "bot": bot, **self.fields}
        self._asks = asks

    def selected_ask(self) -> Ask:
        """The ask whose items are judged; the only one if there is no choice."""
        return _selected(self._asks, self.cleaned_data)


def _choice_of_ask(asks: Sequence[Ask]) -> dict[str, forms.Field]:
    """The field that chooses one of several asks; none for one."""
    choices = [(ask.pk, ask.title) for ask in asks]
    field = forms.TypedChoiceField(label=_("Questions"), choices=choices, coerce=int)
    return {"ask": field} if len(asks) > 1 else {}


def _selected(asks: Sequence[Ask], cleaned: Mapping[str, Any]) -> Ask:
    chosen = cleaned.get("ask", asks[0].pk)
    return next(ask for ask in asks if ask.pk == chosen)


class PanelForm(forms.Form):
    """Several complete runs that become one judge."""

    title = forms.CharField(label=_("Name of the panel"), max_length=120)
    rule = forms.ChoiceField(
        label=_("The members decide by"),
        choices=[
            (Rule.VOTE.value, _("Vote: the answer of most members; a tie is no answer")),
            (Rule.MEAN.value, _("Mean: of numbers, and of shares such as 2 of 3 times yes")),
        ],
    )

    def __init__(self, members: Sequence[JudgeRun], *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._members = {str(run.pk): run for run in members}
        choices = [(key, _described(run)) for key, run in self._members.items()]
        self.fields["members"] = forms.MultipleChoiceField(
            label=_("Members"), choices=choices, widget=forms.CheckboxSelectMultiple
        )

    def chosen_members(self) -> list[JudgeRun]:
        """The runs that were chosen."""
        return [self._members[key] for key in self.cleaned_data["members"]]


def _described(run: JudgeRun) -> str:
    return _("%(title)s · %(questions)s · run %(pk)d") % {
        "title": run.judge.shown_title,
        "questions": run.ask.title,
        "pk": run.pk,
    }


class LabelFileForm(forms.Form):
    """A file of labels that a judge gave elsewhere."""

    title = forms.CharField(
        label=_("Name of the judge"),
        max_length=120,
        help_text=_("What pages and reports call it, such as “gpt-5 with our rubric of May”."),
    )
    file = forms.FileField(
        label=_("File"),
        help_text=_(
            "CSV, Excel, JSON Lines, or a log of inspect_ai as JSON. You choose its columns on the next page."
        ),
    )

    def __init__(self, asks: list[Ask], *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.fields = {**_choice_of_ask(asks), **self.fields}
        self._asks = asks

    def selected_ask(self) -> Ask:
        """The ask whose items were judged."""
        return _selected(self._asks, self.cleaned_data)

    def clean_file(self) -> dict[str, Any]:
        """The file's name and digest, and its table as plain values."""
        upload: UploadedFile[bytes] = self.cleaned_data["file"]
        name, data = upload.name or "", upload.read()
        try:
            table = label_files.read_upload(data, label_files.ending_of(name))
        except FileRefusedError as error:
            raise ValidationError(str(error)) from None
        return {"name": name, "sha256": hashlib.sha256(data).hexdigest(), "table": table}


class ColumnsForm(forms.Form):
    """Meaning of the columns of a file of labels."""

    def __init__(
        self, questions: QuestionSet, header: Sequence[str], suggested: Columns, data: Mapping[str, Any]
    ) -> None:
        self._asked = judgeable_questions(questions)
        values = {"item": suggested.item, "question": suggested.question, "answer": suggested.answer}
        values |= {"probability": suggested.probability, "reason": suggested.reason, "draw": suggested.draw}
        values |= {_of(key): name for key, name in suggested.answers.items()}
        super().__init__(data if "item" in data else values)
        choices = [("", _("None")), *((name, name) for name in header)]
        for name, label in self._labels():
            self.fields[name] = forms.ChoiceField(label=label, choices=choices, required=name == "item")

    def _labels(self) -> list[tuple[str, Any]]:
        """Name and label of each field, in their order."""
        answers = [(_of(each.key), _("Answer to “%s”") % each.wording) for each in self._asked]
        of_rows = [("question", _("Question, if each row is one answer")), ("answer", _("Answer to it"))]
        return [
            ("item", _("Item")),
            *answers,
            *(of_rows if len(answers) > 1 else []),
            ("probability", _("Probability of the answer")),
            ("reason", _("What the judge wrote about it")),
            ("draw", _("Number of the answer, if there are several about an item")),
        ]

    def columns(self) -> Columns:
        """The chosen columns; those that the file does not have are none."""
        self.is_valid()
        chosen = {name: self.cleaned_data.get(name, "") for name, _label in self._labels()}
        answers = {each.key: chosen.pop(_of(each.key)) for each in self._asked}
        return Columns(answers={key: name for key, name in answers.items() if name}, **chosen)


def _of(key: str) -> str:
    """Name of the field for the answers to a question."""
    return f"answer-{key}"


class ItemDrawForm(forms.Form):
    """A draw of items for people by a judge's uncertainty."""

    items = forms.IntegerField(
        label=_("Items for people"),
        min_value=1,
        max_value=10_000_000,
        help_text=_("Each is judged by as many workers as the plan of the queue says."),
    )
    strata = forms.ChoiceField(
        label=_("Drawn from"),
        choices=ItemDraw.Strata.choices,
        initial=ItemDraw.Strata.SYSTEM,
        help_text=_("The same number from each system compares systems best."),
    )

    def __init__(self, runs: list[JudgeRun], *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        choices = [(run.pk, _described(run)) for run in runs]
        judge = forms.TypedChoiceField(
            label=_("Machine judge"),
            choices=choices,
            coerce=int,
            help_text=_("Items about which it is uncertain are drawn more often."),
        )
        self.fields = {"judge": judge, **self.fields}
        self._runs = {run.pk: run for run in runs}

    @property
    def has_judges(self) -> bool:
        return bool(self._runs)

    def selected_run(self) -> JudgeRun:
        return self._runs[self.cleaned_data["judge"]]


class FurtherForm(forms.Form):
    """Items to draw for people in addition."""

    further = forms.IntegerField(label=_("Items in addition"), min_value=1, max_value=10_000_000)
