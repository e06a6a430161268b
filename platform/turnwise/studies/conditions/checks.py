"""Check that the factors of a study name only bots and scenarios that it has."""

from django.core.exceptions import ValidationError

from turnwise.studies.conditions.factors import names_unknown, why_empty
from turnwise.studies.models import Study


def why_factors_unfit(study: Study) -> list[str]:
    """Sentences about names that the study does not have, and conditions that leave no bot or scenario."""
    if not study.factors:
        return []
    bots = set(study.study_bots.values_list("bot__name", flat=True))
    scenarios = {row["name"] for row in study.scenarios}
    unknown = names_unknown(study.factors, "bots", bots) + names_unknown(
        study.factors, "scenarios", scenarios
    )
    return unknown or why_empty(study.factors)


def refuse_unfit_factors(study: Study) -> None:
    """Refuse factors that do not fit the study; a study without bots may get them later.

    Raises:
        ValidationError: says which names are unknown, or which conditions leave nothing.
    """
    if not study.factors or not study.study_bots.exists():
        return
    if unfit := why_factors_unfit(study):
        raise ValidationError({"factors": unfit})
