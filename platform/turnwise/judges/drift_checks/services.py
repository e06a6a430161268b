"""Daily check of a judge: ask about fixed items of its run, compare with earlier answers, raise alarms."""

import asyncio
import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from asgiref.sync import async_to_sync
from django.core.exceptions import ValidationError
from django.db import connection, transaction
from django.db.models import F, OuterRef, QuerySet, Subquery
from django.utils import timezone
from django.utils.translation import gettext, ngettext

from evaluation.files.writing import percent
from evaluation.machine_judges.drift import Departure, Repeats, Reply, departure
from evaluation.machine_judges.template import judgeable_questions
from evaluation.questions import QuestionSet
from evaluation.statistics.differences import format_p
from evaluation.texts.lengths import MAX_REPLY_CHARS
from turnwise.bots.hosting import client, presence
from turnwise.bots.models import Bot
from turnwise.judges import budgets, services
from turnwise.judges.models import DriftCheck, JudgeRun, RepeatedAnswer
from turnwise.judges.requests import Missing, context_of, read_reply, text_of
from turnwise.live.published_events import Event, EventType, publish
from turnwise.questions.question_sets import question_set
from turnwise.responses.bulk_replies import Trouble, ask_bot

EVERY = timedelta(days=1)
ITEMS, FEWEST = 20, 10
REPEATS = 4
"""Answers about each item at the first check, which show how much the judge varies by itself."""
MOST_EARLIER = 10
"""Most earlier checks with which a check is compared: the oldest, so that slow drift is found, too."""
# Other work of the bot comes first: a check has at most as many requests in its queue.
AT_ONCE = 4

Verdict = DriftCheck.Verdict
_ItemKey = tuple[int, bool]
"""Key of an item, and order of its sides."""


@dataclass(frozen=True, slots=True)
class FixedItem:
    """An item of the check with the judge's first reply about it."""

    missing: Missing
    first: Reply

    @property
    def key(self) -> _ItemKey:
        return self.missing.item, self.missing.is_swapped


@dataclass(frozen=True, slots=True)
class _Asked:
    """A request of a check and its reply, or the reason why there is none."""

    item: FixedItem
    repeat: int
    reply: client.Reply | Trouble


def set_watched(run_id: int, *, watched: bool) -> None:
    """Begin or end the daily check of a run.

    Raises:
        ValidationError: the labels are of no bot, the run is not complete, or it has too few answers.
    """
    run = JudgeRun.objects.select_related("judge", "ask").get(pk=run_id)
    if watched and (reason := _why_not_watchable(run)):
        raise ValidationError(reason)
    JudgeRun.objects.filter(pk=run_id).update(is_watched=watched)


def _why_not_watchable(run: JudgeRun) -> str:
    if run.judge.bot_id is None:
        return gettext("No bot gives these labels, so nobody can be asked again.")
    if run.state != JudgeRun.State.DONE:
        return gettext("This run is not complete. Let it judge all items first.")
    items = len(_fixed_items(run, None))
    if items < FEWEST:
        return gettext("The daily check needs %(fewest)s answers of the run; it has %(items)s.") % {
            "fewest": FEWEST,
            "items": items,
        }
    return ""


def runs_due() -> list[int]:
    """Keys of complete, watched runs whose daily check is due and whose bot would answer."""
    lately = DriftCheck.objects.filter(at__gt=timezone.now() - EVERY).values("run")
    watched = JudgeRun.objects.filter(
        is_watched=True, state=JudgeRun.State.DONE, judge__bot__active=True, study__archived_at=None
    )
    # A judge that departed before its first check has no answers to go on from: its alarm stands.
    of_no_use = DriftCheck.objects.filter(verdict=Verdict.DEPARTED, answers__repeat=REPEATS).values("run")
    waiting = watched.exclude(pk__in=lately).exclude(pk__in=of_no_use).order_by("pk")
    due = dict(waiting.values_list("pk", "judge__bot"))
    available = presence.available(list(Bot.objects.filter(pk__in=due.values()))) if due else set()
    return [pk for pk, bot in due.items() if bot in available]


def check(run_id: int) -> DriftCheck:
    """Have a judge answer its fixed items again, compare, and store the result."""
    run = JudgeRun.objects.select_related("judge__bot", "ask", "study").get(pk=run_id)
    baseline = _baseline(run)
    items, repeats = _fixed_items(run, baseline), 1 if baseline else REPEATS
    wanted = len(items) * repeats
    if len(items) < FEWEST:
        return _failed(run, _why_not_watchable(run))
    if budgets.affordable_calls(run, wanted) < wanted:
        return _failed(
            run,
            gettext(
                "The daily check needs %(n)s requests, which the budget of this run does not pay. Raise it, "
                "or switch the check off."
            )
            % {"n": wanted},
        )
    asked = async_to_sync(_ask)(run, items, repeats)
    return _store(run, baseline, items, asked)


