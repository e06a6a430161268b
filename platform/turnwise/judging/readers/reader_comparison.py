"""First-party labels (of who chatted) beside third-party labels (of readers) of the same, ask by ask.

The comparison of both parties about an ask as a job: wanted, worked out once, kept with what it covers.
"""

import json
import logging
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any, NamedTuple
from uuid import UUID

import numpy as np
from django.db import InterfaceError, OperationalError, connection
from django.db.models import F
from django.utils.translation import gettext as _

from evaluation.questions import Question, QuestionSet
from evaluation.report.studies.rater_groups import Both, compared_parties
from turnwise.judging.models import Agreement
from turnwise.labels.queries import votes_on
from turnwise.live.jobs import AGREEMENTS, is_worked_on, only_here, why_ended
from turnwise.questions.question_sets import question_set
from turnwise.studies.asks import About
from turnwise.studies.models import Ask

# Bounds what a comparison may cost; a study of the paper's size has some 8,000 such labels of a bot.
MOST_LABELS = 100_000
RESAMPLES = 2_000
SEED = 20_010_997

# Of each kind that is judged: what it is, and whose words.
_TURNS = """
SELECT t.id, t.position, t.text, t.dialogue_id, d.public_id
  FROM judged
  JOIN dialogues_turn AS t ON t.id = judged.id
  JOIN dialogues_dialogue AS d ON d.id = t.dialogue_id AND d.study_id = %(study)s
"""
_WHOLES = """
SELECT d.id, NULL::integer AS position, ''::text AS text, d.id AS dialogue_id, d.public_id
  FROM judged JOIN dialogues_dialogue AS d ON d.id = judged.id AND d.study_id = %(study)s
"""
# What readers judged comes first, from its own index: it is little beside what those who talked did. Each
# thing of both parties is looked up once, not for each of its labels.
_BOTH = """
WITH judged AS (
    SELECT DISTINCT {subject}_id AS id FROM labels_label
     WHERE party = 'reader' AND {subject}_id IS NOT NULL AND question_set = %(questions)s
       AND study_id NOT IN (SELECT id FROM studies_study WHERE rehearsal_of_id IS NOT NULL)
       AND id NOT IN (SELECT label_id FROM judging_slot WHERE is_gold AND label_id IS NOT NULL)
), both_judged AS MATERIALIZED (
    SELECT t.* FROM ({things}) AS t
     WHERE EXISTS (SELECT FROM labels_label AS o
                    WHERE o.{subject}_id = t.id AND o.question_set = %(questions)s AND o.party <> 'reader'
                      AND (o.ask_id = %(ask)s OR o.ask_id IS NULL))
)
"""
# Of those who talked, what they answered to this ask; labels that came with a file have none.
_OF_BOTH = """
  FROM both_judged AS t
  JOIN labels_label AS l ON l.{subject}_id = t.id AND l.question_set = %(questions)s
   AND (l.party = 'reader' OR l.ask_id = %(ask)s OR l.ask_id IS NULL)
 WHERE l.id NOT IN (SELECT label_id FROM judging_slot WHERE is_gold AND label_id IS NOT NULL)
   AND (l.study_id = %(study)s
        OR l.study_id NOT IN (SELECT id FROM studies_study WHERE rehearsal_of_id IS NOT NULL))
"""
# Whatever is added, changed or taken away changes one of these.
_COVERED = _BOTH + "SELECT count(*), coalesce(extract(epoch FROM max(l.changed_at)), 0)::text" + _OF_BOTH
_LABELS = (
    _BOTH
    + """
SELECT CASE WHEN t.position IS NULL THEN judging_system(NULL, t.dialogue_id) ELSE coalesce(
           (SELECT b.title FROM dialogues_seat AS p JOIN bots_bot AS b ON b.id = p.bot_id
             WHERE p.dialogue_id = t.dialogue_id AND p.number = t.position %% 2), 'unknown') END,
       t.dialogue_id, t.public_id, t.id, t.position, t.text,
       coalesce((SELECT p.text FROM dialogues_turn AS p
                  WHERE p.dialogue_id = t.dialogue_id AND p.position = t.position - 1), ''),
       l.party <> 'reader', l.answers
"""
    + _OF_BOTH
    + """
   AND (%(only)s::bigint[] IS NULL OR t.id = ANY(%(only)s))
 ORDER BY t.dialogue_id, t.position, l.id
 LIMIT %(most)s
"""
)


