"""What a bundle says of its study: protocol, bots and versions, without what is nobody's business."""

import re
from collections.abc import Mapping
from typing import Any
from urllib.parse import urlsplit, urlunsplit

from chatbots.errors import ChatbotError
from turnwise.bots import members
from turnwise.bots.models import Bot
from turnwise.bots.queries import visible_bots
from turnwise.judging.batteries import as_json, battery_of
from turnwise.judging.models import JudgingPlan
from turnwise.judging.queued import QueuedTask
from turnwise.reports.names import bot_names
from turnwise.reports.reported import ReportedTask, with_report
from turnwise.studies.models import Ask, Study
from turnwise.studies.services import PROTOCOL_FIELDS
from turnwise.studies.tasks import task_of

MASK = "**********"
_OF_PLAN = (
    "raters_per_item", "third_rater", "batch_size", "lease_seconds", "shows_reading", "training_tries",
)  # fmt: skip
_SECRET = re.compile(r"key|token|secret|password|passwd|credential|authorization|cookie", re.IGNORECASE)


def described(study: Study) -> dict[str, Any]:
    """The study as JSON. Who owns it, and its link, which lets people in, are left out."""
    names, task = bot_names(study), with_report(study)
    bots = study.study_bots.select_related("bot").prefetch_related("bot__versions").order_by("bot__name")
    return {
        "title": study.title,
        "rehearsal": study.rehearsal_of_id is not None,
        "state": study.state,
        "created_at": study.created_at.isoformat(),
        "results_version": study.results_version,
        "asks": [_described_ask(ask) for ask in study.asked],
        "questionnaires": [_described_ask(ask) for ask in study.questionnaires],
        "protocol": {name: getattr(study, name) for name in PROTOCOL_FIELDS},
        "evaluation": task.evaluation if isinstance(task, ReportedTask) else task.key,
        "judging": _plan(study),
        "languages": study.languages,
        "instructions": study.instructions,
        "debriefing": study.debriefing,
        "pay": {"amount": str(study.pay_amount), "currency": study.pay_currency},
        "expected_minutes": study.expected_minutes,
        "withdrawal_days": study.withdrawal_days,
        "retention_days": study.retention_days,
        "consent": list(study.consent_versions.values_list("number", flat=True)),
        "bots": [
            described_bot(each.bot, names[each.bot_id], each.target, is_theirs=is_theirs(study, each.bot))
            | {"facets": each.facets}
            for each in bots
        ],
        **task.described(study),
    }


def _described_ask(ask: Ask) -> dict[str, Any]:
    return {
        "number": ask.number,
        "question_set": ask.question_set,
        "about": ask.about,
        "by": ask.by,
        "moment": ask.moment or None,
        "required": ask.required,
    }


def _plan(study: Study) -> dict[str, Any] | None:
    """How many judge each item, of a study whose workers judge."""
    if not isinstance(task_of(study), QueuedTask):
        return None
    plan = JudgingPlan.objects.filter(study=study).first() or JudgingPlan()
    battery = battery_of(study)
    return {
        **{name: getattr(plan, name) for name in _OF_PLAN},
        "battery": as_json(battery) if battery else None,
    }


def is_theirs(study: Study, bot: Bot) -> bool:
    """Whether who has the study may see how the bot is set up."""
    return study.owner is None or visible_bots(study.owner).filter(pk=bot.pk).exists()


def described_bot(bot: Bot, shown_as: str, target: int, *, is_theirs: bool) -> dict[str, Any]:
    """A bot of a study as JSON, with its versions and how many conversations it is to have."""
    return {
        "bot": bot.name,
        "title": bot.title,
        "shown_as": shown_as,
        "target": target,
        "adapter": bot.adapter,
        "configuration": _configuration(bot) if is_theirs else MASK,
        "versions": [
            {
                "fingerprint": version.fingerprint,
                "first_seen_at": version.first_seen_at.isoformat(),
                "details": masked(version.details) if is_theirs else MASK,
            }
            for version in bot.versions.all()
        ],
    }


def _configuration(bot: Bot) -> object:
    """As the adapter declares it, which knows its secrets; all of it masked if the adapter is not here."""
    try:
        declared = members.configuration_of(bot.adapter, bot.configuration).model_dump(mode="json")
    except ChatbotError:
        return dict.fromkeys(bot.configuration, MASK)
    return masked(declared)


def masked(value: object) -> object:
    """The same JSON without values that are secret by their name, and without passwords in addresses."""
    if isinstance(value, Mapping):
        return {
            key: MASK if _SECRET.search(str(key)) and isinstance(each, str) and each else masked(each)
            for key, each in value.items()
        }
    if isinstance(value, list | tuple):
        return [masked(each) for each in value]
    return _without_password(value) if isinstance(value, str) and "@" in value else value


def _without_password(text: str) -> str:
    try:
        address = urlsplit(text)
    except ValueError:
        return text
    if not address.scheme or "@" not in address.netloc:
        return text
    return urlunsplit(address._replace(netloc=f"{MASK}@{address.netloc.rpartition('@')[2]}"))
