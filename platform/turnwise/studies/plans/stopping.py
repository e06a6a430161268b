"""Declaring a study's stopping rule, freezing it at the opening, and closing the study by it."""

import math
from collections.abc import Collection, Mapping, Sequence
from typing import Any

from django.core.exceptions import ValidationError
from django.db import transaction
from django.utils import timezone
from django.utils.translation import gettext as _

from evaluation.planning.stopping import MOST_TIMES_PLANNED
from evaluation.questions import Score, bounds
from turnwise.bots.models import Bot
from turnwise.questions.question_sets import question_set
from turnwise.studies.models import StoppingRule, Study, StudyBot
from turnwise.studies.models.plans import FEWEST_PLANNED, MOST_PLANNED
from turnwise.studies.tasks import task_of


def stopping_rule_of(study: Study) -> StoppingRule | None:
    """The study's stopping rule; None if it has none."""
    rule: StoppingRule | None = getattr(study, "stopping_rule", None)
    return rule


def scores_of(study: Study) -> Sequence[Score]:
    """Scores of the study's first question set, which its rule can be about."""
    return question_set(study.question_set).scores if study.work_asks else ()


def bots_to_compare(study: Study) -> list[Bot]:
    """Bots of the study that get workers, by title."""
    rows = study.study_bots.filter(bot__active=True, target__gt=0).select_related("bot")
    return sorted((row.bot for row in rows), key=lambda bot: bot.title)


@transaction.atomic
def declare_rule(study: Study, rule: StoppingRule) -> StoppingRule:
    """Store the stopping rule of a draft, in place of an earlier one.

    Raises:
        ValidationError: the study has been opened, its task takes no rule, or a value is impossible; nothing
            was changed.
    """
    held = Study.objects.select_for_update().get(pk=study.pk)
    _refuse_opened(held)
    if not task_of(held).takes_stopping_rule:
        raise ValidationError(
            _("Only studies in which people talk with chatbots and judge them can have a stopping rule.")
        )
    _refuse_numbers(rule)
    _refuse_score(held, rule)
    if rule.pair and (
        len(set(rule.pair)) != 2 or not set(rule.pair) <= {b.pk for b in bots_to_compare(held)}
    ):
        raise ValidationError({"pair": _("Choose two bots of the study, or all of them.")})
    rule.study, rule.declared_at = held, timezone.now()
    StoppingRule.objects.filter(study=held).delete()
    rule.full_clean()
    rule.save(force_insert=True)
    return rule


@transaction.atomic
def remove_rule(study: Study) -> None:
    """Remove the stopping rule of a draft. Idempotent.

    Raises:
        ValidationError: the study has been opened; nothing was changed.
    """
    held = Study.objects.select_for_update().get(pk=study.pk)
    _refuse_opened(held)
    StoppingRule.objects.filter(study=held).delete()


def _refuse_opened(study: Study) -> None:
    if study.state != Study.State.DRAFT:
        raise ValidationError(
            _(
                "The study has been opened, so its stopping rule is fixed: a rule that changes after a look "
                "at the results promises nothing. Make a copy of the study to declare another one."
            )
        )


def _refuse_numbers(rule: StoppingRule) -> None:
    """Refuse numbers of conversations with which the rule's interval would be of no use."""
    if not (math.isfinite(rule.difference) and rule.difference > 0):
        raise ValidationError(
            {"difference": _("Give a number above 0: the smallest difference that would matter to you.")}
        )
    if not FEWEST_PLANNED <= rule.planned <= MOST_PLANNED:
        says = _("Give a number from %(least)d to %(most)s: so few or many conversations are no plan.")
        raise ValidationError({"planned": says % {"least": FEWEST_PLANNED, "most": f"{MOST_PLANNED:,}"}})
    most = math.floor(MOST_TIMES_PLANNED * rule.planned)
    if not rule.planned <= rule.largest <= most:
        says = _(
            "Give a number from %(planned)d to %(most)d: at least the planned one, and at most %(times)s "
            "times it. With more, the interval at the planned number would be too wide to decide anything."
        )
        values = {"planned": rule.planned, "most": most, "times": MOST_TIMES_PLANNED}
        raise ValidationError({"largest": says % values})
    if not 1 <= rule.first_look <= rule.largest:
        says = _("Give a number from 1 to the largest number, %(largest)d.")
        raise ValidationError({"first_look": says % {"largest": rule.largest}})


