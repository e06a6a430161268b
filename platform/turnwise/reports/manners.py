"""How each worker went about a study: what signs of carelessness and fraud are looked for in."""

from collections import Counter
from dataclasses import replace

from django.db import connection

from evaluation.report.signs import Manner
from turnwise.crowd.models import Participation
from turnwise.privacy.redacting import redactor_for
from turnwise.studies.models import Study

# Of two people who talk with each other neither sets the pace alone, so only talks with bots are here.
_TALKED = """
WITH own AS (
    SELECT d.id, d.opening_turns, seat.number, p.worker_id, d.ended_at - d.started_at AS took
      FROM dialogues_dialogue AS d
      JOIN dialogues_seat AS seat ON seat.dialogue_id = d.id
      JOIN crowd_assignment AS a ON a.id = seat.assignment_id
      JOIN crowd_participation AS p ON p.id = a.participation_id
     WHERE d.study_id = %s AND d.ending = 'complete'
       AND EXISTS (SELECT FROM dialogues_seat AS b WHERE b.dialogue_id = d.id AND b.bot_id IS NOT NULL)),
said AS (
    SELECT own.worker_id, t.text, count(*) AS times
      FROM own
      JOIN dialogues_turn AS t ON t.dialogue_id = own.id AND t.position %% 2 = own.number
                              AND t.position >= own.opening_turns
     GROUP BY own.worker_id, t.text),
most AS (
    SELECT DISTINCT ON (worker_id) worker_id, text, times,
           sum(times) OVER (PARTITION BY worker_id) AS messages
      FROM said ORDER BY worker_id, times DESC)
SELECT crowd_pseudonym(taken.worker_id, %s), coalesce(most.messages, 0)::integer, coalesce(most.times, 0),
       coalesce(most.text, ''),
       extract(epoch FROM taken.took)::float8
  FROM (SELECT worker_id, sum(took) AS took FROM own GROUP BY worker_id) AS taken
  LEFT JOIN most ON most.worker_id = taken.worker_id
"""


def manners(study: Study) -> dict[str, Manner] | None:
    """By pseudonym, the manner of each participant; None of a rehearsal, whose workers are programs."""
    if study.rehearsal_of_id is not None:
        return None
    took_part = Participation.objects.filter(study=study, number=1).values_list("pseudonym", "address")
    addresses = Counter(address for _, address in took_part)
    with connection.cursor() as cursor:
        cursor.execute(_TALKED, [study.pk, study.pk])
        redactor = redactor_for(study)
        talked = {
            worker: Manner(messages, times, redactor(text), seconds)
            for worker, messages, times, text, seconds in cursor.fetchall()
        }
    return {
        worker: replace(talked.get(worker, Manner()), at_address=addresses[address] if address else 0)
        for worker, address in took_part
    }
