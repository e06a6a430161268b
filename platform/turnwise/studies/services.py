from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any

from django.core.exceptions import ValidationError
from django.db import transaction
from django.db.models import F
from django.utils import timezone
from django.utils.translation import gettext, gettext_lazy

from turnwise.accounts.models import User
from turnwise.bots.models import OPERATED, OUTSIDE, Bot
from turnwise.bots.queries import visible_bots
from turnwise.studies.ask_rules import in_order, refuse_unfit, store_asks
from turnwise.studies.asks import AskSpec
from turnwise.studies.conditions.factors import refuse_unfit_factors
from turnwise.studies.models import (
    LONGEST_TAG,
    MOST_TAGS,
    ConsentVersion,
    Preregistration,
    ReEntry,
    ReplyDisplay,
    StoppingRule,
    Study,
    StudyBot,
)
from turnwise.studies.plans.preregistration import freeze_plan
from turnwise.studies.plans.stopping import copy_rule, freeze_rule, needs_closing, refuse_new_bots
from turnwise.studies.presets import presets_of
from turnwise.studies.tasks import Plan, task_of

# Fields that decide how a conversation runs and is judged. They are fixed once the study has been opened, so
# that its conversations are comparable.
PROTOCOL_FIELDS = (
    "task", "protocol", "opening_speaker", "opening_text", "min_turns", "max_turns", "blind", "practice",
    "markdown", "primary_analysis", "exclusion_rules", "margin", "pilot_size", "material", "bots_read",
    "re_entry", "re_entry_most", "reply_display", "reply_pace", "may_stop_replies",
    "max_reply_versions", "max_reply_chars", "max_message_chars", "stores_reasoning",
    "scenario", "persona", "takes_pictures", "scenarios", "factors",
)  # fmt: skip
# The ledger holds promises in that currency. The asks are fixed, too: `Study.asks`.
FIXED_FIELDS = (*PROTOCOL_FIELDS, "knowledge", "pay_currency")
OPENED = "The study has been opened, so its protocol is fixed. Make a new study to change it."

_PROMISED_LONGER = "People have agreed with %s days to withdraw. It can be more, not fewer."
_PROMISED_SOONER = "People have agreed to be erased after %s days. It can be fewer, not more."

_NOT_AGAIN = gettext_lazy(
    "People take part more than once only where they talk with chatbots. Choose “Once”."
)

_OPERATED_AT_ONCE = gettext_lazy(
    "A person answers in place of %(bot)s, and replies of people never grow on the page: that would tell "
    "them from chatbots. Choose “At once, when it is complete”, or leave this bot out."
)

_OPERATED_ONCE = gettext_lazy(
    "A person answers in place of %(bot)s and writes each reply once: that would tell them from chatbots. "
    "Choose 1, or leave this bot out."
)

# These may change while a form is open; saving it must not reset them.
_MOVES_ON = {
    "id", "code", "owner", "state", "created_at", "archived_at", "previewed_at", "tags",
    "results_version", "pilot_over_at",
}  # fmt: skip
_EDITED_FIELDS = [field.name for field in Study._meta.concrete_fields if field.name not in _MOVES_ON]


@transaction.atomic
def save_study(
    study: Study,
    *,
    owner: User,
    consent_text: str,
    targets: Mapping[Bot, int],
    plan: Plan | None = None,
    asks: Sequence[AskSpec] | None = None,
) -> Study:
    """Store a new or edited study with its bots; a changed consent text becomes a new version.

    Args:
        study: the study, saved before or not.
        owner: owner of a new study.
        consent_text: what workers agree to; empty where none take part.
        targets: conversations wanted of each bot.
        plan: row of the task's own table, if it has one.
        asks: its asks, with the report's first; None: unchanged, or the task's default.

    Raises:
        ValidationError: a value the study cannot have, or a protocol changed after the study was opened.
    """
    if study.re_entry != ReEntry.ONCE and not task_of(study).can_recur:
        raise ValidationError(_NOT_AGAIN)
    if study.pk:
        _refuse_changed_protocol(study)
        study.full_clean()
        study.save(update_fields=_EDITED_FIELDS)
    else:
        study.owner = owner
        study.full_clean()
        study.save()
    _refuse_unfit_protocol(study)
    latest = study.consent_versions.last()
    if consent_text != (latest.text if latest else ""):
        ConsentVersion.objects.create(
            study=study, number=latest.number + 1 if latest else 1, text=consent_text
        )
    _set_targets(study, targets)
    refuse_unfit_factors(study)
    _set_asks(study, asks)
    if plan:
        _save_plan(study, plan)
    results_changed(study.pk)
    return study


def _refuse_unfit_protocol(study: Study) -> None:
    able = presets_of(task_of(study))
    if study.protocol not in {each.protocol for each in able}:
        known = ", ".join(f"“{each.title}”" for each in able)
        refused = gettext("A study of this task cannot be made by “%(protocol)s”. Choose one of: %(known)s.")
        raise ValidationError({"protocol": refused % {"protocol": study.protocol, "known": known}})


