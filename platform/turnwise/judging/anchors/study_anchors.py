"""Anchors of a judging study: mix a pack into its queue, take it out, and count its judgments.

Anchors get slots like the study's own items, and raters get them in the same random order.
"""

from dataclasses import dataclass
from typing import NamedTuple

from django.core.exceptions import ValidationError
from django.db import transaction
from django.db.models import Count, Q
from django.utils.translation import gettext as _

from evaluation.questions import Subject
from evaluation.statistics.linking import FEWEST_ANCHORS
from turnwise.judging.anchors.packs import SUBJECTS
from turnwise.judging.asks import asks_about, question_sets_of
from turnwise.judging.batteries.batch_allocation import execute, fill_slots
from turnwise.judging.batteries.battery_rules import battery_of
from turnwise.judging.items.subjects import lock_plan
from turnwise.judging.models import AnchorPack, Item, Slot
from turnwise.judging.queue.queued_task import QueuedTask
from turnwise.questions.question_sets import question_set, titled
from turnwise.studies.models import Study
from turnwise.studies.services import results_changed
from turnwise.studies.tasks import task_of

# What the queue has already stays one of its own items.
_ADD = """
INSERT INTO judging_item (study_id, ask_id, turn_id, response_id, dialogue_id, context_id, key, language,
                          anchor_id)
SELECT ask.study_id, ask.id, a.turn_id, a.response_id, a.dialogue_id, a.context_id, judging_key(ask.number),
       a.language, a.id
  FROM judging_anchor AS a JOIN studies_ask AS ask ON ask.id = ANY (%(asks)s)
 WHERE a.pack_id = %(pack)s AND a.{subject}_id IS NOT NULL AND a.language = ANY (%(languages)s)
 ORDER BY ask.number, a.number
    ON CONFLICT DO NOTHING
"""
# Slots that are being leased at this moment are skipped, and the removal is then refused.
_FREE = """
DELETE FROM judging_slot
 WHERE id IN (SELECT s.id FROM judging_slot AS s JOIN judging_item AS i ON i.id = s.item_id
                JOIN judging_anchor AS a ON a.id = i.anchor_id
               WHERE i.study_id = %(study)s AND a.pack_id = %(pack)s AND s.label_id IS NULL
                 AND (s.leased_until IS NULL OR s.leased_until < clock_timestamp())
                 FOR UPDATE OF s SKIP LOCKED)
"""


class Added(NamedTuple):
    """Number of anchors that entered a queue, and of those that did not.

    Attributes:
        anchors: new items.
        left_out: anchors in other languages, or in the queue already as its own items.
    """

    anchors: int
    left_out: int


@dataclass(frozen=True, slots=True)
class PackInStudy:
    """A pack whose anchors are in a queue.

    Attributes:
        pack: the pack.
        anchors: number of its items in the queue.
        judged: judgments of them.
        wanted: judgments wanted of them, including those given.
    """

    pack: AnchorPack
    anchors: int
    judged: int
    wanted: int


def packs_in(study: Study) -> list[PackInStudy]:
    """The packs whose anchors are in the study's queue, with their progress."""
    items = Item.objects.filter(study=study, anchor__isnull=False).order_by()
    rows = items.values_list("anchor__pack").annotate(
        anchors=Count("pk", distinct=True),
        judged=Count("slots", filter=Q(slots__label__isnull=False)),
        wanted=Count("slots"),
    )
    counts = {pack: numbers for pack, *numbers in rows}
    packs = AnchorPack.objects.filter(pk__in=counts).select_related("owner", "source").order_by("pk")
    return [PackInStudy(pack, *counts[pack.pk]) for pack in packs]


