"""Adding items to the queue: responses of runs, turns of conversations, whole conversations, contexts.

Adding the same again adds only what is new, so a study can grow with its runs.
"""

from collections.abc import Collection
from typing import Any, NamedTuple

from django.core.exceptions import ValidationError
from django.db import transaction
from django.db.models import Count
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from turnwise.judging.batteries import battery_rules
from turnwise.judging.batteries.batch_allocation import execute, fill_slots
from turnwise.judging.items.item_selection import (
    ALL_CONTEXTS,
    ContextSample,
    Selection,
    select_dialogues,
    select_responses,
    select_turns,
)
from turnwise.judging.models import Battery, ItemDraw, JudgingPlan
from turnwise.judging.queue.services import plan_of
from turnwise.responses.models import Response, ResponseRun
from turnwise.responses.queries import counted_responses
from turnwise.studies.models import Study
from turnwise.studies.services import OPENED, results_changed

_DRAWN = _(
    "Items of this queue were drawn for people with known probabilities, which new items and batteries would "
    "not have. Undo the draw under Machine judges, or make a copy of the study."
)

_WITH_ANCHORS = _(
    "Anchors are mixed into this queue, and a battery has a fixed composition without them. Take the anchors "
    "out first."
)


class Added(NamedTuple):
    """Number of added items, and of responses in languages that no worker of the study reads."""

    items: int
    of_other_languages: int = 0


# Takes whole contexts and conversations, so that systems are compared on the same ones, if at least one fits.
_SAMPLE_OF_STUDY = """
INSERT INTO judging_item (study_id, ask_id, turn_id, response_id, dialogue_id, pair_id, context_id, key,
                          language, right_answers, is_instructed)
SELECT %(study)s, ask.id, turn_id, response_id, dialogue_id, pair_id, context_id, judging_key(ask.number),
       language, right_answers, is_instructed
  FROM (SELECT numbered.*, min(with_peers) OVER () AS smallest
          FROM (SELECT i.*, row_number() OVER (ORDER BY md5(cluster::text), i.id) AS number,
                       count(*) OVER (ORDER BY md5(cluster::text)) AS with_peers
                  FROM judging_item AS i
                  LEFT JOIN labels_pair AS p ON p.id = i.pair_id
                  LEFT JOIN responses_response AS r ON r.id = coalesce(i.response_id, p.first_response_id)
                  LEFT JOIN dialogues_turn AS t ON t.id = i.turn_id
                 CROSS JOIN LATERAL coalesce(r.context_id, t.dialogue_id, i.dialogue_id,
                                             p.first_dialogue_id, i.context_id) AS cluster
                 WHERE i.study_id = %(source)s AND i.language = %(language)s
                   AND i.removed_at IS NULL AND i.anchor_id IS NULL) AS numbered) AS drawn
  JOIN studies_ask AS source_ask ON source_ask.id = drawn.ask_id
  JOIN studies_ask AS ask ON ask.study_id = %(study)s AND ask.question_set = source_ask.question_set
   AND ask.about = source_ask.about
 WHERE drawn.number <= %(items)s AND (with_peers <= %(items)s OR smallest > %(items)s)
 ORDER BY ask.number, drawn.id
    ON CONFLICT DO NOTHING
"""


@transaction.atomic
def add_selection(selection: Selection) -> int:
    """Add the selected things that are not in the queue yet, and return the number of new items."""
    asks = [ask.pk for ask in selection.asks]
    items = insert(selection.study, selection.insert, asks=asks, **selection.values)
    if items and selection.drawn:
        plan = lock_plan(selection.study)
        plan.draws.append({**selection.drawn, "at": timezone.now().isoformat()})
        plan.save(update_fields=["draws"])
    return items


def add_responses(study: Study, *runs: ResponseRun, contexts: ContextSample = ALL_CONTEXTS) -> Added:
    """Add responses of runs whose context is in a language of the study; errors as of `select_responses`."""
    return Added(
        add_selection(select_responses(study, runs, contexts)), count_in_other_languages(study, runs)
    )