def _refuse_changed_protocol(study: Study) -> None:
    stored = Study.objects.select_for_update().get(pk=study.pk)
    if stored.state == Study.State.DRAFT:
        return
    if study.withdrawal_days < stored.withdrawal_days:
        raise ValidationError({"withdrawal_days": _PROMISED_LONGER % stored.withdrawal_days})
    if study.retention_days > stored.retention_days:
        raise ValidationError({"retention_days": _PROMISED_SOONER % stored.retention_days})
    changed = [name for name in FIXED_FIELDS if getattr(stored, name) != getattr(study, name)]
    if changed:
        raise ValidationError(dict.fromkeys(changed, OPENED))


@transaction.atomic
def ask(study_id: int, asks: Sequence[AskSpec]) -> Study:
    """Replace the asks of a draft; the report begins with the first.

    Raises:
        ValidationError: such a study cannot ask it, or the study has been opened; nothing was changed.
    """
    study = Study.objects.select_for_update().get(pk=study_id)
    _set_asks(study, asks)
    results_changed(study.pk)
    return study


@transaction.atomic
def set_bots(study_id: int, targets: Mapping[Bot, int]) -> Study:
    """Set the bots of a study with their targets; other bots get no further workers.

    Raises:
        ValidationError: in such a study nobody talks with bots; nothing was changed.
    """
    study = Study.objects.select_for_update().get(pk=study_id)
    if targets and not task_of(study).takes_bots(study):
        raise ValidationError(gettext("In this study nobody talks with bots, so it cannot have any."))
    _set_targets(study, targets)
    refuse_unfit_factors(study)
    results_changed(study.pk)
    return study


def _set_asks(study: Study, asks: Sequence[AskSpec] | None) -> None:
    """Store the asks; they are fixed once the study has been opened."""
    rows = list(study.asks.all())
    stored = [ask.declared for ask in rows]
    wanted = in_order(asks if asks is not None else stored or task_of(study).asks)
    if wanted == stored:
        return
    if study.state != Study.State.DRAFT:
        raise ValidationError(OPENED)
    refuse_unfit(task_of(study), wanted)
    store_asks(study, rows, wanted)
    study.__dict__.pop("every_ask", None)
    task_of(study).asks_changed(study)


def _save_plan(study: Study, plan: Plan) -> None:
    """Store the plan; it is fixed once the study has been opened."""
    if study.state != Study.State.DRAFT:
        return
    plan.study = study
    plan.full_clean()
    plan.save()


def _set_targets(study: Study, targets: Mapping[Bot, int]) -> None:
    """Store the targets. A bot that is left out keeps its conversations but gets no further workers."""
    refuse_new_bots(study, targets)
    left_out = study.study_bots.exclude(bot__in=targets).exclude(bot__adapter=OUTSIDE)
    if study.state == Study.State.DRAFT:
        left_out.delete()
    else:
        left_out.update(target=0)
    for bot, target in targets.items():
        StudyBot.objects.update_or_create(study=study, bot=bot, defaults={"target": target})
    _refuse_what_operators_cannot_do(study)


def _refuse_what_operators_cannot_do(study: Study) -> None:
    """Refuse replies that grow or have versions where an operator answers in place of a bot."""
    unfit = {}
    if study.reply_display != ReplyDisplay.WHEN_DONE:
        unfit["reply_display"] = _OPERATED_AT_ONCE
    if study.max_reply_versions > 1:
        unfit["max_reply_versions"] = _OPERATED_ONCE
    if not unfit:
        return
    operated = study.study_bots.filter(bot__adapter=OPERATED, target__gt=0).select_related("bot").first()
    if operated:
        title = operated.bot.title
        raise ValidationError({name: sentence % {"bot": title} for name, sentence in unfit.items()})


@transaction.atomic
def set_state(study_id: int, state: Study.State) -> Study:
    """Open or close a study. Conversations under way may be finished after closing.

    Raises:
        ValidationError: opening a study that no worker could enter.
    """
    study = Study.objects.select_for_update().get(pk=study_id)
    if state == Study.State.DRAFT:
        raise ValidationError(
            gettext("A study that was opened stays open or closed; it cannot become a draft again.")
        )
    if Study.State.PAUSED in (state, study.state):
        raise ValidationError(
            gettext("“%(title)s” is paused or resumed on its page Monitor. Resume a paused study first.")
            % {"title": study.title}
        )
    if state == Study.State.OPEN:
        _refuse_empty(study)
        freeze_rule(study)
        freeze_plan(study, PROTOCOL_FIELDS)
        study.archived_at = None
    before, study.state = study.state, state
    study.save(update_fields=["state", "archived_at"])
    if state == Study.State.OPEN:
        task_of(study).opened(study)
    is_changed = before not in (Study.State.DRAFT, state)
    if is_changed and Preregistration.objects.filter(study=study).exists():
        results_changed(study_id)  # its report lists departures from the plan, such as an early end
    return study


