"""What a judging study is to judge: responses of runs, turns of conversations, whole conversations, contexts.

Adding the same again adds only what is new, so that a study can grow with its runs.
"""

from collections.abc import Collection
from typing import Any, NamedTuple

from django.core.exceptions import ValidationError
from django.db import transaction
from django.db.models import Count
from django.utils import timezone

from turnwise.judging.batteries import battery_rules
from turnwise.judging.batteries.batch_allocation import fill, run
from turnwise.judging.items.item_selection import ALL_CONTEXTS, Chosen, Contexts, dialogues, responses, turns
from turnwise.judging.models import Battery, JudgingPlan
from turnwise.judging.queue.services import plan_of
from turnwise.responses.models import Response, ResponseRun
from turnwise.responses.queries import that_count
from turnwise.studies.models import Study
from turnwise.studies.services import OPENED, results_changed


class Added(NamedTuple):
    """How many items came in, and how many were left out because no worker of the study reads them."""

    items: int
    of_other_languages: int = 0


# Whole contexts and conversations, so that systems are compared on the same ones, if one of them fits.
_SOME_OF_ANOTHER = """
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
                   AND i.removed_at IS NULL) AS numbered) AS drawn
  JOIN studies_ask AS theirs ON theirs.id = drawn.ask_id
  JOIN studies_ask AS ask ON ask.study_id = %(study)s AND ask.question_set = theirs.question_set
   AND ask.about = theirs.about
 WHERE drawn.number <= %(items)s AND (with_peers <= %(items)s OR smallest > %(items)s)
 ORDER BY ask.number, drawn.id
    ON CONFLICT DO NOTHING
"""


@transaction.atomic
def add(chosen: Chosen) -> int:
    """Add what was chosen, as far as it is not there; how many items that are."""
    items = insert(chosen.study, chosen.insert, asks=[ask.pk for ask in chosen.asks], **chosen.values)
    if items and chosen.drawn:
        plan = lock_plan(chosen.study)
        plan.draws.append({**chosen.drawn, "at": timezone.now().isoformat()})
        plan.save(update_fields=["draws"])
    return items


def add_responses(study: Study, *runs: ResponseRun, contexts: Contexts = ALL_CONTEXTS) -> Added:
    """Add responses of runs whose context is in a language of the study; errors as of `chosen.responses`."""
    return Added(add(responses(study, runs, contexts)), of_other_languages(study, runs))


def of_other_languages(study: Study, runs: Collection[ResponseRun]) -> int:
    """How many responses of these runs no worker of the study reads."""
    of_runs = that_count(Response.objects.filter(run__in=runs))
    return of_runs.exclude(context__language__in=study.languages).count()


def add_turns(
    study: Study, source: Study, *, language: str, conversations: int | None = None, seed: str = ""
) -> Added:
    """Add the bots' turns of finished conversations; arguments and errors as of `chosen.turns`."""
    return Added(add(turns(study, source, language=language, conversations=conversations, seed=seed)))


def add_dialogues(
    study: Study, source: Study, *, language: str, conversations: int | None = None, seed: str = ""
) -> Added:
    """Add finished conversations as wholes; arguments and errors as of `chosen.turns`."""
    return Added(add(dialogues(study, source, language=language, conversations=conversations, seed=seed)))


@transaction.atomic
def add_items_of(study: Study, source: Study, *, language: str, items: int) -> Added:
    """Add at most so many items of another judging study in this language, of what both ask.

    Drawn at random but always the same: all items of a context or conversation, or none of them.
    """
    return Added(insert(study, _SOME_OF_ANOTHER, source=source.pk, language=language, items=items))


def add_all_items_of(study: Study, source: Study) -> None:
    """Have everything judged that is judged in another judging study."""
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
    fill(lock_plan(plan.study))
    results_changed(plan.study_id)
    return plan


@transaction.atomic
def save_battery(battery: Battery) -> Battery:
    """Store what every worker gets from now on, and deal it.

    Raises:
        ValidationError: it cannot be filled, or the study has been opened; nothing was changed.
    """
    plan = lock_plan(battery.plan.study)
    battery_rules.check(battery)
    battery.save()
    fill(plan)
    results_changed(plan.study_id)
    return battery


@transaction.atomic
def remove_battery(study: Study) -> None:
    """Give workers items of the queue again.

    Raises:
        ValidationError: the study has been opened.
    """
    plan = lock_plan(study)
    if study.state != Study.State.DRAFT:
        raise ValidationError(OPENED)
    Battery.objects.filter(plan=plan).delete()
    fill(plan)
    results_changed(study.pk)


def insert(study: Study, statement: str, **values: Any) -> int:
    """Add the items of this statement with their slots; how many they are."""
    plan = lock_plan(study)
    added = run(statement, study=study.pk, **values)
    fill(plan)
    results_changed(study.pk)
    return added


def lock_plan(study: Study) -> JudgingPlan:
    """The study's plan, locked: who adds at the same time waits, and adds only what is then missing."""
    return JudgingPlan.objects.select_for_update().get(pk=plan_of(study).pk)
