"""Facets of a study's bots: properties with levels, for analyses over all bots that share a level.

They are not part of the protocol: workers never see them, and they can be set after the data collection.
"""

from collections.abc import Mapping

from django.core.exceptions import ValidationError
from django.db import transaction
from django.utils.translation import gettext as _

from turnwise.studies.models import Study, StudyBot
from turnwise.studies.services import results_changed

MOST_FACETS = 4
LONGEST = 60


def facets_of(study: Study) -> dict[str, dict[str, str]]:
    """Facets by name of the bot."""
    return dict(study.study_bots.order_by("bot__name").values_list("bot__name", "facets"))


@transaction.atomic
def set_facets(study: Study, facets: Mapping[str, Mapping[str, str]]) -> None:
    """Set the facets of these bots; other bots keep theirs. An empty level removes the facet.

    Args:
        study: whose bots.
        facets: levels by facet, by name of the bot.

    Raises:
        ValidationError: a bot that the study does not have, too many, or too long; nothing was changed.
    """
    bots = {each.bot.name: each for each in study.study_bots.select_for_update().select_related("bot")}
    for name, levels in facets.items():
        if name not in bots:
            raise ValidationError(
                _("“%(name)s” is not a bot of this study. It has %(bots)s.")
                % {"name": name[:LONGEST], "bots": ", ".join(sorted(bots)) or _("none")}
            )
        bots[name].facets = _checked(name, levels)
    named = {facet for each in bots.values() for facet in each.facets}
    if len(named) > MOST_FACETS:
        raise ValidationError(
            _("These are %(count)s facets: %(names)s. A study may have %(most)s.")
            % {"count": len(named), "names": ", ".join(sorted(named)), "most": MOST_FACETS}
        )
    StudyBot.objects.bulk_update(bots.values(), ["facets"])
    results_changed(study.pk)


def _checked(bot: str, levels: Mapping[str, str]) -> dict[str, str]:
    checked = {facet.strip(): level.strip() for facet, level in levels.items() if level.strip()}
    for facet, level in checked.items():
        if not facet:
            raise ValidationError(
                _("A facet of “%(bot)s” has no name. Write it as name=level.") % {"bot": bot}
            )
        if wrong := next((each for each in (facet, level) if len(each) > LONGEST or "\x00" in each), None):
            raise ValidationError(
                _("“%(text)s…” is longer than %(most)s characters, or has one that no database takes.")
                % {"text": wrong.replace("\x00", "")[:LONGEST], "most": LONGEST}
            )
    return checked


def parse_facets(text: str) -> dict[str, str]:
    """Parse the facets of one bot: `architecture=VHRED, data=Reddit`.

    Raises:
        ValidationError: names what is not of this form.
    """
    found: dict[str, str] = {}
    for part in filter(None, (each.strip() for each in text.replace("\n", ",").split(","))):
        facet, equals, level = (each.strip() for each in part.partition("="))
        if not (facet and equals and level):
            raise ValidationError(
                _("“%(part)s” is not a facet. Write name=level with commas between: kind=VHRED, data=Reddit")
                % {"part": part[:LONGEST]}
            )
        if facet in found:
            raise ValidationError(
                _("“%(facet)s” appears twice. Keep one of the two.") % {"facet": facet[:LONGEST]}
            )
        found[facet] = level
    return found


def format_facets(facets: Mapping[str, str]) -> str:
    """Format facets as `parse_facets` reads them."""
    return ", ".join(f"{facet}={level}" for facet, level in sorted(facets.items()))