async def _ask(run: JudgeRun, items: Sequence[FixedItem], repeats: int) -> list[_Asked]:
    """Ask about all items; about the first alone if another version of the bot answers."""
    slots = asyncio.Semaphore(AT_ONCE)
    bot_id = run.judge.bot_id
    assert bot_id

    async def ask(item: FixedItem, repeat: int) -> _Asked:
        async with slots:
            return _Asked(item, repeat, await ask_bot(bot_id, context_of(run, item.missing)))

    first, *others = [(item, repeat) for repeat in range(1, repeats + 1) for item in items]
    probe = await ask(*first)
    if _is_other_version(run, probe):
        return [probe]
    return [probe, *await asyncio.gather(*[ask(*each) for each in others])]


def _is_other_version(run: JudgeRun, asked: _Asked) -> bool:
    return isinstance(asked.reply, client.Reply) and asked.reply.version_id != run.bot_version_id


@transaction.atomic
def _store(
    run: JudgeRun, baseline: DriftCheck | None, items: Sequence[FixedItem], asked: Sequence[_Asked]
) -> DriftCheck:
    """Store a check with its answers; those about items that were deleted meanwhile are dropped."""
    JudgeRun.objects.filter(pk=run.pk).update(calls=F("calls") + len(asked))
    remaining = services.lock_items(each.missing.item for each in items)
    answered = [
        each for each in asked if isinstance(each.reply, client.Reply) and each.item.missing.item in remaining
    ]
    if any(_is_other_version(run, each) for each in answered):
        return DriftCheck.objects.create(
            run=run,
            verdict=Verdict.OTHER_VERSION,
            reason=gettext(
                "The bot has another version than the one that judged, so it is another judge. Start a new "
                "run to have its labels."
            ),
        )
    questions = question_set(run.judge.question_set)
    answers = [_repeated_answer(questions, each) for each in answered]
    of_items = {(each.item_id, each.is_swapped) for each in answers}
    if len(of_items) < FEWEST:
        return _failed(run, _too_few_sentence(len(of_items), len(items), asked))
    if baseline:
        found = _compared(run, _compared_with_earlier(questions, items, _earlier_answers(baseline), answers))
    else:
        found = _compared(run, _compared_with_later(questions, items, answers), is_baseline=True)
    was_alarm = alarms(JudgeRun.objects.filter(pk=run.pk)).exists()
    found.save()
    for each in answers:
        each.drift_check = found
    RepeatedAnswer.objects.bulk_create(answers)
    if found.verdict == Verdict.DEPARTED and not was_alarm:
        publish(_event(found))
    return found


def _repeated_answer(questions: QuestionSet, asked: _Asked) -> RepeatedAnswer:
    assert isinstance(asked.reply, client.Reply)
    reply = asked.reply.within(MAX_REPLY_CHARS, stores_reasoning=False)
    outcome, answers, _why = read_reply(questions, reply.response)
    return RepeatedAnswer(
        item_id=asked.item.missing.item,
        is_swapped=asked.item.missing.is_swapped,
        repeat=asked.repeat,
        outcome=outcome,
        answers=answers,
        generation=reply.generation,
    )


def _compared(run: JudgeRun, repeats: Sequence[Repeats], *, is_baseline: bool = False) -> DriftCheck:
    """A check, not yet stored, with its verdict."""
    result = departure(repeats)
    found = DriftCheck(run=run, agreement=result.agreement, expected=result.expected)
    if result.is_alarm:
        found.verdict, found.p, found.reason = Verdict.DEPARTED, result.p, _departed_sentence(result)
    elif is_baseline:
        found.verdict = Verdict.REPEATED
    else:
        found.verdict, found.p = Verdict.SAME, result.p
    return found


def _compared_with_earlier(
    questions: QuestionSet,
    items: Sequence[FixedItem],
    earlier: Iterable[RepeatedAnswer],
    today: Iterable[RepeatedAnswer],
) -> list[Repeats]:
    """Today's replies beside those of the run and of earlier checks."""
    before = {each.key: [each.first] for each in items}
    for key, reply in _replies(questions, earlier):
        if key in before:
            before[key].append(reply)
    return [Repeats(before[key], reply) for key, reply in _replies(questions, today)]


def _compared_with_later(
    questions: QuestionSet, items: Sequence[FixedItem], repeated: Iterable[RepeatedAnswer]
) -> list[Repeats]:
    """Replies of the run beside repeated ones: it may be the run whose answers stand out."""
    later: dict[_ItemKey, list[Reply]] = {}
    for key, reply in _replies(questions, repeated):
        later.setdefault(key, []).append(reply)
    return [Repeats(later[each.key], each.first) for each in items if each.key in later]


def _replies(questions: QuestionSet, answers: Iterable[RepeatedAnswer]) -> Iterator[tuple[_ItemKey, Reply]]:
    for each in answers:
        yield (each.item_id, each.is_swapped), _coded(questions, each.outcome, each.answers)


