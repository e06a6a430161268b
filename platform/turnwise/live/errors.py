"""What pages say of work that an error ended which nobody expected."""

from django.utils.translation import gettext as _

from chatbots.errors import ChatbotError, last_line


def why_ended(error: BaseException) -> str:
    """In a sentence, for whoever waits for the work: of a bot what its error says, else where to look."""
    if isinstance(error, ChatbotError):
        return last_line(error)
    said = _("An error that was not expected ended it; the server's log says where: %(error)s")
    return said % {"error": last_line(error)}
