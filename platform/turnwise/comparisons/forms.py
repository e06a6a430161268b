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
from turnwise.studies.form_fields import list_newest
from turnwise.studies.models import Ask, Study
from turnwise.studies.queries import readable_real_studies_of, with_bots
from turnwise.studies.tasks import keys_of

# Limit of one page: longer tables are unreadable, and the work must be bounded.
MOST_STUDIES = 50


class StudiesField(forms.ModelMultipleChoiceField[Study]):
    """Studies to tick, labelled with their questions and date of creation."""

    def label_from_instance(self, obj: Study) -> str:
        titles = "; ".join(dict.fromkeys(ask.title for ask in obj.work_asks))
        return f"{obj.title} ({titles}, {obj.created_at:%Y-%m-%d})"


class StudiesForm(forms.Form):
    """Studies to compare, from a query string."""

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
        offered = opened.filter(task__in=keys_of(ReportedTask))
        field.queryset = (
            offered.filter(Exists(Ask.objects.filter(_any_of(of), study=OuterRef("pk")))) if of else offered
        )
        self.offered: QuerySet[Study] = field.queryset
        self.sought = data.get("find", "").strip()[:120]
        ticked = {int(pk) for pk in data.getlist("study") if pk.isdecimal() and len(pk) < 10}
        self.unlisted = list_newest(field, ticked, sought=self.sought)

    def clean_study(self) -> list[Study]:
        studies = list(_with_details(self.cleaned_data["study"]).order_by("created_at", "pk"))
        if len(studies) > MOST_STUDIES:
            raise forms.ValidationError(
                gettext("%(n)d studies are chosen; a page compares at most %(most)d. Choose fewer.")
                % {"n": len(studies), "most": MOST_STUDIES}
            )
        return studies

    def newest(self) -> list[Study]:
        """The newest of the offered studies, for a page before any is chosen."""
        return sorted(
            _with_details(self.offered).order_by("-created_at", "-pk")[:MOST_STUDIES],
            key=lambda study: study.pk,
        )


def _any_of(measured: Sequence[Measured]) -> Q:
    """Filter for asks of one of these question sets and subjects."""
    return reduce(or_, (Q(question_set=each.key, about__in=each.about) for each in measured))


def _with_details(studies: QuerySet[Study]) -> QuerySet[Study]:
    """Prefetch the asks, consent texts and bots of studies, which a comparison shows."""
    return studies.prefetch_related("asks", "consent_versions", with_bots())


class PerplexityForm(forms.Form):
    """Measured perplexity of a version."""

    perplexity = forms.FloatField(
        required=False,
        label=_("Perplexity"),
        help_text=_("Per token, at least 1. Leave empty to delete the value."),
    )
    measured_on = forms.CharField(
        required=False, max_length=LONGEST_NOTE, label=_("Measured on"), help_text=_("The held-out data.")
    )
    tokenizer = forms.CharField(
        required=False, max_length=LONGEST_NOTE, label=_("Tokenizer"), help_text=_("What counts as a token.")
    )