@dataclass(slots=True)
class OfBoth:
    """A turn, or a whole conversation, with the answers of both parties.

    Attributes:
        pk: of the turn or the conversation.
        bot: who said it, or talked there.
        dialogue_id: of the conversation.
        dialogue: its public name.
        position: of the turn; None of a whole conversation.
        text: of the turn.
        before: what was said before it.
        chatters: the answers of each of those who talked.
        readers: the answers of each reader.
    """

    pk: int
    bot: str
    dialogue_id: int
    dialogue: UUID
    position: int | None
    text: str
    before: str
    chatters: list[dict[str, Any]] = field(default_factory=list)
    readers: list[dict[str, Any]] = field(default_factory=list)

    def against(self, key: str) -> float:
        """Share of the readers whose answer to the question is not the chatter's; of two, of either's."""
        pairs = [
            (chatter.get(key), answer[key])
            for chatter in self.chatters
            for answer in self.readers
            if key in answer
        ]
        return sum(1 for one, other in pairs if one != other) / max(len(pairs), 1)

    def verdicts(self, questions: Sequence[Question]) -> list[dict[str, Any]]:
        """For each question the chatter's answer and the readers' votes, in words."""
        return [
            {
                "chatter": ", ".join(q.caption_of(said[q.key]) for said in self.chatters if q.key in said),
                "readers": votes_on(q, self.readers),
            }
            for q in questions
        ]


def labels_of_both(ask: Ask) -> str:
    """A word for the labels that a comparison would read now; empty if there are none of both parties."""
    with connection.cursor() as cursor:
        cursor.execute(_of(ask, _COVERED), _values(ask))
        count, newest = cursor.fetchone()
    return f"{count} {newest}" if count else ""


def judged_by_both(ask: Ask, only: list[int] | None = None) -> list[OfBoth]:
    """What an ask is about, or only these, that who talked and at least one reader judged.

    What they see most differently comes first.
    """
    with connection.cursor() as cursor:
        cursor.execute(_of(ask, _LABELS), {**_values(ask), "only": only, "most": MOST_LABELS})
        rows = cursor.fetchall()
    found: dict[int, OfBoth] = {}
    for bot, dialogue_id, dialogue, pk, position, text, before, is_first, answers in rows:
        of_both = found.setdefault(pk, OfBoth(pk, bot, dialogue_id, dialogue, position, text, before))
        (of_both.chatters if is_first else of_both.readers).append(json.loads(answers))
    first = question_set(ask.question_set).questions[0].key
    whole = [each for each in found.values() if each.chatters and each.readers]  # the bound may cut the last
    return sorted(whole, key=lambda each: -each.against(first))


def _of(ask: Ask, statement: str) -> str:
    of_wholes = ask.about == About.DIALOGUE
    return statement.format(
        subject="dialogue" if of_wholes else "turn", things=_WHOLES if of_wholes else _TURNS
    )


def _values(ask: Ask) -> dict[str, Any]:
    return {"study": ask.study_id, "ask": ask.pk, "questions": ask.question_set}


def parties(questions: QuestionSet, judged: Sequence[OfBoth]) -> Iterator[dict[str, Any]]:
    """By bot, each score of both parties, their difference, and how far they agree."""
    rng = np.random.default_rng(SEED)
    of_bots: dict[str, list[Both]] = {}
    for each in judged:
        of_bots.setdefault(each.bot, []).extend(
            Both(each.dialogue_id, chatter, each.readers) for chatter in each.chatters
        )
    for bot in sorted(of_bots):
        yield {
            "bot": bot,
            "turns": len(of_bots[bot]),
            "scores": compared_parties(questions, of_bots[bot], rng, resamples=RESAMPLES),
        }


log = logging.getLogger(__name__)

AT_WORK = (Agreement.State.QUEUED, Agreement.State.RUNNING)
# A message that starts the job can be lost with Redis, and a process can die: then it can be sent once more.
RESEND_AFTER = timedelta(seconds=60)
MOST_ATTEMPTS = 3


