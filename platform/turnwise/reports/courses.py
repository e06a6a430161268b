"""How the conversations of a study went."""

from collections import Counter

from django.db import connection
from django.db.models import Count, Q

from evaluation.protocols.facts import HUMAN
from evaluation.report.course import READ_FOR_REPETITION, Course
from evaluation.text import WITHDRAWN
from turnwise.dialogues.models import Dialogue, Fault, Turn
from turnwise.privacy.redacting import redactor_for
from turnwise.reports.names import PEOPLE, bot_names, talks_of_people
from turnwise.studies.models import Study


def courses(study: Study) -> dict[str, Course]:
    """How the conversations of each bot of the study went, and those of people, in the order of names."""
    by_ending = Counter(
        {
            (bot, ending): times
            for bot, ending, times in Dialogue.objects.filter(study=study, seats__bot__isnull=False)
            .values_list("seats__bot_id", "ending")
            .annotate(times=Count("pk", distinct=True))
        }
    )
    names, talked = bot_names(study), talks_of_people(study).values_list("ending").annotate(times=Count("pk"))
    for ending, times in talked.order_by():
        by_ending[PEOPLE, ending], names[PEOPLE] = times, HUMAN
    faults: dict[int, dict[str, int]] = {}
    for bot, kind, times in (
        Fault.objects.filter(dialogue__study=study, dialogue__seats__bot__isnull=False)
        .values_list("dialogue__seats__bot_id", "kind")
        .annotate(times=Count("pk"))
    ):
        faults.setdefault(bot, {})[kind] = times
    texts, remarked = _texts(study), _remarked(study)
    return {
        name: Course(
            finished=by_ending[pk, Dialogue.Ending.COMPLETE.value],
            under_way=by_ending[pk, ""],
            bot_failed=by_ending[pk, Dialogue.Ending.BOT_FAILED.value],
            faults=faults.get(pk, {}),
            remarked=remarked.get(pk, (0, 0))[0],
            fallbacks=remarked.get(pk, (0, 0))[1],
            texts=texts.get(pk, []),
        )
        for pk, name in sorted(names.items(), key=lambda item: item[1])
    }


def _remarked(study: Study) -> dict[int, tuple[int, int]]:
    """By bot, its replies in finished conversations with remarks of filters, and those by fallback."""
    turns = Turn.objects.filter(
        dialogue__study=study, dialogue__ending=Dialogue.Ending.COMPLETE, remarks__isnull=False
    )
    counted = turns.values_list("bot_version__bot_id").annotate(
        remarked=Count("pk"), fallbacks=Count("pk", filter=Q(remarks__fallback=True))
    )
    return {bot: (remarked, fallbacks) for bot, remarked, fallbacks in counted.order_by()}


_TEXTS = f"""
SELECT coalesce(c.bot_id, {PEOPLE}),
       coalesce(array_agg(t.position %% 2 = ANY(c.numbers) ORDER BY t.position)
                FILTER (WHERE t.text <> '{WITHDRAWN}'), '{{}}'),
       coalesce(array_agg(t.text ORDER BY t.position) FILTER (WHERE t.text <> '{WITHDRAWN}'), '{{}}')
  FROM (SELECT d.id, p.bot_id, array_agg(p.number) AS numbers, d.opening_turns,
               row_number() OVER (PARTITION BY p.bot_id ORDER BY d.id) AS number
          FROM dialogues_dialogue AS d
          JOIN dialogues_seat AS p ON p.dialogue_id = d.id
           AND (p.bot_id IS NOT NULL OR NOT EXISTS (
                SELECT FROM dialogues_seat AS s WHERE s.dialogue_id = d.id AND s.worker_id IS NULL))
         WHERE d.study_id = %s AND d.ending = 'complete'
         GROUP BY d.id, p.bot_id) AS c
  JOIN dialogues_turn AS t ON t.dialogue_id = c.id AND t.position >= c.opening_turns
 WHERE c.number <= %s
 GROUP BY c.id, c.bot_id, c.numbers
 ORDER BY c.id
"""


def _texts(study: Study) -> dict[int, list[list[tuple[bool, str]]]]:
    """By bot, its first finished conversations as (spoken by the bot?, text), oldest first."""
    texts: dict[int, list[list[tuple[bool, str]]]] = {}
    with connection.cursor() as cursor:
        cursor.execute(_TEXTS, [study.pk, READ_FOR_REPETITION])
        redactor = redactor_for(study)
        for bot, by_bot, written in cursor.fetchall():
            said = [redactor(each) for each in written]
            texts.setdefault(bot, []).append(list(zip(by_bot, said, strict=True)))
    return texts
