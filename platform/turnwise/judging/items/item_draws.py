"""Draws of items for people: make one, undo it, and read its probabilities and progress.

People get only drawn items: others have no slots (`batch_allocation.fill_slots`). Items that people had begun
before the first draw keep their slots and have a probability of 1.

A later draw adds items. It uses the uncertainties and strata that the first one stored, so that no
probability depends on what people said meanwhile, and raises each item's probability; thereby the
probability over all draws stays known, and nobody has to wait until an earlier draw is judged.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, NamedTuple

import numpy as np
from django.core.exceptions import ValidationError
from django.db import connection, transaction
from django.db.models import Q, QuerySet
from django.db.models.functions import Now
from django.utils.translation import gettext

from evaluation.assisted.drawing import EVEN
from evaluation.assisted.item_draws import draw_more, probabilities_within
from evaluation.report.item_draws import DrawnItems, drawn_items
from evaluation.statistics.labels import BoolArray, FloatArray
from turnwise.accounts.models import User
from turnwise.judging.batteries.batch_allocation import execute, fill_slots
from turnwise.judging.items.subjects import lock_plan
from turnwise.judging.models import DrawnItem, ItemDraw, Slot
from turnwise.judging.queries import items_of
from turnwise.studies.models import Ask, Study
from turnwise.studies.services import results_changed

LEAST_ITEMS = 20
"""Smallest number of items of a draw, and of each system if they are its strata: fewer give no estimate."""


class UncertainItem(NamedTuple):
    """An item with its stratum and the judge's uncertainty."""

    item: int
    stratum: str
    uncertainty: float


@dataclass(frozen=True, slots=True)
class Judged:
    """What gave the uncertainties of a first draw."""

    judge: str
    fingerprint: str
    run: int
    source: str


@dataclass(frozen=True, slots=True)
class DrawProgress:
    """A draw with its progress.

    Attributes:
        draw: the draw.
        added: number of items that it drew, without those of earlier draws.
        begun_before: number of items that people had begun before; of the first draw.
        judged: number of added items that people have judged.
        total: number of items from which it drew.
        least: smallest probability.
        may_undo: True if it is the newest one and nobody has begun what it added.
    """

    draw: ItemDraw
    added: int
    begun_before: int
    judged: int
    total: int
    least: float
    may_undo: bool


# Free slots; those that are being leased at this moment are skipped, and their items count as begun.
_FREE = """
DELETE FROM judging_slot
 WHERE id IN (SELECT s.id FROM judging_slot AS s JOIN judging_item AS i ON i.id = s.item_id
               WHERE i.study_id = %(study)s AND i.ask_id = %(ask)s AND s.label_id IS NULL AND NOT s.is_gold
                 AND i.anchor_id IS NULL
                 AND (s.leased_until IS NULL OR s.leased_until < clock_timestamp())
                 FOR UPDATE OF s SKIP LOCKED)
"""
_PROGRESS = """
SELECT d.id, count(*) FILTER (WHERE w.is_drawn AND NOT w.begun_before AND before.id IS NULL),
       count(*) FILTER (WHERE w.begun_before),
       count(*) FILTER (WHERE w.is_drawn AND NOT w.begun_before AND before.id IS NULL AND of.judged),
       count(*), min(w.probability),
       count(*) FILTER (WHERE w.is_drawn AND NOT w.begun_before AND before.id IS NULL AND of.begun)
  FROM judging_itemdraw AS d
  JOIN judging_drawnitem AS w ON w.draw_id = d.id
  LEFT JOIN judging_itemdraw AS earlier ON earlier.ask_id = d.ask_id AND earlier.number = d.number - 1
  LEFT JOIN judging_drawnitem AS before
    ON before.draw_id = earlier.id AND before.item_id = w.item_id AND before.is_drawn
 CROSS JOIN LATERAL (
       SELECT coalesce(bool_or(s.label_id IS NOT NULL), false) AS judged,
              coalesce(bool_or(s.label_id IS NOT NULL OR s.leased_until >= now()), false) AS begun
         FROM judging_slot AS s WHERE s.item_id = w.item_id AND NOT s.is_gold) AS of
 WHERE d.study_id = %s
 GROUP BY d.id
"""


def draws_of(ask: Ask) -> list[ItemDraw]:
    """The draws of an ask, oldest first."""
    return list(ItemDraw.objects.filter(study=ask.study_id, ask=ask).order_by("number"))


def progress_of_draws(study: Study) -> list[DrawProgress]:
    """The draws of a study with their progress, by ask, the newest first."""
    draws = ItemDraw.objects.filter(study=study).select_related("made_by", "ask").order_by("ask", "-number")
    with connection.cursor() as cursor:
        cursor.execute(_PROGRESS, [study.pk])
        counts: dict[int, Sequence[Any]] = {draw: row for draw, *row in cursor.fetchall()}
    newest: set[int] = set()
    found = []
    for draw in draws:
        added, begun_before, judged, total, least, begun = counts.get(draw.pk, (0, 0, 0, 0, 1.0, 0))
        may_undo = draw.ask_id not in newest and not begun
        newest.add(draw.ask_id)
        found.append(DrawProgress(draw, added, begun_before, judged, total, least, may_undo))
    return found


