"""Finding somebody who asks for their data: by whatever they have of a study."""

import re

from django.contrib.auth.models import AnonymousUser
from django.db.models import Q, QuerySet

from turnwise.accounts.models import User
from turnwise.crowd.models import Participation, Worker
from turnwise.studies.queries import studies_of

MOST = 100


def found(user: User | AnonymousUser, sought: str) -> QuerySet[Participation]:
    """Where somebody took part, in studies that this person works on; admins work on all.

    Args:
        user: who looks.
        sought: a panel's id of them, a submission, a pseudonym, a completion code or a resume code.
    """
    everywhere = Participation.objects.filter(study__in=studies_of(user), study__rehearsal_of=None)
    sought = sought.strip()
    if not sought:
        return everywhere.none()
    capitals = sought.upper()
    letters = re.sub(r"[^A-Z0-9]", "", capitals)
    named = Worker.objects.filter(Q(panel_id=sought) | Q(pseudonym=capitals)).values("pk")
    matching = everywhere.filter(
        Q(worker__in=named)
        | Q(pseudonym=capitals)
        | Q(submission=sought)
        | Q(completion_code=capitals)
        | Q(resume_code=f"{letters[:5]}-{letters[5:]}")
    )
    # Whoever is found by one study's code is found in the others, too.
    whole = everywhere.filter(worker__in=matching.values("worker"))
    return whole.select_related("study", "worker", "assignment", "withdrawal").order_by("-pk")
