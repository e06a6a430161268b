"""How many opened a study's link, and what they saw there: numbers alone, nothing of who they were.

The page itself says that it was opened, once somebody has it in sight. Opening the link by itself counts
nothing: messengers fetch it for a preview, browsers ahead of a click, panels to see whether it works.
"""

from django.core.signing import BadSignature, Signer
from django.db import transaction
from django.db.models import F

from turnwise.crowd.models import VisitCount
from turnwise.crowd.running import pausing
from turnwise.studies.models import Study

ADMITTED = "admitted"
"""They were shown the consent text; others saw why they cannot take part, by the name of that refusal."""

_SALT = "crowd.visits"


def visit_ticket(study: Study, saw: str) -> str:
    """What the page sends once it is seen; nobody can make one up for another page."""
    return Signer(salt=_SALT).sign(f"{study.pk}:{saw}")


@transaction.atomic
def count_visit(study: Study, sent: str) -> bool:
    """Count one visit.

    Args:
        study: whose page was seen.
        sent: its ticket.

    Returns:
        Whether it was counted; not, if the ticket was made up or is of another study.
    """
    try:
        pk, saw = Signer(salt=_SALT).unsign(sent).split(":", 1)
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
    """How many visits there were, by what they saw."""
    return dict(VisitCount.objects.filter(study=study, visits__gt=0).values_list("saw", "visits"))
