"""What a judging study is to judge: responses of runs, turns of conversations, whole conversations.

Adding the same again adds only what is new, so that a study can grow with its runs.
"""

from typing import Any, NamedTuple

from django.core.exceptions import ValidationError
from django.db import transaction
from django.db.models import Count
from django.utils.translation import gettext as _

from evaluation.questions import Subject
from judging import batteries
from judging.filling import fill, run
from judging.models import Battery, JudgingPlan
from judging.queued import QueuedTask
from judging.services import plan_of
from questions.resolving import question_set
from responses.models import ResponseRun
from responses.queries import that_count
from studies.models import Study
from studies.services import OPENED, results_changed
from studies.tasks import task_of


class Added(NamedTuple):
    """How many items came in, and how many were left out because no worker of the study reads them."""

    items: int
    of_other_languages: int = 0


_RESPONSES = """
INSERT INTO judging_item (study_id, response_id, key, language)
SELECT %(study)s, r.id, gen_random_uuid(), c.language
  FROM responses_response AS r
  JOIN responses_responserun AS run ON run.id = r.run_id
  JOIN contexts_context AS c ON c.id = r.context_id
 WHERE r.run_id = %(run)s AND r.repetition <= run.repetitions  -- behind stands what a pilot wrote
   AND c.language = ANY(%(languages)s)
    ON CONFLICT DO NOTHING
"""

# A sample has as many conversations of each system as of any other, is the same whenever it is drawn, and
# grows by adding. Of two people who talk with each other both are judged, as one system. Where nobody said
# in which language a conversation is, whoever adds it does.
_FINISHED = """
SELECT found.id, found.opening_turns, found.bots
  FROM (SELECT d.id, d.opening_turns, d.public_id, systems.ids AS bots,
               row_number() OVER (PARTITION BY systems.ids
                                  ORDER BY md5(d.public_id::text || %(seed)s)) AS drawn
          FROM dialogues_dialogue AS d
         CROSS JOIN LATERAL (SELECT array_agg(s.bot_id ORDER BY s.bot_id) AS ids FROM dialogues_seat AS s
                              WHERE s.dialogue_id = d.id AND s.bot_id IS NOT NULL) AS systems
         WHERE d.study_id = %(source)s AND d.ending = 'complete'
           AND d.language IN ('', %(language)s)) AS found
 ORDER BY found.drawn, md5(found.public_id::text || %(seed)s)
 LIMIT %(sample)s
"""
_TURNS = f"""
INSERT INTO judging_item (study_id, turn_id, key, language)
SELECT %(study)s, t.id, gen_random_uuid(), %(language)s
  FROM ({_FINISHED}) AS d
  JOIN dialogues_turn AS t ON t.dialogue_id = d.id AND t.position >= d.opening_turns
  JOIN dialogues_seat AS p ON p.dialogue_id = d.id AND p.number = t.position %% 2
 WHERE p.bot_id IS NOT NULL OR d.bots IS NULL
    ON CONFLICT DO NOTHING
"""
_DIALOGUES = f"""
INSERT INTO judging_item (study_id, dialogue_id, key, language)
SELECT %(study)s, d.id, gen_random_uuid(), %(language)s FROM ({_FINISHED}) AS d
    ON CONFLICT DO NOTHING
"""
# Whole contexts and conversations, so that systems are compared on the same ones, if one of them fits.
_SOME_OF_ANOTHER = """
INSERT INTO judging_item (study_id, turn_id, response_id, dialogue_id, pair_id, key, language,
                          right_answers, is_instructed)
SELECT %(study)s, turn_id, response_id, dialogue_id, pair_id, gen_random_uuid(), language,
       right_answers, is_instructed
  FROM (SELECT placed.*, min(with_peers) OVER () AS smallest
          FROM (SELECT i.*, row_number() OVER (ORDER BY md5(cluster::text), i.id) AS place,
                       count(*) OVER (ORDER BY md5(cluster::text)) AS with_peers
                  FROM judging_item AS i
                  LEFT JOIN labels_pair AS p ON p.id = i.pair_id
                  LEFT JOIN responses_response AS r ON r.id = coalesce(i.response_id, p.first_response_id)
                  LEFT JOIN dialogues_turn AS t ON t.id = i.turn_id
                 CROSS JOIN LATERAL coalesce(r.context_id, t.dialogue_id, i.dialogue_id,
                                             p.first_dialogue_id) AS cluster
                 WHERE i.study_id = %(source)s AND i.language = %(language)s
                   AND i.removed_at IS NULL) AS placed) AS drawn
 WHERE place <= %(items)s AND (with_peers <= %(items)s OR smallest > %(items)s)
    ON CONFLICT DO NOTHING
"""


