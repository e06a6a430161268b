"""Why a frame was refused. The page shows `say`; nothing changed; the work so far is safe."""

from live.text import MAX_TEXT

SAFE = "Your work so far is safe."

REFUSALS = {
    "not_json": f"That message was not understood. {SAFE} Reload the page and try again.",
    "unknown_type": f"That message was not understood. {SAFE} Reload the page and try again.",
    "malformed": f"Something is missing in that message. {SAFE} Reload the page and try again.",
    "too_long": f"Your message is too long. Shorten it to {MAX_TEXT} characters or less and send it again.",
    "empty": "Your message is empty. Write something, then send it.",
    "foreign_origin": "This page may not talk to this server. Open the study link again.",
    "no_session": "Your session is missing or has expired. Your work so far is safe: open the study link "
    "again and enter your resume code.",
    "not_yours": "This conversation belongs to someone else. Open your own study link again.",
    "unknown_dialogue": "There is no such conversation. Open your study link again.",
    "too_fast": f"Too many messages in a short time. {SAFE} Wait a little, then reload the page.",
    "too_many_tabs": f"This conversation is open in too many tabs. {SAFE} Close some, then reload the page.",
    "ended": "This conversation has ended. Everything is saved.",
    "not_your_turn": "The chatbot has not answered yet. Wait for its reply, then send your message.",
    "label_first": "Please answer the question under the last reply first. Your message was not sent.",
    "partner_is_there": "Your partner is still there. Give them a little more time.",
    "not_waiting": "You are not waiting for anybody here. Reload the page to see where you go on.",
    "other_tab": "You went on waiting in another tab or window. Close this one.",
    "partner_finished": "Your partner has finished. Please answer what is left, then finish, too.",
    "turn_limit": "This conversation has reached its last turn. You can finish it now.",
    "key_reused": "That message was already sent with other words. Reload the page to see what was saved.",
    "unknown_turn": f"There is no such reply in this conversation. {SAFE} Reload the page.",
    "not_to_label": "That turn is not one to be judged by you.",
    "unanswered": "Some replies are not labelled yet. Please answer the questions under them first.",
    "rate_first": "Please answer the questions about the whole conversation first, then finish.",
    "no_such_ask": f"That question does not belong to this conversation. {SAFE} Reload the page.",
    "too_early": "The conversation is not long enough yet. Please go on for a few more turns.",
    "reply_due": "The chatbot still has to answer. Wait for its reply, or try again if it failed.",
    "nothing_to_retry": "The chatbot does not have to answer right now. Write your next message.",
    "may_not_give_up": "Please let the chatbot try again first.",
}


class RefusedError(Exception):
    """A frame that may not take effect.

    Attributes:
        reason: a key of `REFUSALS`, or of another table with its own sentence.
        say: plain words for the worker.
    """

    def __init__(self, reason: str, say: str = "") -> None:
        self.reason = reason
        self.say = say or REFUSALS[reason]
        super().__init__(f"{reason}: {self.say}")
