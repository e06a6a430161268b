"""Who sits opposite somebody who talks with a person, as their page calls them."""

from django.utils.translation import gettext as _

from turnwise.tasks.conversation.page import Opposite
from turnwise.tasks.two_people.models import TwoPeoplePlan


def opposite_of(plan: TwoPeoplePlan, *, is_bot: bool) -> Opposite:
    """What the page says of a person, or of the bot that came in their place."""
    partner = _("Partner"), _("Your partner")
    if not plan.disclosed:
        says = _("Your partner may be a person or a chatbot; you are not told which.")
        return Opposite(*partner, is_person=not is_bot, is_disclosed=False, says=says)
    if is_bot:
        says = _("Nobody else came, so you are talking with a chatbot, not with a person.")
        return Opposite(_("Chatbot"), _("The chatbot"), says=says)
    says = _("You are talking with another participant in this study: a person, not a chatbot.")
    return Opposite(*partner, is_person=True, says=says)
