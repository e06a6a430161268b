"""The plan of a study: what it declares before it opens, frozen at the first opening."""

import hashlib
import json
from collections.abc import Sequence
from datetime import datetime
from importlib.metadata import version
from typing import Any

from django.utils import timezone

from evaluation.report.publishing.preregistration import FORMAT, hash_of
from turnwise.bots.models import BotVersion
from turnwise.questions.question_sets import question_set
from turnwise.studies.models import Ask, Preregistration, Study
from turnwise.studies.plans.stopping import stopping_rule_of


def plan_of(study: Study, protocol: Sequence[str], at: datetime | None = None) -> dict[str, Any]:
    """Describe the plan of a study as JSON, without its link, which would admit workers.

    Args:
        study: the study.
        protocol: names of the fields of its protocol.
        at: time at which the plan is fixed; None for a draft.
    """
    consent = study.consent_versions.last()
    plan = {
        "format": FORMAT,
        "version": 1,
        "turnwise": version("turnwise"),
        "frozen_at": at.isoformat(timespec="seconds") if at else None,
        "title": study.title,
        "task": study.task,
        "protocol": {name: getattr(study, name) for name in protocol if name != "task"},
        "asks": [_ask(each) for each in study.every_ask],
        "main_score": _main_score(study),
        "bots": _bots(study),
        "stopping_rule": _rule(study),
        "languages": study.languages,
        "instructions": study.instructions,
        "debriefing": study.debriefing,
        "consent": consent.text if consent else "",
        "pay": f"{study.pay_amount} {study.pay_currency}",
        "expected_minutes": study.expected_minutes,
    }
    # A round trip, so that a stored plan equals one that is described again.
    found: dict[str, Any] = json.loads(json.dumps(plan, default=str))
    return found


def freeze_plan(study: Study, protocol: Sequence[str]) -> None:
    """Store the plan of a draft that opens. Rehearsals have no plan.

    Nor has a closed study that opens again without one: a plan that is fixed after data is none.
    """
    if study.rehearsal_of_id or study.state != Study.State.DRAFT:
        return
    if Preregistration.objects.filter(study=study).exists():
        return
    now = timezone.now()
    plan = plan_of(study, protocol, now)
    Preregistration.objects.create(study=study, frozen_at=now, plan=plan, sha256=hash_of(plan))


def _ask(ask: Ask) -> dict[str, Any]:
    declared = json.dumps(question_set(ask.question_set).to_json(), ensure_ascii=False, sort_keys=True)
    return {
        "question_set": ask.question_set,
        "title": ask.title,
        "about": ask.about,
        "by": ask.by,
        "moment": ask.moment or None,
        "required": ask.required,
        "sha256": hashlib.sha256(declared.encode()).hexdigest(),
    }


def _main_score(study: Study) -> str | None:
    main = question_set(study.question_set).main_score if study.work_asks else None
    return main.title if main else None


def _bots(study: Study) -> list[dict[str, Any]]:
    rows = study.study_bots.filter(target__gt=0).select_related("bot").order_by("bot__name")
    versions = BotVersion.objects.filter(bot__study_bots__study=study).order_by("first_seen_at", "number")
    newest = dict(versions.values_list("bot_id", "fingerprint"))
    return [
        {
            "bot": row.bot.name,
            "title": row.bot.title,
            "adapter": row.bot.adapter,
            "fingerprint": newest.get(row.bot_id),
            "target": row.target,
        }
        for row in rows
    ]


def _rule(study: Study) -> dict[str, Any] | None:
    rule = stopping_rule_of(study)
    if rule is None:
        return None
    names = ("score", "difference", "equivalence", "planned", "largest", "first_look")
    compared = study.study_bots.filter(bot__in=rule.compared or rule.pair).order_by("bot__name")
    return {name: getattr(rule, name) for name in names} | {
        "compared": list(compared.values_list("bot__name", flat=True)) or "all bots of the study"
    }