@transaction.atomic
def draw_first(
    ask: Ask, items: Sequence[UncertainItem], judged: Judged, *,
    wanted: int, strata: str, seed: int, by: User | None, now: datetime,
) -> ItemDraw:  # fmt: skip
    """Draw this many items for people from those that nobody has begun.

    Args:
        ask: the ask.
        items: all its items in the queue.
        judged: what gave the uncertainties.
        wanted: number of items to draw.
        strata: value of `ItemDraw.Strata`.
        seed: seed of the draw.
        by: who draws.
        now: current time.

    Raises:
        ValidationError: the ask has a draw, or the number is too small or too large; nothing was changed.
    """
    plan = lock_plan(ask.study)
    results_changed(ask.study_id)  # locks the study before its items, in the order of judging_save
    if draws_of(ask):
        raise ValidationError(gettext("Items were drawn for these questions meanwhile. Load the page again."))
    execute(_FREE, study=ask.study_id, ask=ask.pk)
    begun = set(_slots(ask).values_list("item", flat=True))
    rows = [each._replace(stratum=_stratum(each, strata)) for each in items]
    rest = [each for each in rows if each.item not in begun]
    check_number(wanted, rest)
    chance = probabilities_of(rest, wanted)
    drawn = draw_more(
        np.zeros(len(rest)), chance, np.zeros(len(rest), dtype=np.bool_), _strata(rest), _generator(seed)
    )
    draw = ItemDraw.objects.create(
        study=ask.study, ask=ask, number=1, judge=judged.judge, judge_fingerprint=judged.fingerprint,
        judge_run=judged.run, source=judged.source, strata=strata, items=wanted, floor=EVEN, seed=seed,
        made_by=by, made_at=now,
    )  # fmt: skip
    _store(draw, [each for each in rows if each.item in begun], is_begun=True)
    _store(draw, rest, probability=chance, is_drawn=drawn)
    fill_slots(plan)
    return draw


@transaction.atomic
def draw_further(ask: Ask, *, further: int, seed: int, by: User | None, now: datetime) -> ItemDraw:
    """Draw this many items more, in expectation, by the uncertainties of the first draw.

    Raises:
        ValidationError: there is no draw yet, or the number is too large; nothing was changed.
    """
    plan = lock_plan(ask.study)
    results_changed(ask.study_id)
    draws = draws_of(ask)
    if not draws:
        raise ValidationError(gettext("No items were drawn for these questions yet."))
    newest = draws[-1]
    stored = list(newest.rows.select_related("item").order_by("item"))
    rows = [row for row in stored if not row.begun_before]
    items = [UncertainItem(row.item_id, row.stratum, row.uncertainty) for row in rows]
    left = sum(not row.is_drawn for row in rows)
    if not 1 <= further <= left:
        raise ValidationError(
            gettext("%(further)s further items are not possible: %(left)s are not drawn yet.")
            % {"further": f"{further:,}", "left": f"{left:,}"}
        )
    before = np.array([row.probability for row in rows])
    wanted = min(newest.items + further, len(rows))
    chance = np.maximum(before, probabilities_of(items, wanted))
    is_drawn = np.array([row.is_drawn for row in rows], dtype=np.bool_)
    added = draw_more(before, chance, is_drawn, _strata(items), _generator(seed))
    draw = ItemDraw.objects.create(
        study=ask.study, ask=ask, number=newest.number + 1, judge=newest.judge,
        judge_fingerprint=newest.judge_fingerprint, judge_run=newest.judge_run, source=newest.source,
        strata=newest.strata, items=wanted, floor=newest.floor, seed=seed, made_by=by, made_at=now,
    )  # fmt: skip
    begun = [row for row in stored if row.begun_before]
    _store(draw, [UncertainItem(row.item_id, row.stratum, row.uncertainty) for row in begun], is_begun=True)
    _store(draw, items, probability=chance, is_drawn=is_drawn | added)
    fill_slots(plan)
    return draw


@transaction.atomic
def undo(ask: Ask) -> ItemDraw:
    """Undo the newest draw of an ask: its items, or those that it added, are as they were before.

    Raises:
        ValidationError: there is none, or people have begun an item that it drew; nothing was changed.
    """
    plan = lock_plan(ask.study)
    results_changed(ask.study_id)
    found = [each for each in progress_of_draws(ask.study) if each.draw.ask_id == ask.pk]
    if not found:
        raise ValidationError(gettext("There is no draw to undo."))
    newest = found[0]
    added = _added(newest.draw)
    execute(_FREE + " AND item_id = ANY (%(items)s)", study=ask.study_id, ask=ask.pk, items=added)
    if Slot.objects.filter(item__in=added, is_gold=False).exists():
        raise ValidationError(
            gettext("People have begun to judge items of this draw, so it cannot be undone any more.")
        )
    newest.draw.delete()
    fill_slots(plan)
    return newest.draw