@transaction.atomic
def close_by_rule(study_id: int, figures: Mapping[str, Any]) -> bool:
    """Close an open study whose stopping rule ends it by these figures of a report.

    The figures stay with the rule, as the reason. A paused study stays paused: the next report after it is
    resumed closes it.

    Returns:
        True if this call closed the study.
    """
    study = Study.objects.select_for_update().get(pk=study_id)
    rule = StoppingRule.objects.filter(study=study).first()
    if rule is None or study.state != Study.State.OPEN or not needs_closing(rule, figures):
        return False
    set_state(study_id, Study.State.CLOSED)
    rule.stopped, rule.stopped_at = dict(figures), timezone.now()
    rule.save(update_fields=["stopped", "stopped_at"])
    results_changed(study_id)
    return True


# Fields that a copy does not inherit.
_OWN = {
    "id", "code", "owner", "state", "created_at", "archived_at", "previewed_at", "results_version",
    "rehearsal_of", "title", "pilot_over_at",
}  # fmt: skip


def fields_of_copy(study: Study) -> dict[str, Any]:
    """Field values that a copy of the study inherits."""
    return {f.name: getattr(study, f.name) for f in Study._meta.concrete_fields if f.name not in _OWN}


@transaction.atomic
def clone(study: Study, *, owner: User) -> Study:
    """Copy a study as a draft, without its workers and results.

    The copy has the active bots that the new owner may see.
    """
    task, consent = task_of(study), study.consent_versions.last()
    bots = study.study_bots.filter(bot__active=True, bot__in=visible_bots(owner)).exclude(
        bot__adapter=OUTSIDE
    )
    copy = save_study(
        Study(title=f"Copy of {study.title}"[:120], **fields_of_copy(study) | {"factors": []}),
        owner=owner,
        consent_text=consent.text if consent else "",
        targets={each.bot: each.target for each in bots.select_related("bot") if not each.bot.is_outside},
        plan=task.plan_of_copy(study),
        asks=[ask.declared for ask in study.every_ask],
    )
    copy.factors = study.factors  # a level may name a bot that the copy lacks: its opening checks that
    copy.save(update_fields=["factors"])
    copy_rule(study, copy, copy.study_bots.values_list("bot", flat=True))
    task.copied_into(study, copy)
    return copy


@transaction.atomic
def archive(study_id: int, *, now: datetime | None = None) -> Study:
    """Leave a study out of lists; it can be taken back at any time.

    Raises:
        ValidationError: workers can still enter it.
    """
    study = Study.objects.select_for_update().get(pk=study_id)
    if study.state in (Study.State.OPEN, Study.State.PAUSED):
        raise ValidationError(
            gettext("“%(title)s” is open or paused. Close it first, then archive it.")
            % {"title": study.title}
        )
    study.archived_at = study.archived_at or now or timezone.now()
    study.save(update_fields=["archived_at"])
    return study


def record_preview(study_id: int, *, now: datetime | None = None) -> None:
    """Record the first preview of a study's worker pages."""
    Study.objects.filter(pk=study_id, previewed_at=None).update(previewed_at=now or timezone.now())


def unarchive(study_id: int) -> None:
    """Show an archived study in lists again."""
    Study.objects.filter(pk=study_id).update(archived_at=None)


def set_tags(study: Study, tags: Iterable[str]) -> None:
    """Give a study these tags and no others: each once, in the order given, as small letters.

    Raises:
        ValidationError: too many, or one that is too long; says which.
    """
    wanted = list(dict.fromkeys(" ".join(tag.lower().split()) for tag in tags))
    study.tags = [tag for tag in wanted if tag]
    if len(study.tags) > MOST_TAGS:
        raise ValidationError(
            gettext("These are %(n)d tags; a study has up to %(most)d. Leave some out.")
            % {"n": len(study.tags), "most": MOST_TAGS}
        )
    for tag in study.tags:
        if len(tag) > LONGEST_TAG:
            raise ValidationError(
                gettext("The tag “%(tag)s” has %(n)d letters; a tag has up to %(most)d. Shorten it.")
                % {"tag": tag, "n": len(tag), "most": LONGEST_TAG}
            )
    study.save(update_fields=["tags"])


def _refuse_empty(study: Study) -> None:
    if missing := task_of(study).why_not_open(study):
        raise ValidationError(missing)


def results_changed(study_id: int) -> None:
    """Mark the study's report as out of date, in the caller's transaction.

    A counter, not a time: the row lock makes it grow in the order of the commits, so that a
    report which read version n holds every change up to n.
    """
    Study.objects.filter(pk=study_id).update(results_version=F("results_version") + 1)
