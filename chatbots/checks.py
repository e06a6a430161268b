"""What hosting checks of bots and of what they return, before anybody else sees it."""

import math
import traceback
from datetime import UTC, datetime

from chatbots.base import Bot, Context, Failure, Response
from chatbots.cleaning import clean_response, is_blank
from chatbots.errors import last_line

SILENT = "answered nothing: its text has no visible character."


def check_bot(bot: object) -> None:
    """Refuse what cannot be hosted.

    Raises:
        TypeError: it is no bot.
        ValueError: its batches are impossible.
    """
    if not isinstance(bot, Bot):
        raise TypeError(f"What was loaded is {_kind(bot)}, not a Bot. Return an instance of a Bot subclass.")
    if bot.max_batch < 1 or not 0 <= bot.max_wait < math.inf:
        raise ValueError(
            f"The bot has max_batch = {bot.max_batch} and max_wait = {bot.max_wait}. "
            "Give at least 1, and seconds from 0 up."
        )


def checked(returned: object) -> Response | str:
    """What a bot returned for one context, cleaned; or, in words, why it cannot be used."""
    if isinstance(returned, Failure):
        return f"failed: {last_line(returned.error)}"
    if not isinstance(returned, Response):
        return f"returned {_kind(returned)} instead of a Response. Fix its respond()."
    try:
        clean = clean_response(returned)
    except Exception as error:
        return f"returned a malformed response: {last_line(error)}"
    return SILENT if is_blank(clean.text) else clean


def checked_batch(returned: object, asked: int) -> list[object]:
    """What a bot returned for so many contexts, one by one; all failures if the whole is unusable."""
    if not isinstance(returned, list | tuple):
        why = f"it returned {_kind(returned)} instead of a list of responses. Fix its respond()."
    elif len(returned) != asked:
        why = f"it returned {len(returned)} responses for {asked} contexts. Fix its respond()."
    else:
        return list(returned)
    return [Failure(TypeError(why))] * asked


def last_lines(error: BaseException) -> str:
    """The last place in the code, and below it the error itself on a line of its own."""
    where = "".join(traceback.format_tb(error.__traceback__)[-1:])
    return f"{where}{last_line(error)}".strip()


def circumstances(error: BaseException, context: Context) -> str:
    """When an error happened, what the bot was asked, and where in its code: for who has to mend it."""
    at = datetime.now(UTC).isoformat(timespec="seconds")
    where = "".join(traceback.format_tb(error.__traceback__)[-2:]).rstrip()
    return f"{at}, asked “{context.turns[-1].text[:200]}”:\n{where}"


def _kind(value: object) -> str:
    return f"a {type(value).__name__}"
