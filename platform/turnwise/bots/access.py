"""Which bots somebody may see."""

from django.contrib.auth.models import AnonymousUser
from django.db.models import Q, QuerySet

from turnwise.accounts.access import shared_with
from turnwise.accounts.models import User
from turnwise.bots.models import OUTSIDE, Bot


def visible_bots(user: User | AnonymousUser) -> QuerySet[Bot]:
    """The bots that this person may see with settings and figures, talk with and choose for studies.

    Of any other in one of their studies they see the title. A system elsewhere has no settings; anyone whose
    study has conversations with it sees it.
    """
    talked_here = Q(adapter=OUTSIDE, study_bots__study__owner=user.pk)
    return shared_with(
        user,
        Bot.objects.all(),
        owner="owner",
        named="shared_with",
        everybody=Q(open_to_all=True) | talked_here,
    )
