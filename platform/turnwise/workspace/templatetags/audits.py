"""Template tags with audit results, for pages of lower apps."""

from django import template

from turnwise.audits import queries
from turnwise.audits.identity_leaks import BlindnessCheck, blindness
from turnwise.audits.queries import Result
from turnwise.bots.models import Bot
from turnwise.studies.models import Study

register = template.Library()


@register.simple_tag
def newest_audit(bot: Bot) -> Result | None:
    """The result of the bot's newest complete audit."""
    return next(iter(queries.newest_of(Bot.objects.filter(pk=bot.pk))), None)


@register.simple_tag
def blindness_of(study: Study) -> BlindnessCheck | None:
    """Identity leaks of a study."""
    return blindness(study)


@register.filter
def result_of(results: dict[int, Result], pk: int) -> Result | None:
    """The result of an audit, by its key."""
    return results.get(pk)