def count_in_other_languages(study: Study, runs: Collection[ResponseRun]) -> int:
    """Count responses of these runs that no worker of the study reads."""
    of_runs = counted_responses(Response.objects.filter(run__in=runs))
    return of_runs.exclude(context__language__in=study.languages).count()


def add_turns(
    study: Study, source: Study, *, language: str, conversations: int | None = None, seed: str = ""
) -> Added:
    """Add the bots' turns of finished conversations; arguments and errors as of `select_turns`."""
    return Added(
        add_selection(select_turns(study, source, language=language, conversations=conversations, seed=seed))
    )


def add_dialogues(
    study: Study, source: Study, *, language: str, conversations: int | None = None, seed: str = ""
) -> Added:
    """Add finished conversations as wholes; arguments and errors as of `select_turns`."""
    return Added(
        add_selection(
            select_dialogues(study, source, language=language, conversations=conversations, seed=seed)
        )
    )


@transaction.atomic
def add_items_of(study: Study, source: Study, *, language: str, items: int) -> Added:
    """Add up to this many items of another judging study in this language, for asks that both have.

    The random sample is reproducible. It has all items of a context or conversation, or none of them.
    """
    return Added(insert(study, _SAMPLE_OF_STUDY, source=source.pk, language=language, items=items))


def add_all_items_of(study: Study, source: Study) -> None:
    """Add all items of another judging study."""
    counted = (
        source.items.filter(removed_at=None)
        .values_list("language")
        .annotate(n=Count("pk"))
        .order_by("language")
    )
    for language, items in list(counted):
        add_items_of(study, source, language=language, items=items)


@transaction.atomic
def save_plan(plan: JudgingPlan) -> JudgingPlan:
    """Store the plan and give every item its slots. Labels beyond a smaller number of raters stay."""
    plan.full_clean()
    plan.save()
    fill_slots(lock_plan(plan.study))
    results_changed(plan.study_id)
    return plan


@transaction.atomic
def save_battery(battery: Battery) -> Battery:
    """Store the battery for workers who begin from now on, and deal it.

    Raises:
        ValidationError: the battery cannot be filled, or the study has been opened; nothing was changed.
    """
    plan = lock_plan(battery.plan.study)
    refuse_if_drawn(battery.plan.study)
    if battery.plan.study.items.filter(anchor__isnull=False).exists():
        raise ValidationError(_WITH_ANCHORS)
    battery_rules.validate_battery(battery)
    battery.save()
    fill_slots(plan)
    results_changed(plan.study_id)
    return battery


@transaction.atomic
def remove_battery(study: Study) -> None:
    """Remove the battery, so that workers get items of the queue.

    Raises:
        ValidationError: the study has been opened.
    """
    plan = lock_plan(study)
    if study.state != Study.State.DRAFT:
        raise ValidationError(OPENED)
    Battery.objects.filter(plan=plan).delete()
    fill_slots(plan)
    results_changed(study.pk)


def insert(study: Study, statement: str, **values: Any) -> int:
    """Run a statement that creates items, give them slots, and return their number.

    Raises:
        ValidationError: items were drawn for people, so new ones would have no known probability.
    """
    plan = lock_plan(study)
    refuse_if_drawn(study)
    added = execute(statement, study=study.pk, **values)
    fill_slots(plan)
    results_changed(study.pk)
    return added


def refuse_if_drawn(study: Study) -> None:
    """Refuse a change of a queue from which items were drawn for people.

    Raises:
        ValidationError: there is a draw.
    """
    if ItemDraw.objects.filter(study=study).exists():
        raise ValidationError(_DRAWN)


def lock_plan(study: Study) -> JudgingPlan:
    """The study's plan, locked. A concurrent addition waits, and then adds only what is still missing."""
    return JudgingPlan.objects.select_for_update().get(pk=plan_of(study).pk)