def _coded(questions: QuestionSet, outcome: str, answers: dict[str, Any] | None) -> Reply:
    """Answer to each question as text; a reply without answers has its outcome in their place."""
    if answers is None:
        return tuple(outcome for _ in judgeable_questions(questions))
    return tuple(json.dumps(answers.get(each.key)) for each in judgeable_questions(questions))


def _departed_sentence(found: Departure) -> str:
    sentence = ngettext(
        "%(changed)s of %(items)s items is answered in another way than in the run: %(same)s of the answers "
        "are the same, while repeated answers have %(expected)s in common (%(p)s).",
        "%(changed)s of %(items)s items are answered in another way than in the run: %(same)s of the answers "
        "are the same, while repeated answers have %(expected)s in common (%(p)s).",
        found.changed,
    )
    return sentence % {
        "changed": found.changed,
        "items": found.items,
        "same": percent(round(found.agreement, 2)),
        "expected": percent(round(found.expected or 0.0, 2)),
        "p": format_p(found.p),
    }


def _too_few_sentence(answered: int, items: int, asked: Sequence[_Asked]) -> str:
    troubles = [each.reply.detail for each in asked if isinstance(each.reply, Trouble)]
    values = {"answered": answered, "items": items}
    sentence = gettext("It answered %(answered)s of %(items)s items.") % values
    return f"{sentence} {troubles[-1][:500]}" if troubles else sentence


def _failed(run: JudgeRun, reason: str) -> DriftCheck:
    return DriftCheck.objects.create(run=run, verdict=Verdict.FAILED, reason=reason)


def _event(found: DriftCheck) -> Event:
    run = found.run
    return Event(
        EventType.JUDGE_DRIFTED,
        study_id=run.study_id,
        data={
            "study": run.study.code,
            "judge": run.pk,
            "agreement": round(found.agreement or 0.0, 4),
            "expected": None if found.expected is None else round(found.expected, 4),
        },
        links={
            "page": run.get_absolute_url(),
            "api": f"/api/studies/{run.study.code}/judges/{run.pk}/checks",
        },
    )


def _baseline(run: JudgeRun) -> DriftCheck | None:
    """The newest check with repeated answers about enough items that still exist."""
    found = run.drift_checks.filter(verdict=Verdict.REPEATED).first()
    return found if found and len(_fixed_items(run, found)) >= FEWEST else None


def _earlier_answers(baseline: DriftCheck) -> QuerySet[RepeatedAnswer]:
    """Answers of the baseline and of the checks after it that raised no alarm."""
    since = DriftCheck.objects.filter(run=baseline.run_id, pk__gte=baseline.pk)
    quiet = since.filter(verdict__in=(Verdict.REPEATED, Verdict.SAME)).order_by("pk")
    return RepeatedAnswer.objects.filter(drift_check__in=[*quiet.values_list("pk", flat=True)[:MOST_EARLIER]])


_FIXED = """
SELECT i.id, i.key::text, l.is_swapped, judging_shown(i, l.is_swapped), l.outcome, l.answers::text
  FROM judges_machinelabel AS l
  JOIN judging_item AS i ON i.id = l.item_id
 WHERE l.run_id = %(run)s AND l.draw = 1 AND l.outcome <> 'failed'
   AND i.right_answers IS NULL AND i.removed_at IS NULL
   AND (%(baseline)s::bigint IS NULL
        OR EXISTS (SELECT FROM judges_repeatedanswer AS a
                    WHERE (a.drift_check_id, a.item_id, a.is_swapped)
                          = (%(baseline)s::bigint, i.id, l.is_swapped)))
 ORDER BY i.key, l.is_swapped
 LIMIT %(most)s
"""


def _fixed_items(run: JudgeRun, baseline: DriftCheck | None) -> list[FixedItem]:
    """Items of the baseline that still exist; without one the first items of the run, in random order."""
    questions = question_set(run.judge.question_set)
    values = {"run": run.pk, "baseline": baseline.pk if baseline else None, "most": ITEMS}
    with connection.cursor() as cursor:
        cursor.execute(_FIXED, values)
        rows = cursor.fetchall()
    return [
        FixedItem(
            Missing(item, key, is_swapped, 1, text_of(json.loads(shown))),
            _coded(questions, outcome, json.loads(answers) if answers else None),
        )
        for item, key, is_swapped, shown, outcome, answers in rows
    ]


def alarms(runs: QuerySet[JudgeRun]) -> QuerySet[DriftCheck]:
    """Newest checks that compared the answers of these watched runs, as far as they ended in an alarm."""
    compared = (Verdict.REPEATED, Verdict.SAME, Verdict.DEPARTED)
    newest = DriftCheck.objects.filter(run=OuterRef("run"), verdict__in=compared).order_by("-pk")
    found = DriftCheck.objects.filter(
        run__in=runs, run__is_watched=True, verdict=Verdict.DEPARTED, pk=Subquery(newest.values("pk")[:1])
    )
    return found.select_related("run__judge__bot", "run__study").order_by("run")