@transaction.atomic
def add_pack(study: Study, pack: AnchorPack) -> Added:
    """Mix a pack into the study's queue. Safe to repeat: what is there stays.

    Raises:
        ValidationError: the pack does not fit the study; nothing was changed.
    """
    _check_fits(study, pack)
    # Whoever deletes the pack locks it first, too.
    if not AnchorPack.objects.select_for_update(no_key=True).filter(pk=pack.pk).exists():
        raise ValidationError(_("“%(pack)s” was deleted a moment ago. Choose another.") % {"pack": pack})
    plan = lock_plan(study)
    results_changed(study.pk)  # locks the study before its items, in the order of judging_save
    others = [each.pack for each in packs_in(study) if each.pack.question_set == pack.question_set]
    if others and others[0] != pack:
        raise ValidationError(
            _(
                "This queue has the anchors “%(other)s” for the same questions already. A study is linked by "
                "one pack; take that one out first."
            )
            % {"other": others[0]}
        )
    added = 0
    for subject in SUBJECTS:
        asks = [
            ask.pk for ask in asks_about(study, Subject(subject)) if ask.question_set == pack.question_set
        ]
        added += execute(
            _ADD.format(subject=subject), pack=pack.pk, asks=asks, languages=list(study.languages)
        )
    there = study.items.filter(anchor__pack=pack).count()
    if there < FEWEST_ANCHORS:
        raise ValidationError(
            _(
                "%(there)d anchors of “%(pack)s” could enter this queue, and linking needs %(fewest)d. The "
                "others are in languages that its workers do not read (they read: %(languages)s), or are in "
                "the queue already."
            )
            % {
                "there": there,
                "pack": pack,
                "fewest": FEWEST_ANCHORS,
                "languages": ", ".join(study.languages),
            }
        )
    fill_slots(plan)
    return Added(added, pack.anchors.count() - there)


def _check_fits(study: Study, pack: AnchorPack) -> None:
    task = task_of(study)
    if not isinstance(task, QueuedTask) or not task.has_anchors or study.rehearsal_of_id:
        raise ValidationError(
            _(
                "“%(study)s” cannot have anchors. Anchors are mixed into a queue of replies, conversations "
                "or contexts that workers judge one after the other."
            )
            % {"study": study}
        )
    if battery_of(study):
        raise ValidationError(
            _(
                "Workers of this study get batteries, whose composition is fixed. Anchors are mixed into a "
                "queue."
            )
        )
    if pack.source_id == study.pk:
        raise ValidationError(
            _("“%(pack)s” was made from this study, which cannot be linked with itself. Choose another.")
            % {"pack": pack}
        )
    sets = question_sets_of(study)
    known_by = question_set(pack.question_set)
    if known_by not in sets:
        raise ValidationError(
            _(
                "The values of “%(pack)s” are known on the scale of “%(known)s”, and this study asks "
                "“%(asked)s”. Choose a pack made with the same version of its questions."
            )
            % {
                "pack": pack,
                "known": titled(known_by),
                "asked": "”, “".join(titled(each) for each in sets),
            }
        )


@transaction.atomic
def remove_pack(study: Study, pack: AnchorPack) -> int:
    """Take the anchors of a pack out of the queue, and return their number.

    Raises:
        ValidationError: they are not there, or somebody has judged or is judging one; nothing was changed.
    """
    plan = lock_plan(study)
    results_changed(study.pk)
    items = study.items.filter(anchor__pack=pack)
    number = items.count()
    if not number:
        raise ValidationError(_("This queue has no anchors of “%(pack)s”.") % {"pack": pack})
    execute(_FREE, study=study.pk, pack=pack.pk)
    if Slot.objects.filter(item__in=items).exists():
        raise ValidationError(
            _(
                "People have judged anchors of “%(pack)s”, or are judging one, so they stay. They count in "
                "no score."
            )
            % {"pack": pack}
        )
    items.delete()
    fill_slots(plan)
    return number


def copy_packs(study: Study, copy: Study) -> None:
    """Mix the packs of a study into a copy of it that asks the same."""
    for each in packs_in(study):
        add_pack(copy, each.pack)
