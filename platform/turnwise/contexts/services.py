"""Writes of context sets: save, import a version, load the shipped benchmark, draw a subset."""

from collections.abc import Sequence
from dataclasses import asdict
from hashlib import md5

from django.core.exceptions import ValidationError
from django.db import transaction
from django.utils.text import slugify
from django.utils.translation import gettext, ngettext
from django.utils.translation import gettext as _

from evaluation.open_mtb import PATH, StaticContext, read_open_mtb
from turnwise.accounts.models import User
from turnwise.contexts import versioned
from turnwise.contexts.files import ContextRow, content_hash
from turnwise.contexts.models import Context, ContextSet, ContextSetVersion
from turnwise.contexts.queries import Filters, filtered

OPEN_MTB = "open-mtb"


def save_set(context_set: ContextSet) -> ContextSet:
    """Store a new or edited set.

    Raises:
        ValidationError: a value is invalid, or the owner has another set of that name.
    """
    return versioned.save(context_set)


@transaction.atomic
def import_version(context_set: ContextSet, rows: Sequence[ContextRow], *, origin: str) -> ContextSetVersion:
    """Store the contexts as the set's next version, all or none.

    Raises:
        ValidationError: there are no contexts, or a version of the set has exactly these.
    """
    if not rows:
        raise ValidationError(gettext("There are no contexts in the file, so no version was made."))
    version = versioned.add_version(
        context_set.versions,
        context_set,
        content_hash(rows),
        refusal=gettext("Version %(number)s has exactly these contexts, so no new one was made."),
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
    """Load the shipped benchmark as a set for everybody. Safe to repeat: the newest text is loaded once."""
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
    """Load shipped contexts as a set for everybody. Safe to repeat: the same contexts are loaded once."""
    context_set = versioned.shipped(
        ContextSet, name, title=title, licence="Apache-2.0", description=description
    )
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


_LONGEST_NAME = 60


@transaction.atomic
def draw_subset(
    version: ContextSetVersion, by: Filters, *, number: int | None, seed: int, owner: User, title: str = ""
) -> ContextSetVersion:
    """Create a set of some contexts of a version. Safe to repeat: the same subset is created once per title.

    Contexts keep their ids, so a bot's random choices for them are those of the whole set.

    Args:
        version: version of the whole set.
        by: filters of the contexts.
        number: number of contexts, drawn at random; None: all.
        seed: determines the sample; a larger number adds contexts to the same ones.
        owner: owner of the new set.
        title: title of the new set; empty: the old title with the number of contexts.

    Raises:
        ValidationError: no context matches, or fewer than wanted.
    """
    matching = list(filtered(version.contexts.order_by("position"), by))
    size = len(matching) if number is None else number
    if not matching or size > len(matching):
        raise ValidationError(
            _("%(wanted)s wanted, and %(there)s match. Ask for fewer, or remove a filter.")
            % {"wanted": _count_with_verb(max(1, size)), "there": f"{len(matching):,}"}
        )
    rows = _rows(sorted(_drawn(matching, size, seed), key=lambda context: context.position))
    description = _describe_subset(version, by, size, len(matching), seed)
    title = title or f"{version.context_set.title[:90]}: {_format_count(size)}"
    User.objects.select_for_update(no_key=True).get(
        pk=owner.pk
    )  # a second click waits here, and finds the set
    same_title = ContextSetVersion.objects.filter(context_set__owner=owner, context_set__title=title)
    if same := same_title.filter(content_hash=content_hash(rows)).first():
        return same
    of = version.context_set
    subset = ContextSet(
        owner=owner, name=_free_name(owner, title), title=title, licence=of.licence, description=description
    )
    return import_version(save_set(subset), rows, origin=description)


def _drawn(contexts: Sequence[Context], number: int, seed: int) -> list[Context]:
    shuffled = sorted(
        contexts, key=lambda each: md5(f"{each.key} {seed}".encode()).digest()
    )  # not for security
    return shuffled[:number]


def _rows(contexts: Sequence[Context]) -> list[ContextRow]:
    keys = {each.key for each in contexts}
    return [
        ContextRow(
            line,
            each.key,
            tuple(each.turns),
            each.category,
            each.language,
            each.consistency,
            each.extends if each.extends in keys else "",
            tuple(each.material),
        )
        for line, each in enumerate(contexts, start=1)
    ]


def _count_with_verb(contexts: int) -> str:
    return ngettext("%(n)s context is", "%(n)s contexts are", contexts) % {"n": f"{contexts:,}"}


def _format_count(contexts: int) -> str:
    return ngettext("%(n)s context", "%(n)s contexts", contexts) % {"n": f"{contexts:,}"}


def _describe_subset(version: ContextSetVersion, by: Filters, number: int, there: int, seed: int) -> str:
    """Description of the subset: its size, filters and seed."""
    of = _("%(contexts)s of %(version)s") % {"contexts": _format_count(number), "version": version}
    rules = {
        _("turns"): by.turns,
        _("category"): by.category.replace("_", " "),
        _("language"): by.language,
        _("consistency"): by.consistency,
        _("text"): by.text,
    }
    kinds = [f"{name}: {value}" for name, value in rules.items() if value]
    drawn = (
        _("drawn of %(there)s with the seed %(seed)s") % {"there": f"{there:,}", "seed": seed}
        if number < there
        else ""
    )
    return "; ".join(filter(None, [of, *kinds, drawn]))


def _free_name(owner: User, title: str) -> str:
    base = slugify(title)[: _LONGEST_NAME - 5].strip("-") or "subset"
    names_in_use = {*owner.context_sets.values_list("name", flat=True)}
    names = (base if n == 1 else f"{base}-{n}" for n in range(1, len(names_in_use) + 2))
    return next(name for name in names if name not in names_in_use)
