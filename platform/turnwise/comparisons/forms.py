from collections.abc import Sequence
from functools import reduce
from operator import or_
from typing import Any

from django import forms
from django.contrib.auth.models import AnonymousUser
from django.db.models import Exists, OuterRef, Q, QuerySet
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from turnwise.accounts.models import User
from turnwise.bots.models import LONGEST_NOTE
from turnwise.comparisons.measures import Measured
from turnwise.reports.report_kinds import ReportedTask
from turnwise.studies.form_fields import offer
from turnwise.studies.models import Ask, Study
from turnwise.studies.queries import readable_real_studies_of, with_bots
from turnwise.studies.tasks import keys_of

# One page compares no more; beyond it nobody reads a table, and nothing bounds the work.
MOST_STUDIES = 50


class StudiesField(forms.ModelMultipleChoiceField[Study]):
    """Studies to tick, told apart by what they ask and when they were made."""

    def label_from_instance(self, obj: Study) -> str:
        asked = "; ".join(dict.fromkeys(ask.title for ask in obj.asked))
        return f"{obj.title} ({asked}, {obj.created_at:%Y-%m-%d})"


class StudiesForm(forms.Form):
    """Which studies to compare, from a query string."""

    study = StudiesField(
        queryset=Study.objects.none(),
        required=False,
        widget=forms.CheckboxSelectMultiple,
        label=_("Studies"),
        error_messages={
            "invalid_choice": "There is no study %(value)s that you can see. Choose from the list.",
            "invalid_pk_value": "“%(pk)s” is not the number of a study. Choose from the list.",
        },
    )

    def __init__(self, data: Any, *, user: User | AnonymousUser, of: Sequence[Measured] = ()) -> None:
        super().__init__(data)
        field = self.fields["study"]
        assert isinstance(field, StudiesField)
        opened = readable_real_studies_of(user).exclude(state=Study.State.DRAFT)
        found = opened.filter(task__in=keys_of(ReportedTask))
        field.queryset = (
            found.filter(Exists(Ask.objects.filter(_any_of(of), study=OuterRef("pk")))) if of else found
        )
        self.offered: QuerySet[Study] = field.queryset
        self.sought = data.get("find", "").strip()[:120]
        ticked = {int(pk) for pk in data.getlist("study") if pk.isdecimal() and len(pk) < 10}
        self.unlisted = offer(field, ticked, sought=self.sought)

    def clean_study(self) -> list[Study]:
        chosen = list(_in_full(self.cleaned_data["study"]).order_by("created_at", "pk"))
        if len(chosen) > MOST_STUDIES:
            raise forms.ValidationError(
                gettext("%(n)d studies are chosen; a page compares at most %(most)d. Choose fewer.")
                % {"n": len(chosen), "most": MOST_STUDIES}
            )
        return chosen

    def newest(self) -> list[Study]:
        """The newest of the studies on offer, for a page where nothing has been chosen yet."""
        return sorted(
            _in_full(self.offered).order_by("-created_at", "-pk")[:MOST_STUDIES], key=lambda study: study.pk
        )


def _any_of(measured: Sequence[Measured]) -> Q:
    """Asks of one of these."""
    return reduce(or_, (Q(question_set=each.key, about__in=each.about) for each in measured))


def _in_full(studies: QuerySet[Study]) -> QuerySet[Study]:
    """With what they ask and what their workers agreed to, in which they may differ."""
    return studies.prefetch_related("asks", "consent_versions", with_bots())


class PerplexityForm(forms.Form):
    """The perplexity of a version as somebody measured it."""

    perplexity = forms.FloatField(
        required=False,
        label=_("Perplexity"),
        help_text=_("Per token, at least 1. Empty takes the note back."),
    )
    measured_on = forms.CharField(
        required=False, max_length=LONGEST_NOTE, label=_("Measured on"), help_text=_("Which held-out data.")
    )
    tokenizer = forms.CharField(
        required=False, max_length=LONGEST_NOTE, label=_("Tokenizer"), help_text=_("What counts as a token.")
    )
