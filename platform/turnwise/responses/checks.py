"""Check that a text written by a worker can be a person's response to a context."""

import re
from collections.abc import Iterable, Sequence

from django.utils.translation import gettext as _

from evaluation.texts.lengths import MAX_MESSAGE_CHARS
from evaluation.texts.similarity import character_ngrams
from turnwise.contexts.tables import text_problem

# Largest share of the text's runs of four letters that may also be in a turn of the context. Answers that
# take up words ("Do you like tea?" / "I like tea a lot") are below it, copies above.
MOST_SHARED = 0.9
# Shorter answers such as "Yes, I do" are not compared: they share all their letters with some turn by chance.
LEAST_LETTERS = 12

# Phrases by which language models speak of themselves or offer help.
_BOT_LIKE = re.compile(
    r"\bas an? (ai|artificial intelligence|language model|chatbot|virtual assistant)\b"
    r"|\bi('m| am) (just )?an? (ai|language model|chatbot|virtual assistant)\b"
    r"|\blarge language model\b|\b(chatgpt|openai)\b"
    r"|\bhow (can|may) i (help|assist) you\b|\bi('m| am) (unable|sorry, but i can(no|')t) to? ?assist\b"
    r"|^(certainly|sure|of course)[!,.] here('s| is| are)\b"
    r"|^here('s| is) an? (possible |suitable |natural )?(response|reply)\b",
    re.IGNORECASE,
)
_FORMATTED = re.compile(r"^#{1,6}\s|\*\*\S", re.MULTILINE)
_POINT = re.compile(r"^\s*([-*•]|\d+[.)])\s", re.MULTILINE)
_SPEAKER = re.compile(r"^\s*(a|b|me|you|human|bot|user|assistant|response|reply)\s*:", re.IGNORECASE)


def problem_of(text: str, turns: Sequence[str], earlier: Iterable[str]) -> str:
    """Reason why this text is no response, for the worker; empty if it is one.

    Args:
        text: the worker's text.
        turns: turns of the context, oldest first.
        earlier: the worker's texts for other contexts of the study.
    """
    if not _letters(text) and not re.search(r"[^\s\W]|[^\x00-\x7f]", text):
        return _("Your response is empty. Write what you would say, then send it.")
    unfit = text_problem(text, limit=MAX_MESSAGE_CHARS, what=_("Your response"))
    if unfit:
        return _with_reassurance(unfit)
    if _is_copied(text, turns):
        return _with_reassurance(_("That repeats what has already been said. Write what you would answer."))
    if _letters(text) and _letters(text) in {_letters(each) for each in earlier}:
        return _with_reassurance(
            _("You wrote exactly this before. Write something that fits this conversation.")
        )
    return _bot_like(text)


def _with_reassurance(problem: str) -> str:
    return f"{problem} {_('What you wrote is still in the box.')}"


def _letters(text: str) -> str:
    return " ".join(re.findall(r"\w+", text.casefold()))


def _is_copied(text: str, turns: Sequence[str]) -> bool:
    written = _letters(text)
    if any(written and written == _letters(turn) for turn in turns):
        return True
    grams = character_ngrams(text)
    if len(written) < LEAST_LETTERS:
        return False
    return any(len(grams & character_ngrams(turn)) / len(grams) >= MOST_SHARED for turn in turns)


def _bot_like(text: str) -> str:
    if _BOT_LIKE.search(text.strip()):
        return _with_reassurance(
            _("That sounds like an assistant program. Write as yourself, in your own words.")
        )
    if _SPEAKER.match(text):
        return _with_reassurance(_("Write only what you would say, without a name before it."))
    if _FORMATTED.search(text) or len(_POINT.findall(text)) > 1:
        return _with_reassurance(_("Write it as you would say it: no lists, headings or bold text."))
    return ""