@transaction.atomic
def add_responses(study: Study, run: ResponseRun) -> Added:
    """Add every response of a run whose context is in a language of the study.

    Raises:
        ValidationError: the study does not judge, or its questions are not about responses.
    """
    refuse_unfit(study, Subject.RESPONSE)
    items = insert(study, _RESPONSES, run=run.pk, languages=study.languages)
    others = that_count(run.responses.all()).exclude(context__language__in=study.languages).count()
    return Added(items, others)


@transaction.atomic
def add_turns(
    study: Study, source: Study, *, language: str, conversations: int | None = None, seed: str = ""
) -> Added:
    """Add the bots' turns of the finished conversations of `source`, the scripted opening left out.

    Of conversations between people it adds the turns of both.

    Args:
        study: where they are judged.
        source: whose conversations, live or imported.
        language: of these conversations; workers who read it get them.
        conversations: how many of them, drawn at random but always the same; None: all.
        seed: another text draws others.

    Raises:
        ValidationError: the study does not judge, its questions are not about turns, or the language is
            none of both studies.
    """
    refuse_unfit(study, Subject.TURN)
    _refuse_unread(study, source, language)
    return Added(insert(study, _TURNS, source=source.pk, language=language, sample=conversations, seed=seed))


@transaction.atomic
def add_dialogues(
    study: Study, source: Study, *, language: str, conversations: int | None = None, seed: str = ""
) -> Added:
    """Add the finished conversations of `source` as wholes; arguments and errors as of `add_turns`."""
    refuse_unfit(study, Subject.DIALOGUE)
    _refuse_unread(study, source, language)
    return Added(
        insert(study, _DIALOGUES, source=source.pk, language=language, sample=conversations, seed=seed)
    )


@transaction.atomic
def add_items_of(study: Study, source: Study, *, language: str, items: int) -> Added:
    """Add at most so many items of another judging study in this language.

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
    batteries.check(battery)
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


def refuse_unfit(study: Study, subject: Subject) -> None:
    """Raise `ValidationError` if the study does not judge, or its questions are not about this."""
    if not isinstance(task_of(study), QueuedTask):
        raise ValidationError(
            _("“%(study)s” has no queue: its workers do something other than judging.") % {"study": study}
        )
    asked = question_set(study.question_set)
    if subject not in asked.subjects:
        fitting = ", ".join(sorted(each.value for each in asked.subjects))
        raise ValidationError(
            _(
                "The questions “%(title)s” cannot be asked about a %(value)s, only about: %(fitting)s. Make "
                "a study with other questions."
            )
            % {"title": asked.title, "value": subject.value, "fitting": fitting}
        )


def _refuse_unread(study: Study, source: Study, language: str) -> None:
    if language not in study.languages or language not in source.languages:
        raise ValidationError(
            _(
                "“%(language)s” is not a language of both studies: “%(study)s” has %(value)s, “%(source)s” "
                "has %(value_2)s. Choose another, or add it to the study."
            )
            % {
                "language": language,
                "study": study,
                "value": ", ".join(study.languages),
                "source": source,
                "value_2": ", ".join(source.languages),
            }
        )
