"""Studies to choose, where there may be a thousand: to tick the newest of them, or one in a list of all."""

from collections.abc import Collection
from typing import Any

from django import forms
from django.db.models import Q, QuerySet, prefetch_related_objects
from django.forms.utils import flatatt
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString
from typing_extensions import override

from turnwise.studies.models import LONGEST_TAG, Study

MOST_OFFERED = 100


def narrowed(studies: QuerySet[Study], sought: str) -> QuerySet[Study]:
    """Those with this in their title, or with this tag."""
    if not sought:
        return studies
    return studies.filter(Q(title__icontains=sought) | Q(tags__contains=[sought.lower()[:LONGEST_TAG]]))


def offer(
    field: "forms.ModelMultipleChoiceField[Study]", chosen: Collection[int], *, sought: str = ""
) -> int:
    """List the newest studies of the field that are sought, and the chosen ones; any of it may be sent.

    Returns:
        How many that are sought are not listed.
    """
    assert field.queryset is not None
    found = narrowed(field.queryset, sought)
    newest = list(found.order_by("-created_at", "-pk")[: MOST_OFFERED + 1])
    shown = newest[:MOST_OFFERED]
    missing = set(chosen) - {study.pk for study in shown}
    shown += field.queryset.filter(pk__in=missing) if missing else []
    prefetch_related_objects(shown, "asks")  # which labels name
    field.widget.choices = [(study.pk, field.label_from_instance(study)) for study in shown]
    return max(0, found.count() - MOST_OFFERED) if len(newest) > MOST_OFFERED else 0


class StudySelect(forms.Select):
    """One of many studies, written without a template for each of them."""

    @override
    def render(self, name: str, value: Any, attrs: Any = None, renderer: Any = None) -> SafeString:
        chosen = "" if value is None else str(value)
        rows = ((key, " selected" if str(key) == chosen else "", title) for key, title in self.choices)
        options = format_html_join("\n", '<option value="{}"{}>{}</option>', rows)
        return format_html("<select{}>{}</select>", flatatt(self.build_attrs({"name": name}, attrs)), options)


def list_all(field: "forms.ModelChoiceField[Study]", studies: QuerySet[Study]) -> None:
    """Take one of these studies, by their titles."""
    field.queryset = studies
    titles = list(studies.values_list("pk", "title"))
    field.widget.choices = [("", field.empty_label), *titles]
