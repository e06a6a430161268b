"""Agreement of chatters (first party) with readers (third party), ask by ask, computed by a job."""

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
from evaluation.report.studies.rater_groups import JudgedTurn, compared_parties
from turnwise.judging.models import Agreement
from turnwise.labels.queries import votes_on
from turnwise.live.jobs import AGREEMENTS, describe_failure, exclusive_lock, is_locked
from turnwise.questions.question_sets import question_set
from turnwise.studies.asks import About
from turnwise.studies.models import Ask

# Limits the cost of a comparison; a study of the paper's size has about 8,000 such labels for each bot.
MOST_LABELS = 100_000
RESAMPLES = 2_000
SEED = 20_010_997

# The judged turns or whole conversations.
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
# Starts from the labels of readers, which have an index of their own and are few beside those of chatters.
# Each turn or conversation is looked up once, not for each of its labels.
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
# Labels of chatters must answer this ask; labels from files have no ask.
_OF_BOTH = """
  FROM both_judged AS t
  JOIN labels_label AS l ON l.{subject}_id = t.id AND l.question_set = %(questions)s
   AND (l.party = 'reader' OR l.ask_id = %(ask)s OR l.ask_id IS NULL)
 WHERE l.id NOT IN (SELECT label_id FROM judging_slot WHERE is_gold AND label_id IS NOT NULL)
   AND (l.study_id = %(study)s
        OR l.study_id NOT IN (SELECT id FROM studies_study WHERE rehearsal_of_id IS NOT NULL))
"""
# Any added, changed or deleted label changes one of these two values.
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
class JudgedByBoth:
    """A turn or a whole conversation with the answers of both parties.

    Attributes:
        pk: key of the turn or conversation.
        bot: title of the bot.
        dialogue_id: key of the conversation.
        dialogue: public id of the conversation.
        position: position of the turn; None for a whole conversation.
        text: text of the turn.
        before: text of the turn before it.
        chatters: answers of each chatter.
        readers: answers of each reader.
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

    def disagreement(self, key: str) -> float:
        """Share of (chatter, reader) pairs with different answers to this question."""
        pairs = [
            (chatter.get(key), answer[key])
            for chatter in self.chatters
            for answer in self.readers
            if key in answer
        ]
        return sum(1 for one, other in pairs if one != other) / max(len(pairs), 1)

    def verdicts(self, questions: Sequence[Question]) -> list[dict[str, Any]]:
        """For each question, the chatter's answer and the readers' votes as captions."""
        return [
            {
                "chatter": ", ".join(
                    q.caption_of(answers[q.key]) for answers in self.chatters if q.key in answers
                ),
                "readers": votes_on(q, self.readers),
            }
            for q in questions
        ]


def label_fingerprint(ask: Ask) -> str:
    """A text that changes with the labels of both parties; empty if nothing was judged by both."""
    with connection.cursor() as cursor:
        cursor.execute(_of(ask, _COVERED), _values(ask))
        count, newest = cursor.fetchone()
    return f"{count} {newest}" if count else ""


def judged_by_both(ask: Ask, only: list[int] | None = None) -> list[JudgedByBoth]:
    """Turns or conversations (all, or only these) judged by a chatter and at least one reader.

    The largest disagreement comes first.
    """
    with connection.cursor() as cursor:
        cursor.execute(_of(ask, _LABELS), {**_values(ask), "only": only, "most": MOST_LABELS})
        rows = cursor.fetchall()
    found: dict[int, JudgedByBoth] = {}
    for bot, dialogue_id, dialogue, pk, position, text, before, is_first, answers in rows:
        of_both = found.setdefault(pk, JudgedByBoth(pk, bot, dialogue_id, dialogue, position, text, before))
        (of_both.chatters if is_first else of_both.readers).append(json.loads(answers))
    first = question_set(ask.question_set).questions[0].key
    whole = [
        each for each in found.values() if each.chatters and each.readers
    ]  # the limit may cut the last one
    return sorted(whole, key=lambda each: -each.disagreement(first))


def _of(ask: Ask, statement: str) -> str:
    of_wholes = ask.about == About.DIALOGUE
    return statement.format(
        subject="dialogue" if of_wholes else "turn", things=_WHOLES if of_wholes else _TURNS
    )


def _values(ask: Ask) -> dict[str, Any]:
    return {"study": ask.study_id, "ask": ask.pk, "questions": ask.question_set}


def compare_by_bot(questions: QuestionSet, judged: Sequence[JudgedByBoth]) -> Iterator[dict[str, Any]]:
    """Yield for each bot the scores of both parties, their difference and their agreement."""
    rng = np.random.default_rng(SEED)
    of_bots: dict[str, list[JudgedTurn]] = {}
    for each in judged:
        of_bots.setdefault(each.bot, []).extend(
            JudgedTurn(each.dialogue_id, chatter, each.readers) for chatter in each.chatters
        )
    for bot in sorted(of_bots):
        yield {
            "bot": bot,
            "turns": len(of_bots[bot]),
            "scores": compared_parties(questions, of_bots[bot], rng, resamples=RESAMPLES),
        }


log = logging.getLogger(__name__)

PENDING = (Agreement.State.QUEUED, Agreement.State.RUNNING)
# If the message is lost with Redis, or the process dies, the job can be requested again after this time.
RESEND_AFTER = timedelta(seconds=60)
MOST_ATTEMPTS = 3


class ComparisonStatus(NamedTuple):
    """State of the comparison about an ask.

    Attributes:
        agreement: the latest comparison; None: it was never requested.
        is_outdated: True if labels were added or changed since.
        is_lost: True if it was requested but no process works on it.
    """

    agreement: Agreement | None
    is_outdated: bool = False
    is_lost: bool = False


def comparison_status(ask: Ask, *, now: datetime) -> ComparisonStatus | None:
    """State of the comparison about an ask; None if both parties have judged nothing in common."""
    covers = label_fingerprint(ask)
    if not covers:
        return None
    known = Agreement.objects.filter(ask=ask).defer("things").first()
    if known is None:
        return ComparisonStatus(None)
    if known.is_in_progress:
        is_lost = known.wanted_at < now - RESEND_AFTER and not is_locked(AGREEMENTS, ask.pk)
        return ComparisonStatus(known, is_lost=is_lost)
    return ComparisonStatus(
        known, is_outdated=known.state == Agreement.State.READY and known.covers != covers
    )


def request_comparison(ask: Ask, *, now: datetime) -> bool:
    """Request the comparison. True if a job must be sent, because it is new or was lost.

    The earlier result stays until the new one is ready.
    """
    status = comparison_status(ask, now=now)
    if status is None:
        return False
    if status.agreement is None:
        return Agreement.objects.get_or_create(ask=ask, defaults={"wanted_at": now})[1]
    same = Agreement.objects.filter(pk=status.agreement.pk, wanted_at=status.agreement.wanted_at)
    if status.is_lost:
        return bool(same.filter(state__in=PENDING).update(wanted_at=now))
    fresh = {"state": Agreement.State.QUEUED, "attempts": 0, "done": 0, "bots": 0, "reason": ""}
    return bool(same.exclude(state__in=PENDING).update(wanted_at=now, **fresh))


def run_comparison(ask_id: int) -> None:
    """Compute a requested comparison. Only one process runs it at a time; a finished one stays as it is."""
    with exclusive_lock(AGREEMENTS, ask_id) as mine:
        if not mine or not _begin(ask_id):
            return
        try:
            _compare(Ask.objects.get(pk=ask_id))
        except (OperationalError, InterfaceError):
            # The database was unavailable, which is no fault of the labels. The page offers to ask again.
            log.exception("The comparison about ask %s was interrupted.", ask_id)
            connection.close()
        except Exception as error:
            log.exception("The comparison about ask %s failed.", ask_id)
            mark_failed(ask_id, describe_failure(error))


def mark_failed(ask_id: int, why: str) -> None:
    """Mark the comparison as failed for this reason; it may be requested again."""
    _store(ask_id, state=Agreement.State.FAILED, reason=why)


def _begin(ask_id: int) -> bool:
    waiting = Agreement.objects.filter(ask_id=ask_id, state__in=PENDING)
    died = _("The process that compared them ended %(times)s times before it was done.")
    waiting.filter(attempts__gte=MOST_ATTEMPTS).update(
        state=Agreement.State.FAILED, reason=died % {"times": MOST_ATTEMPTS}
    )
    return bool(waiting.update(state=Agreement.State.RUNNING, attempts=F("attempts") + 1))


def _compare(ask: Ask) -> None:
    covers = label_fingerprint(ask)  # read before the labels, so that later ones are noticed
    judged = judged_by_both(ask)
    _store(ask.pk, bots=len({each.bot for each in judged}))
    figures = []
    for done, of_bot in enumerate(compare_by_bot(question_set(ask.question_set), judged), 1):
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


def count_compared(ask: Ask) -> int:
    return Agreement.objects.filter(ask=ask).values_list("things__len", flat=True).first() or 0


def most_disputed(ask: Ask, start: int, end: int) -> list[JudgedByBoth]:
    """A slice of what both parties judged, the largest disagreement first."""
    of_page = Agreement.objects.filter(ask=ask).values_list(f"things__{start}_{end}", flat=True).first()
    if not of_page:
        return []
    found = {each.pk: each for each in judged_by_both(ask, of_page)}
    return [found[pk] for pk in of_page if pk in found]
