"""Count visits to a study's first page by what it showed, without any data about the visitors.

The page reports itself once it is visible. A mere request is not counted: messengers, browsers and panels
fetch links without a person looking.
"""

from django.core.signing import BadSignature, Signer
from django.db import transaction
from django.db.models import F

from turnwise.crowd.models import VisitCount
from turnwise.crowd.running import pausing
from turnwise.studies.models import Study

ADMITTED = "admitted"
"""Key of visits that saw the consent text; refused visits are counted by the refusal's reason."""

_SALT = "crowd.visits"


def visit_ticket(study: Study, saw: str) -> str:
    """Signed token that the page sends once it is visible."""
    return Signer(salt=_SALT).sign(f"{study.pk}:{saw}")


@transaction.atomic
def count_visit(study: Study, token: str) -> bool:
    """Count one visit.

    Args:
        study: the study whose first page was seen.
        token: the page's token, from `visit_ticket`.

    Returns:
        False if the token is forged or belongs to another study.
    """
    try:
        pk, saw = Signer(salt=_SALT).unsign(token).split(":", 1)
    except (BadSignature, ValueError):
        return False
    if pk != str(study.pk):
        return False
    VisitCount.objects.get_or_create(study=study, saw=saw)
    VisitCount.objects.filter(study=study, saw=saw).update(visits=F("visits") + 1)
    if saw == "paused":
        pausing.count_turned_away(study)
    return True


def visit_counts(study: Study) -> dict[str, int]:
    """Number of visits by what the page showed."""
    return dict(VisitCount.objects.filter(study=study, visits__gt=0).values_list("saw", "visits"))