def _added(draw: ItemDraw) -> list[int]:
    """Items that this draw drew and no earlier one, without those begun before."""
    earlier = DrawnItem.objects.filter(
        draw__ask=draw.ask_id, draw__number__lt=draw.number, is_drawn=True
    ).values("item")
    rows = DrawnItem.objects.filter(draw=draw, is_drawn=True, begun_before=False).exclude(item__in=earlier)
    return list(rows.values_list("item", flat=True))


def begun_items(ask: Ask) -> set[int]:
    """Items of an ask that people have judged or are judging."""
    begun = _slots(ask).filter(Q(label__isnull=False) | Q(leased_until__gte=Now()))
    return set(begun.values_list("item", flat=True))


def judged_items(ask: Ask) -> set[int]:
    """Items of an ask that people have judged, gold excepted."""
    return set(_slots(ask).exclude(label=None).values_list("item", flat=True))


def _slots(ask: Ask) -> QuerySet[Slot]:
    return Slot.objects.filter(study=ask.study_id, item__ask=ask, is_gold=False, deck=None)


def check_number(wanted: int, rest: Sequence[UncertainItem]) -> None:
    """Check the number of items to draw from these.

    Raises:
        ValidationError: fewer than 20, or than 20 of a stratum that has so many, or more than there are.
    """
    if wanted > len(rest):
        raise ValidationError(
            gettext("%(wanted)s items are more than there are: nobody has begun to judge %(left)s.")
            % {"wanted": f"{wanted:,}", "left": f"{len(rest):,}"}
        )
    sizes: dict[str, int] = {}
    for each in rest:
        sizes[each.stratum] = sizes.get(each.stratum, 0) + 1
    least = sum(min(LEAST_ITEMS, size) for size in sizes.values())
    if wanted < least:
        raise ValidationError(
            gettext(
                "%(wanted)s items are too few. Choose at least %(least)s: with fewer than %(each)s of a "
                "system, the report gives no estimate."
            )
            % {"wanted": f"{wanted:,}", "least": f"{least:,}", "each": LEAST_ITEMS}
        )


def _stratum(item: UncertainItem, strata: str) -> str:
    return item.stratum if strata == ItemDraw.Strata.SYSTEM else ""


def in_strata(items: Sequence[UncertainItem], strata: str) -> list[UncertainItem]:
    """The items with the strata of this choice."""
    return [each._replace(stratum=_stratum(each, strata)) for each in items]


def probabilities_of(items: Sequence[UncertainItem], wanted: int) -> FloatArray:
    """(N,) probabilities of these items to be among this many drawn ones."""
    return probabilities_within(np.array([each.uncertainty for each in items]), _strata(items), wanted)


def _strata(items: Sequence[UncertainItem]) -> Any:
    return np.array([each.stratum for each in items], dtype=object)


def _generator(seed: int) -> np.random.Generator:
    return np.random.default_rng(seed)


def _store(
    draw: ItemDraw, items: Sequence[UncertainItem], *, probability: FloatArray | None = None,
    is_drawn: BoolArray | None = None, is_begun: bool = False,
) -> None:  # fmt: skip
    DrawnItem.objects.bulk_create(
        (
            DrawnItem(
                draw=draw, item_id=each.item, stratum=each.stratum, uncertainty=each.uncertainty,
                probability=1.0 if probability is None else float(probability[n]),
                is_drawn=True if is_drawn is None else bool(is_drawn[n]), begun_before=is_begun,
            )
            for n, each in enumerate(items)
        ),
        batch_size=5_000,
    )  # fmt: skip


# Draws of the items of an ask that its report has.
_ROWS = f"""
SELECT w.item_id, d.number, d.judge, w.probability, w.is_drawn, w.begun_before
  FROM judging_drawnitem AS w
  JOIN judging_itemdraw AS d ON d.id = w.draw_id
  JOIN ({items_of(ask="%s")}) AS i ON i.id = w.item_id
 WHERE d.study_id = %s AND d.ask_id = %s
 ORDER BY d.number, w.item_id
"""
_FIELDS = ("item", "draw", "judge", "probability", "drawn", "begun_before")


def drawn_for_people(ask: Ask) -> DrawnItems | None:
    """The items of an ask with their probabilities, for its report; None without a draw."""
    if not ItemDraw.objects.filter(study=ask.study_id, ask=ask).exists():
        return None
    with connection.cursor() as cursor:
        cursor.execute(_ROWS, [ask.study_id, ask.pk, ask.study_id, ask.pk])
        rows: list[Mapping[str, Any]] = [dict(zip(_FIELDS, row, strict=True)) for row in cursor.fetchall()]
    return drawn_items(rows, judged_items(ask))
