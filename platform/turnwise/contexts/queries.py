from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from django.contrib.auth.models import AnonymousUser
from django.contrib.postgres.fields import ArrayField
from django.db.models import F, Func, QuerySet, TextField, Value

from turnwise.accounts.access import visible_to
from turnwise.accounts.models import User
from turnwise.contexts import versioned
from turnwise.contexts.files import ContextRow
from turnwise.contexts.models import Context, ContextSet, ContextSetVersion


def sets_of(user: User | AnonymousUser) -> QuerySet[ContextSet]:
    """Sets that this person may use: their own, and those that ship with the platform."""
    visible = visible_to(user, ContextSet.objects.all(), owner="owner")
    return visible | ContextSet.objects.filter(owner=None) if user.is_authenticated else visible


def editable_sets(user: User | AnonymousUser) -> QuerySet[ContextSet]:
    """Sets into which this person may import new versions."""
    return versioned.editable(user, ContextSet)


def versions_of(user: User | AnonymousUser) -> QuerySet[ContextSetVersion]:
    return versioned.versions_in(sets_of(user), ContextSetVersion)


@dataclass(frozen=True, slots=True)
class Changes:
    """Numbers of new, changed and missing contexts in a file, compared by id with a version."""

    number: int
    new: int
    changed: int
    gone: int


def changes(context_set: ContextSet, rows: Sequence[ContextRow]) -> Changes | None:
    """Changes of a file against the newest version; None if there is none."""
    newest = context_set.versions.first() if context_set.pk else None
    if newest is None:
        return None
    turns_by_key = {key: tuple(turns) for key, turns in newest.contexts.values_list("key", "turns")}
    read = {row.key: row.turns for row in rows}
    return Changes(
        newest.number,
        new=len(read.keys() - turns_by_key.keys()),
        changed=sum(turns_by_key[key] != read[key] for key in read.keys() & turns_by_key.keys()),
        gone=len(turns_by_key.keys() - read.keys()),
    )


@dataclass(frozen=True, slots=True)
class Filters:
    """Filters of a table of contexts; empty ones filter nothing."""

    turns: str = ""
    category: str = ""
    language: str = ""
    consistency: str = ""
    text: str = ""


def filtered(contexts: QuerySet[Context], by: Filters) -> QuerySet[Context]:
    if by.turns:
        contexts = contexts.filter(turns__len=int(by.turns))
    if by.category:
        contexts = contexts.filter(category=by.category)
    if by.language:
        contexts = contexts.filter(language=by.language)
    if by.consistency:
        contexts = contexts.filter(consistency=by.consistency == "yes")
    if by.text:
        words = Func(F("turns"), Value("\n"), function="array_to_string", output_field=TextField())
        contexts = contexts.annotate(words=words).filter(words__icontains=by.text)
    return contexts


def categories_in(versions: QuerySet[Any]) -> list[str]:
    """Categories of the contexts of these versions."""
    contexts = Context.objects.filter(version__in=versions).exclude(category="").order_by()
    return sorted(contexts.values_list("category", flat=True).distinct())


def choices(version: ContextSetVersion) -> dict[str, list[str]]:
    """Values of a version's contexts, for the filters."""
    contexts = version.contexts.order_by()
    lengths = Func(F("turns"), function="cardinality", output_field=ArrayField(TextField()))
    return {
        "turns": sorted({str(n) for n in contexts.annotate(n=lengths).values_list("n", flat=True)}, key=int),
        "category": sorted(set(contexts.values_list("category", flat=True).distinct()) - {""}),
        "language": sorted(set(contexts.values_list("language", flat=True).distinct())),
    }
