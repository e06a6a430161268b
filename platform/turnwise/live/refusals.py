"""Why a frame was refused. The page shows `say`; nothing changed; the work so far is safe."""

from django.utils.functional import Promise
from django.utils.text import format_lazy
from django.utils.translation import gettext_lazy as _

from turnwise.live.text import MAX_TEXT

_NOT_UNDERSTOOD = _(
    "That message was not understood. Your work so far is safe. Reload the page and try again."
)
REFUSALS: dict[str, str | Promise] = {
    "not_json": _NOT_UNDERSTOOD,
    "unknown_type": _NOT_UNDERSTOOD,
    "malformed": _(
        "Something is missing from that message. Your work so far is safe. Reload the page and try again."
    ),
    "too_long": format_lazy(
        _("Your message is too long. Shorten it to {most} characters or less and send it again."),
        most=MAX_TEXT,
    ),
    "empty": _("Your message is empty. Write something, then send it."),
    "foreign_origin": _("This page may not talk to this server. Open the study link again."),
    "no_session": _(
        "Your session is missing or has expired. Your work so far is safe: open the study link again and "
        "enter your resume code."
    ),
    "not_yours": _("This conversation belongs to someone else. Open your own study link again."),
    "unknown_dialogue": _("There is no such conversation. Open your study link again."),
    "too_fast": _(
        "Too many messages in a short time. Your work so far is safe. Wait a little, then reload the page."
    ),
    "too_many_tabs": _(
        "This conversation is open in too many tabs. Your work so far is safe. Close some, then reload the "
        "page."
    ),
    "place_gone": _(
        "While this page was idle, other people took the last places with this chatbot. You had not sent "
        "anything, so no work of yours is lost. Open the study link again: there may be another place."
    ),
    "paused": _(
        "The study is paused, so nothing can be sent right now. Your work is safe: continue when "
        "the study resumes."
    ),
    "ended": _("This conversation has ended. Everything is saved."),
    "not_your_turn": _("The chatbot has not answered yet. Wait for its reply, then send your message."),
    "label_first": _("Please answer the question under the last reply first. Your message was not sent."),
    "partner_is_there": _("Your partner is still there. Give them a little more time."),
    "not_waiting": _("You are not waiting for anybody here. Reload the page to see where to continue."),
    "other_tab": _("You are now waiting in another tab or window. Close this one."),
    "partner_finished": _("Your partner has finished. Please answer what is left, then finish too."),
    "turn_limit": _("This conversation has reached its last turn. You can finish it now."),
    "key_reused": _(
        "That message was already sent with different words. Reload the page to see what was saved."
    ),
    "unknown_turn": _(
        "There is no such reply in this conversation. Your work so far is safe. Reload the page."
    ),
    "not_to_label": _("That turn is not yours to judge."),
    "unanswered": _("Some replies are not labelled yet. Please answer the questions under them first."),
    "rate_first": _("Please answer the questions about the whole conversation first, then finish."),
    "no_such_ask": _(
        "That question does not belong to this conversation. Your work so far is safe. Reload the page."
    ),
    "too_early": _("The conversation is not long enough yet. Please continue for a few more turns."),
    "reply_due": _("The chatbot still has to answer. Wait for its reply, or try again if it failed."),
    "may_not_give_up": _("Please let the chatbot try again first."),
}


class RefusedError(Exception):
    """A frame that may not take effect.

    Attributes:
        reason: a key of `REFUSALS`, or of another table with its own sentence.
        say: plain words for the worker, in the language that is active.
    """

    def __init__(self, reason: str, say: str | Promise = "") -> None:
        self.reason = reason
        self.say = str(say or REFUSALS[reason])
        super().__init__(f"{reason}: {self.say}")
