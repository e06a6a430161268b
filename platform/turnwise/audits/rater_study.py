"""Judging studies of an audit's replies: two raters per reply, and a third if they differ."""

from collections.abc import Sequence

from django.core.exceptions import ValidationError
from django.db import transaction
from django.utils import timezone
from django.utils.translation import gettext

from chatbots.identity import audit as asking
from chatbots.identity.labels import Label
from evaluation.texts.lengths import MAX_REPLY_CHARS, MAX_TURN_CHARS
from turnwise.accounts.models import User
from turnwise.audits import services
from turnwise.audits.models import Audit, AuditedReply
from turnwise.audits.verdicts import context_key
from turnwise.bots.models import Bot
from turnwise.contexts.files import ContextRow
from turnwise.contexts.models import ContextSet, ContextSetVersion
from turnwise.contexts.services import import_version
from turnwise.judging.items.subjects import add_responses
from turnwise.judging.queue.services import plan_of
from turnwise.responses.models import Response, ResponseRun, Source
from turnwise.studies.models import Study
from turnwise.studies.presets import preset_named
from turnwise.studies.services import save_study

LANGUAGE = "en"
NOT_SHARED = "Not for sharing: what a chatbot said here"


@transaction.atomic
def create_rater_study(audit_id: int, *, by: User, first_only: bool) -> Study:
    """Create a draft study in which raters judge the audit's replies to positive questions.

    Args:
        audit_id: a complete audit.
        by: whose study it becomes.
        first_only: only replies to first turns, as in the publication; else those to later turns, too.

    Raises:
        ValidationError: the audit is not complete, nothing of it can be judged, or people judge it already.
    """
    audit = Audit.objects.select_for_update().get(pk=audit_id)
    if audit.study_id is not None:
        raise ValidationError(gettext("People judge these replies already, in the study that is named here."))
    if audit.state != Audit.State.DONE:
        raise ValidationError(gettext("The audit is not complete. People can judge its replies once it is."))
    replies = audit.replies.filter(label=Label.POSITIVE, error="").order_by("pk")
    if first_only:
        replies = replies.filter(turn=1)
    if not replies:
        raise ValidationError(
            gettext("The bot replied to no question that asks what it is: nothing can be judged.")
        )
    audit.run = _run(audit, list(replies), by)
    audit.study = _study(audit.bot, by)
    add_responses(audit.study, audit.run)
    audit.save(update_fields=["run", "study"])
    return audit.study


def _study(bot: Bot, owner: User) -> Study:
    preset = preset_named("r-u-a-robot-audit")
    assert preset
    study = preset.study()
    study.title = f"Does {bot.title} say that it is a machine?"[:120]
    study.languages = [LANGUAGE]
    saved = save_study(study, owner=owner, consent_text="", targets={}, asks=preset.asks)
    plan_of(saved)
    return saved


def _run(audit: Audit, replies: Sequence[AuditedReply], owner: User) -> ResponseRun:
    """Create a response run with the replies, over contexts of its own."""
    version = _contexts(audit, replies, owner)
    now = timezone.now()
    run = ResponseRun.objects.create(
        context_version=version,
        source=Source.BOT,
        system=audit.bot.title,
        owner=owner,
        state=ResponseRun.State.DONE,
        active_at=now,
        finished_at=now,
        bot=audit.bot,
        bot_version=audit.version,
        seed=audit.seed,
    )
    contexts = dict(version.contexts.values_list("key", "pk"))
    Response.objects.bulk_create(
        Response(
            run=run,
            context_id=contexts[context_key(each.question, each.turn)],
            text=each.text[:MAX_REPLY_CHARS],
            created_at=now,
            bot_version=audit.version,
        )
        for each in replies
    )
    return run


def _contexts(audit: Audit, replies: Sequence[AuditedReply], owner: User) -> ContextSetVersion:
    name = f"audit-{audit.pk}"
    context_set, _ = ContextSet.objects.get_or_create(
        owner=owner,
        name=name,
        defaults={
            "title": f"Audit of {audit.bot.title}"[:120],
            "licence": NOT_SHARED,
            "description": "What the bot was asked, and what was said before.",
        },
    )
    talks = services.talks_of(audit)
    probes = {(probe.question.id, probe.turn): probe for probe in asking.probes(services.audit_questions())}
    rows = []
    for line, each in enumerate(replies, start=1):
        probe = probes[each.question, each.turn]
        before = asking.context_of(probe, () if probe.talk is None else talks[probe.talk])
        turns = tuple(turn.text[:MAX_TURN_CHARS] for turn in before.turns)
        category = f"turn {each.turn}"
        rows.append(
            ContextRow(line, context_key(each.question, each.turn), turns, category, LANGUAGE, False, "")
        )
    existing = context_set.versions.first()
    if existing and existing.size == len(rows):  # judged before, in a study that is gone
        return existing
    return import_version(context_set, rows, origin=name)
