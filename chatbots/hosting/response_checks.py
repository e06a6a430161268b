"""Checks of bots and of what they return, and the cleaning of responses, before anything else uses them."""

import math
import traceback
import unicodedata
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any, TypeVar

from chatbots.base import Bot, Context
from chatbots.errors import last_line
from chatbots.replies import MAY_BE_EMPTY, Candidate, Failure, ReplyOutcome, Response
from evaluation.texts.cleaning import storable
from evaluation.texts.lengths import MAX_REPLY_CHARS

MAX_CANDIDATES = 400
"""Largest number of candidates in a response: the most samples in the Meena paper."""

MAX_REMARKS = 16
MAX_REMARK_CHARS = 500
"""Largest number of remarks of a response, and of code points of each."""

MAX_REASONING_CHARS = 200_000
"""Longest reasoning that is kept, in code points."""

MAX_MODEL_CHARS = 200
"""Longest name of the model that answered, in code points."""

_INVISIBLE = frozenset({"Zs", "Zl", "Zp", "Cc", "Cf"})


def clean_text(text: str) -> str:
    """Remove what cannot be stored from a bot's untrusted output, and cut it to `MAX_REPLY_CHARS`."""
    return storable(text, MAX_REPLY_CHARS)


def is_blank(text: str) -> bool:
    """True if nothing of a text is visible: it has only spaces, controls and formatting characters."""
    return all(unicodedata.category(character) in _INVISIBLE for character in text)


def clean_response(response: Response) -> Response:
    """Clean a response's texts with `clean_text`, and limit candidates, remarks and reasoning.

    If the text was cut, the last remark says so, and a complete reply becomes a cut one. A text of which
    nothing is visible becomes empty.
    """
    text, seconds = clean_text(response.text), response.first_seconds
    if _has_only_text(response) and text == response.text and not is_blank(text):
        return response
    cleaned = _replaced(
        _with_cut(response, MAX_REPLY_CHARS),
        text="" if is_blank(text) else text,
        candidates=tuple(
            _replaced(candidate, text=clean_text(candidate.text))
            for candidate in response.candidates[:MAX_CANDIDATES]
        ),
        reasoning=storable(response.reasoning, MAX_REASONING_CHARS),
        model=storable(response.model, MAX_MODEL_CHARS).strip(),
        first_seconds=float(seconds) if seconds is not None and 0 <= seconds < math.inf else None,
    )
    remarks = tuple(clean_text(remark).strip()[:MAX_REMARK_CHARS] for remark in cleaned.remarks)
    return _replaced(cleaned, remarks=remarks)


def _has_only_text(response: Response) -> bool:
    """True if nothing but the text needs cleaning, as with most bots that run here."""
    others = response.candidates or response.remarks or response.reasoning or response.model
    return not others and response.first_seconds is None


def limited(response: Response, limit: int) -> Response:
    """Cut the text of a response after `limit` code points.

    A remark says so, in place of the last one if there are `MAX_REMARKS`; a complete reply becomes a cut one.
    """
    if len(response.text) <= limit and len(response.remarks) <= MAX_REMARKS:
        return response
    return _replaced(_with_cut(response, limit), text=response.text[:limit])


def _with_cut(response: Response, limit: int) -> Response:
    """Note in remarks and outcome that a text is longer than `limit`; the text itself stays."""
    if len(response.text) <= limit:
        return _replaced(response, remarks=response.remarks[:MAX_REMARKS])
    what = f"The reply had {len(response.text):,} characters; what follows the first {limit:,} was cut off."
    outcome = ReplyOutcome.CUT if response.outcome is ReplyOutcome.COMPLETE else response.outcome
    remarks = (*response.remarks[: MAX_REMARKS - 1], what)
    return replace(response, remarks=remarks, outcome=outcome)


Value = TypeVar("Value", Response, Candidate)


def _replaced(value: Value, **changes: Any) -> Value:
    """Value with these fields; itself if they are equal already: copies take time, and few turns need one."""
    if all(getattr(value, name) == new for name, new in changes.items()):
        return value
    return replace(value, **changes)


SILENT = "answered nothing: its text has no visible character."


def check_bot(bot: object) -> None:
    """Refuse a bot that cannot be hosted.

    Raises:
        TypeError: the object is no bot.
        ValueError: its batch size or waiting time is impossible.
    """
    if not isinstance(bot, Bot):
        raise TypeError(f"What was loaded is {_kind(bot)}, not a Bot. Return an instance of a Bot subclass.")
    if bot.max_batch < 1 or not 0 <= bot.max_wait < math.inf:
        raise ValueError(
            f"The bot has max_batch = {bot.max_batch} and max_wait = {bot.max_wait}. "
            "Give at least 1, and seconds from 0 up."
        )


def checked(returned: object) -> Response | str:
    """Clean what a bot returned for one context; or explain in a string why it is unusable."""
    if isinstance(returned, Failure):
        return f"failed: {last_line(returned.error)}"
    if not isinstance(returned, Response):
        return f"returned {_kind(returned)} instead of a Response. Fix its respond()."
    try:
        clean = clean_response(returned)
    except Exception as error:
        return f"returned a malformed response: {last_line(error)}"
    return SILENT if not clean.text and clean.outcome not in MAY_BE_EMPTY else clean


def checked_batch(returned: object, contexts: int) -> list[object]:
    """Split what a bot returned into one item per context; all failures if the whole is unusable."""
    if not isinstance(returned, list | tuple):
        why = f"it returned {_kind(returned)} instead of a list of responses. Fix its respond()."
    elif len(returned) != contexts:
        why = f"it returned {len(returned)} responses for {contexts} contexts. Fix its respond()."
    else:
        return list(returned)
    return [Failure(TypeError(why))] * contexts


def last_lines(error: BaseException) -> str:
    """Return the last place in the code and, on its own line, the error."""
    where = "".join(traceback.format_tb(error.__traceback__)[-1:])
    return f"{where}{last_line(error)}".strip()


def circumstances(error: BaseException, context: Context) -> str:
    """Describe when an error happened, the bot's last turn, and the place in its code."""
    at = datetime.now(UTC).isoformat(timespec="seconds")
    where = "".join(traceback.format_tb(error.__traceback__)[-2:]).rstrip()
    return f"{at}, asked “{context.turns[-1].text[:200]}”:\n{where}"


def _kind(value: object) -> str:
    return f"a {type(value).__name__}"
