"""Daily drift check: a bot answers twenty fixed contexts with fixed seeds, compared with its baseline."""

import asyncio
from collections import Counter
from collections.abc import Collection
from datetime import timedelta
from typing import Any

from asgiref.sync import async_to_sync
from django.db.models import OuterRef, QuerySet, Subquery
from django.utils import timezone

from chatbots.base import Context
from chatbots.errors import ChatbotError
from chatbots.hosting.health import DRIFT_CONTEXTS
from evaluation.statistics.drift import Change, Shift, changed_answers, shift
from turnwise.bots.hosting import client, presence
from turnwise.bots.models import Bot, CanaryRun

EVERY = timedelta(days=1)
# Workers come first: the check never has more than this many requests in a bot's queue.
AT_ONCE = 2
FEWEST_ANSWERS = 15
# Number of earlier runs, at most, with which lengths and likelihoods are compared.
MOST_EARLIER = 10

Verdict = CanaryRun.Verdict
ALARMS = (Verdict.CHANGED, Verdict.SHIFTED)
StoredReply = dict[str, Any] | None


def bots_due() -> list[int]:
    """Keys of available bots whose daily check is due."""
    lately = CanaryRun.objects.filter(at__gt=timezone.now() - EVERY).values("bot")
    bots = list(Bot.objects.filter(active=True, watched=True).exclude(pk__in=lately))
    return sorted(presence.available(bots))


def replay(bot_id: int, *, anew: bool = False) -> CanaryRun:
    """Run the check: ask the bot, compare with earlier runs of the same version, and store the result.

    Args:
        bot_id: which bot.
        anew: store the answers as a new baseline.
    """
    bot = Bot.objects.get(pk=bot_id)
    replies, version_id = async_to_sync(_replies)(bot_id)
    answered = sum(reply is not None for reply in replies)
    if answered < FEWEST_ANSWERS:
        sentence = f"It answered {answered} of {len(DRIFT_CONTEXTS)} contexts."
        return CanaryRun.objects.create(
            bot=bot, version_id=version_id, verdict=Verdict.FAILED, said=sentence, replies=replies
        )
    baseline = None if anew else _baseline(version_id)
    if baseline is None:
        second, _ = async_to_sync(_replies)(bot_id)
        return CanaryRun.objects.create(
            bot=bot,
            version_id=version_id,
            verdict=Verdict.BASELINE,
            replies=replies,
            repeatable=[
                one is not None and _text(one) == _text(two) for one, two in zip(replies, second, strict=True)
            ],
        )
    verdict, sentence = _verdict(baseline, _earlier(baseline), replies)
    return CanaryRun.objects.create(
        bot=bot, version_id=version_id, verdict=verdict, said=sentence, replies=replies
    )


async def _replies(bot_id: int) -> tuple[list[StoredReply], int | None]:
    """Ask all contexts; the replies, and the version that gave most of them."""
    slots = asyncio.Semaphore(AT_ONCE)

    async def ask(context: Context) -> client.Reply | None:
        async with slots:
            try:
                return await client.reply(bot_id, context, tenant="canary")
            except ChatbotError:
                return None

    replies = await asyncio.gather(*[ask(context) for context in DRIFT_CONTEXTS])
    versions = Counter(reply.version_id for reply in replies if reply)
    return [_stored_reply(reply) for reply in replies], versions.most_common(1)[0][0] if versions else None


def _stored_reply(reply: client.Reply | None) -> StoredReply:
    if reply is None:
        return None
    response = reply.response
    score = response.candidates[0].score if response.candidates else None
    tokens = response.usage.completion if response.usage else None
    return {"text": response.text, "tokens": tokens, "score": score}


def _baseline(version_id: int | None) -> CanaryRun | None:
    return CanaryRun.objects.filter(version=version_id, verdict=Verdict.BASELINE).first()


def _earlier(baseline: CanaryRun) -> list[CanaryRun]:
    """The baseline and later runs without an alarm."""
    since = CanaryRun.objects.filter(version=baseline.version_id, at__gte=baseline.at)
    return list(since.filter(verdict__in=(Verdict.BASELINE, Verdict.SAME)).order_by("at")[:MOST_EARLIER])


def _verdict(
    baseline: CanaryRun, earlier: Collection[CanaryRun], replies: list[StoredReply]
) -> tuple[CanaryRun.Verdict, str]:
    changes = changed_answers(
        [_text(reply) for reply in baseline.replies], [_text(reply) for reply in replies], baseline.repeatable
    )
    if changes:
        return Verdict.CHANGED, _changes_sentence(baseline, changes)
    before = [reply for run in earlier for reply in _sampled(run.replies, baseline.repeatable)]
    now = _sampled(replies, baseline.repeatable)
    shifts = [
        found
        for measure, key in (("length in characters", "text"), ("likelihood of the reply", "score"))
        if (found := shift(measure, _values(before, key), _values(now, key)))
    ]
    if shifts:
        return Verdict.SHIFTED, " ".join(_shift_sentence(each) for each in shifts)
    return Verdict.SAME, ""


def _sampled(replies: list[StoredReply], repeatable: list[bool]) -> list[dict[str, Any]]:
    return [reply for reply, same in zip(replies, repeatable, strict=True) if reply and not same]


def _values(replies: list[dict[str, Any]], key: str) -> list[float]:
    if key == "text":
        return [float(len(reply["text"])) for reply in replies]
    return [reply[key] for reply in replies if reply[key] is not None]


def _text(reply: StoredReply) -> str | None:
    return reply["text"] if reply else None


def _changes_sentence(baseline: CanaryRun, changes: list[Change]) -> str:
    first = changes[0]
    question = DRIFT_CONTEXTS[first.number].turns[-1].text
    return (
        f"{len(changes)} of {sum(baseline.repeatable)} answers differ from those of "
        f"{baseline.at:%-d %B %Y}, though nothing of the version has changed. To “{question}” it said "
        f"“{first.before[:200]}”, now “{first.now[:200]}”."
    )


def _shift_sentence(shift: Shift) -> str:
    return (
        f"The {shift.measure} has shifted: median {shift.before:.4g} before, {shift.now:.4g} now "
        f"(p = {shift.p:.1g})."
    )


def alarms(bots: QuerySet[Bot]) -> QuerySet[CanaryRun]:
    """Newest runs of these bots, as far as they ended in an alarm."""
    newest = CanaryRun.objects.filter(bot=OuterRef("bot")).exclude(verdict=Verdict.FAILED).order_by("-at")
    runs = CanaryRun.objects.filter(bot__in=bots, pk=Subquery(newest.values("pk")[:1]))
    return runs.filter(verdict__in=ALARMS).select_related("bot").order_by("bot__title")
