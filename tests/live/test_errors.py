"""What pages say of work that an error ended."""

from chatbots.errors import BotFailedError
from turnwise.live.jobs import describe_failure


def test_an_error_of_a_bot_is_told_as_it_is_and_any_other_in_a_sentence_that_says_where_more_is() -> None:
    assert describe_failure(BotFailedError("Bot “x” is switched off.")) == "Bot “x” is switched off."
    told = "An error that was not expected ended it; the server's log says where: KeyError: 'x'"
    assert describe_failure(KeyError("x")) == told