def _refuse_score(study: Study, rule: StoppingRule) -> None:
    """Refuse a score that the study does not measure, and a difference that it cannot show."""
    scores = {each.key: each for each in scores_of(study)}
    if rule.score not in scores:
        says = _("“%(score)s” is no score of the study's first question set. Choose one of: %(known)s.")
        raise ValidationError({"score": says % {"score": rule.score, "known": ", ".join(scores)}})
    score = scores[rule.score]
    low, high = bounds(question_set(study.question_set), score)
    width = score.factor * (high - low)
    if rule.difference >= width:
        says = _("The scale of %(score)s is %(width)s points wide, so a smaller difference must matter.")
        raise ValidationError({"difference": says % {"score": score.title, "width": f"{width:g}"}})
    if rule.equivalence and study.margin and study.margin != rule.difference and score == _main(study):
        says = _(
            "The study's margin of equivalence is %(margin)s points. Give the same number here, or change "
            "the margin on the study's form: two margins would give two answers."
        )
        raise ValidationError({"difference": says % {"margin": f"{study.margin:g}"}})


def _main(study: Study) -> Score | None:
    return question_set(study.question_set).main_score


def why_rule_unfit(study: Study) -> str:
    """Reason why the study cannot open with its stopping rule; empty if it can, or has none."""
    rule = stopping_rule_of(study)
    if rule is None:
        return ""
    try:
        _refuse_score(study, rule)
    except ValidationError as error:
        return " ".join(error.messages)
    bots = bots_to_compare(study)
    if rule.pair:
        bots = [bot for bot in bots if bot.pk in rule.pair]
    if len(bots) < 2:
        return _(
            "The stopping rule compares bots, and the study has not two of them with conversations to come. "
            "Choose the bots of the rule, or remove it."
        )
    targets = dict(StudyBot.objects.filter(study=study).values_list("bot", "target"))
    short = [bot.title for bot in bots if targets[bot.pk] < rule.largest]
    if short:
        return _(
            "By the stopping rule up to %(n)d conversations with each bot may be needed, and fewer are "
            "planned with %(bots)s. Raise these numbers on the study's form."
        ) % {"n": rule.largest, "bots": ", ".join(short)}
    return ""


def freeze_rule(study: Study) -> None:
    """Freeze the rule at the study's first opening; note a later one after the rule had closed the study.

    Raises:
        ValidationError: the study cannot open with its rule.
    """
    rule = StoppingRule.objects.filter(study=study).first()
    if rule is None:
        return
    if rule.is_frozen:
        if rule.stopped_at and not rule.reopened_at:
            StoppingRule.objects.filter(pk=rule.pk).update(reopened_at=timezone.now())
        return
    if why := why_rule_unfit(study):
        raise ValidationError(why)
    rule.compared = rule.pair or [bot.pk for bot in bots_to_compare(study)]
    rule.frozen_at = timezone.now()
    rule.save(update_fields=["compared", "frozen_at"])


def refuse_new_bots(study: Study, bots: Collection[Bot]) -> None:
    """Refuse to add bots to an opened study whose rule compares all of its bots.

    Raises:
        ValidationError: names the bots.
    """
    rule = stopping_rule_of(study)
    if rule is None or not rule.is_frozen or rule.pair:
        return
    if new := ", ".join(sorted(bot.title for bot in bots if bot.pk not in rule.compared)):
        raise ValidationError(
            _(
                "The study's stopping rule compares all of its bots and is fixed since it opened, so no "
                "bot can be added: %(bots)s. Make a copy of the study with this bot."
            )
            % {"bots": new}
        )


def copy_rule(study: Study, copy: Study, bots: Collection[int]) -> None:
    """Copy a study's rule into its copy, which has these bots; a pair that the copy lacks is all bots."""
    rule = stopping_rule_of(study)
    if rule is None:
        return
    StoppingRule.objects.create(
        study=copy,
        pair=rule.pair if set(rule.pair) <= set(bots) else [],
        declared_at=timezone.now(),
        **{
            name: getattr(rule, name)
            for name in ("score", "difference", "equivalence", "planned", "largest", "first_look")
        },
    )


def needs_closing(rule: StoppingRule, figures: Mapping[str, Any]) -> bool:
    """True if these figures of a report end the study, and the rule has not ended it before."""
    return rule.stopped_at is None and bool(figures["decided"] or figures["exhausted"])