class Standing(NamedTuple):
    """How the comparison about an ask stands.

    Attributes:
        agreement: as it was asked for last; None: never.
        is_of_old: whether labels have come or changed since.
        is_lost: whether it was asked for and nobody is at it.
    """

    agreement: Agreement | None
    is_of_old: bool = False
    is_lost: bool = False


def standing(ask: Ask, *, now: datetime) -> Standing | None:
    """What is known of the agreement about an ask; None where both parties have judged nothing in common."""
    covers = labels_of_both(ask)
    if not covers:
        return None
    known = Agreement.objects.filter(ask=ask).defer("things").first()
    if known is None:
        return Standing(None)
    if known.is_under_way:
        is_lost = known.wanted_at < now - RESEND_AFTER and not is_worked_on(AGREEMENTS, ask.pk)
        return Standing(known, is_lost=is_lost)
    return Standing(known, is_of_old=known.state == Agreement.State.READY and known.covers != covers)


def want(ask: Ask, *, now: datetime) -> bool:
    """Have it worked out; whether a worker has to be told, as it is wanted anew or its message was lost.

    The result so far stays until then.
    """
    found = standing(ask, now=now)
    if found is None:
        return False
    if found.agreement is None:
        return Agreement.objects.get_or_create(ask=ask, defaults={"wanted_at": now})[1]
    same = Agreement.objects.filter(pk=found.agreement.pk, wanted_at=found.agreement.wanted_at)
    if found.is_lost:
        return bool(same.filter(state__in=AT_WORK).update(wanted_at=now))
    fresh = {"state": Agreement.State.QUEUED, "attempts": 0, "done": 0, "bots": 0, "reason": ""}
    return bool(same.exclude(state__in=AT_WORK).update(wanted_at=now, **fresh))


def work_out(ask_id: int) -> None:
    """Work out what is wanted. Runs at most once at a time; what is done stays as it is."""
    with only_here(AGREEMENTS, ask_id) as mine:
        if not mine or not _begin(ask_id):
            return
        try:
            _compare(Ask.objects.get(pk=ask_id))
        except (OperationalError, InterfaceError):
            # The database went away: that says nothing of the labels. The page offers to ask again.
            log.exception("The agreement about ask %s was broken off.", ask_id)
            connection.close()
        except Exception as error:
            log.exception("The agreement about ask %s could not be worked out.", ask_id)
            give_up(ask_id, why_ended(error))


def give_up(ask_id: int, why: str) -> None:
    """It is not worked out for this reason, and may be asked for again."""
    _store(ask_id, state=Agreement.State.FAILED, reason=why)


def _begin(ask_id: int) -> bool:
    waiting = Agreement.objects.filter(ask_id=ask_id, state__in=AT_WORK)
    died = _("The process that compared them ended %(times)s times before it was done.")
    waiting.filter(attempts__gte=MOST_ATTEMPTS).update(
        state=Agreement.State.FAILED, reason=died % {"times": MOST_ATTEMPTS}
    )
    return bool(waiting.update(state=Agreement.State.RUNNING, attempts=F("attempts") + 1))


def _compare(ask: Ask) -> None:
    covers = labels_of_both(ask)  # before the labels: what comes in between is compared again
    judged = judged_by_both(ask)
    _store(ask.pk, bots=len({each.bot for each in judged}))
    figures = []
    for done, of_bot in enumerate(parties(question_set(ask.question_set), judged), 1):
        figures.append(of_bot)
        _store(ask.pk, done=done)
    _store(
        ask.pk,
        state=Agreement.State.READY,
        covers=covers,
        figures=figures,
        things=[each.pk for each in judged],
    )


def _store(ask_id: int, **values: object) -> None:
    Agreement.objects.filter(ask_id=ask_id).update(**values)


def number_compared(ask: Ask) -> int:
    return Agreement.objects.filter(ask=ask).values_list("things__len", flat=True).first() or 0


def disputed(ask: Ask, start: int, end: int) -> list[OfBoth]:
    """Some of what both parties judged, what they see most differently first."""
    of_page = Agreement.objects.filter(ask=ask).values_list(f"things__{start}_{end}", flat=True).first()
    if not of_page:
        return []
    found = {each.pk: each for each in judged_by_both(ask, of_page)}
    return [found[pk] for pk in of_page if pk in found]
