"""What pages say of work that an error ended."""

from chatbots.errors import BotFailedError
from turnwise.live.jobs import why_ended


def test_an_error_of_a_bot_is_told_as_it_is_and_any_other_in_a_sentence_that_says_where_more_is() -> None:
    assert why_ended(BotFailedError("Bot “x” is switched off.")) == "Bot “x” is switched off."
    told = "An error that was not expected ended it; the server's log says where: KeyError: 'x'"
    assert why_ended(KeyError("x")) == told
