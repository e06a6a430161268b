from collections.abc import Sequence
from dataclasses import asdict

from django.core.exceptions import ValidationError
from django.db import transaction
from django.utils.translation import gettext

from evaluation.open_mtb import PATH, StaticContext, read_open_mtb
from turnwise.contexts.files import ContextRow, content_hash
from turnwise.contexts.models import Context, ContextSet, ContextSetVersion

OPEN_MTB = "open-mtb"


@transaction.atomic
def save_set(context_set: ContextSet) -> ContextSet:
    """Store a new or edited set.

    Raises:
        ValidationError: a value it cannot have, or its owner has another set of that name.
    """
    context_set.full_clean()
    context_set.save()
    return context_set


@transaction.atomic
def import_version(context_set: ContextSet, rows: Sequence[ContextRow], *, origin: str) -> ContextSetVersion:
    """Store the contexts as the set's next version, all or none.

    Raises:
        ValidationError: no contexts, or the set has a version with exactly these.
    """
    ContextSet.objects.select_for_update().get(pk=context_set.pk)
    if not rows:
        raise ValidationError(gettext("There are no contexts in the file, so no version was made."))
    digest = content_hash(rows)
    same = context_set.versions.filter(content_hash=digest).first()
    if same:
        raise ValidationError(
            gettext("Version %(number)s has exactly these contexts, so no new one was made.")
            % {"number": same.number}
        )
    latest = context_set.versions.first()
    version = ContextSetVersion.objects.create(
        context_set=context_set,
        number=latest.number + 1 if latest else 1,
        content_hash=digest,
        size=len(rows),
        origin=origin[:200],
    )
    Context.objects.bulk_create(
        [_context(version, position, row) for position, row in enumerate(rows, start=1)], batch_size=1000
    )
    return version


def _context(version: ContextSetVersion, position: int, row: ContextRow) -> Context:
    stored = asdict(row)
    del stored["line"]
    return Context(version=version, position=position, **stored)


def load_open_mtb() -> ContextSetVersion:
    """The benchmark that ships, as a set for everybody. Safe to repeat: the newest text is loaded once."""
    return load_shipped(
        OPEN_MTB,
        [_row_of(line, context) for line, context in enumerate(read_open_mtb(), start=1)],
        title="Open MTB",
        description="1,477 contexts of one to three turns in the spirit of the Mini-Turing Benchmark.",
        origin=PATH.name,
    )


@transaction.atomic
def load_shipped(
    name: str, rows: Sequence[ContextRow], *, title: str, description: str, origin: str
) -> ContextSetVersion:
    """Contexts that ship, as a set for everybody. Safe to repeat: the same contexts are loaded once."""
    context_set, _ = ContextSet.objects.get_or_create(
        owner=None,
        name=name,
        defaults={"title": title, "licence": "Apache-2.0", "description": description},
    )
    ContextSet.objects.select_for_update().get(pk=context_set.pk)  # whoever asks at once waits for the first
    same = context_set.versions.filter(content_hash=content_hash(rows)).first()
    return same or import_version(context_set, rows, origin=origin)


def _row_of(line: int, context: StaticContext) -> ContextRow:
    return ContextRow(
        line,
        context.id,
        context.turns,
        context.category,
        context.language,
        context.consistency,
        context.extends or "",
    )
