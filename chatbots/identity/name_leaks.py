"""Find replies that name the chatbot or its maker, for studies whose workers must not know.

The rules propose: they read words, not meaning. A reply that says it is a machine does not count here.
"""

import re
from bisect import bisect_right
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import accumulate
from typing import Any

_SYSTEMS = (
    "ChatGPT", "GPT-3", "GPT-3.5", "GPT-4", "GPT-4o", "GPT-5", "Claude", "Gemini", "Bard", "Copilot", "Grok",
    "Alexa", "Siri", "Cortana", "Bixby", "Google Assistant", "Llama", "Mistral", "Mixtral", "Qwen",
    "DeepSeek", "Gemma", "BlenderBot", "Blender Bot", "DialoGPT", "Meena", "LaMDA", "Cleverbot", "Mitsuku",
    "Kuki", "Replika", "XiaoIce", "Eliza", "A.L.I.C.E.", "Character.AI", "Pi",
)  # fmt: skip
_MAKERS = (
    "OpenAI", "Anthropic", "Google", "DeepMind", "Microsoft", "Meta", "Meta AI", "Facebook", "Amazon",
    "Apple", "Mistral AI", "Alibaba", "DeepSeek", "xAI", "Hugging Face", "Nvidia", "IBM", "Baidu", "Tencent",
    "Cohere", "Inflection", "Samsung", "Pandorabots",
)  # fmt: skip
# These names are also ordinary words or people's names: they count only if the bot speaks of itself.
_ALSO_WORDS = {
    "claude", "gemini", "bard", "copilot", "grok", "llama", "mistral", "gemma", "eliza", "pi", "alexa",
    "siri", "google", "google assistant", "microsoft", "meta", "facebook", "amazon", "apple", "nvidia",
    "ibm", "baidu", "tencent", "alibaba", "cohere", "inflection", "samsung", "hugging face", "kuki",
    "bixby", "cortana", "meena", "replika", "cleverbot", "generic",
}  # fmt: skip
# Settings of adapters whose value names the bot's maker or model.
_MAKER_SETTINGS, _SYSTEM_SETTINGS = {"maker"}, {"model", "model_name", "persona_name", "registered"}

_IS_CALLED = (
    r"\b(?:i am|i'm|im|this is|my name is|name's|call me|known as|it's me,?|"
    r"you(?:'re| are) (?:talking|speaking|chatting) (?:to|with))"
    r"(?: (?:called|named|just|actually|really|also|the|your|friendly|ai|assistant|chatbot|bot|model)){{0,4}}"
    r",? {names}"
)
_MADE = r"(?:made|built|created|developed|designed|programmed|trained|owned|run|provided)"
_IS_MADE_BY = (
    rf"\b(?:i|me|my|we)\b[^.!?]{{{{0,60}}}}?\b{_MADE} (?:and \w+ )?(?:by|at) "
    r"(?:the |a |an )?(?:\w+ ){{0,2}}?{names}"
    rf"|{{names}} {_MADE} me\b"
    rf"|\b(?:ai|language model|model|assistant|chatbot|bot)(?:,? {_MADE})? (?:by|from|of) {{names}}"
)
# Any maker counts, named in the settings or not.
_SAYS_MAKER = re.compile(
    r"\b(?:i was|i am|i'm|i have been|i've been)(?: \w+)? "
    r"(?:made|built|created|developed|designed|programmed|trained) (?:and \w+ )?"
    r"by (?!people\b|humans?\b|someone\b|somebody\b|a (?:person|human|team)\b|the people who invited you)"
    r"(?:the |a |an )?(?!(?:i|you|my|the|an?)\b)[\w@][\w@&'-]*(?:\.\w+)*(?-i:(?: [A-Z][\w&'-]*){0,3})",
    re.IGNORECASE,
)
MOST_CHARACTERS = 4_000
"""Only this much of a reply is read."""
SHORTEST = 3
"""Shorter names count only if the bot speaks of itself."""


@dataclass(frozen=True, slots=True)
class Names:
    """Names that a bot must not mention.

    Attributes:
        system: the names of a bot: title, short name, model.
        makers: names of its makers.
    """

    system: tuple[str, ...] = ()
    makers: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Named:
    """Words of a reply that name the system or its maker.

    Attributes:
        what: "system" or "maker".
        start: start of these words.
        end: end of these words.
    """

    what: str
    start: int
    end: int


def names_of(title: str, name: str, configuration: Mapping[str, Any] | None = None) -> Names:
    """Collect the names of a registered bot.

    Args:
        title: as researchers see it, without parts in brackets.
        name: short name, words joined by hyphens.
        configuration: configuration of its adapter, with those of inner bots.
    """
    plain = re.sub(r"\([^)]*\)", "", title)
    systems = [" ".join(each.split()) for each in (title, plain, name, re.sub(r"[-_]+", " ", name))]
    makers: list[str] = []
    for setting, value in _settings(configuration or {}):
        text = value.strip()
        if setting in _MAKER_SETTINGS and text:
            makers.append(text)
        elif setting in _SYSTEM_SETTINGS and text:
            systems += [text, text.rpartition("/")[2]]
    return Names(tuple(dict.fromkeys(filter(None, systems))), tuple(dict.fromkeys(makers)))


def _settings(configuration: Any) -> Iterable[tuple[str, str]]:
    if isinstance(configuration, Mapping):
        for setting, value in configuration.items():
            if isinstance(value, str):
                yield str(setting), value
            else:
                yield from _settings(value)
    elif isinstance(configuration, list | tuple):
        for each in configuration:
            yield from _settings(each)


def named(reply: str, names: Names) -> Named | None:
    """Find the first words of a reply that name the system or its maker; None without any."""
    text = _read(reply)
    lowered = text.casefold()
    if not any(each in lowered for each in _literals(names)):
        return None  # true of nearly all replies
    for what, pattern in _patterns(names):
        if match := pattern.search(text):
            return Named(what, *match.span())
    if match := _SAYS_MAKER.search(text):
        return Named("maker", *match.span())
    return None


def named_among(replies: Sequence[str], names: Names) -> dict[int, Named]:
    """Find leaks in many replies: the place of each reply with one → what `named` finds.

    The replies are searched as one text, ten times as fast as one by one.
    """
    lowered = [_read(reply).casefold() for reply in replies]
    whole = "\0".join(lowered)
    starts = [0, *accumulate(len(each) + 1 for each in lowered)]
    places = sorted({place for each in _literals(names) for place in _places(each, whole, starts)})
    return {place: names_in_reply for place in places if (names_in_reply := named(replies[place], names))}


def _places(words: str, whole: str, starts: Sequence[int]) -> Iterable[int]:
    """Numbers of the texts, by their starts in the whole, that contain the words."""
    at = whole.find(words)
    while at >= 0:
        place = bisect_right(starts, at) - 1
        yield place
        at = whole.find(words, starts[place + 1])


def _read(reply: str) -> str:
    return reply[:MOST_CHARACTERS].replace("\u2019", "'")


@lru_cache(maxsize=256)
def _literals(names: Names) -> tuple[str, ...]:
    """Lower-case strings of which a reply that names anything has at least one."""
    all_names = {*names.system, *names.makers, *_SYSTEMS, *_MAKERS}
    return (" by ", *(each.casefold() for each in all_names))


@lru_cache(maxsize=256)
def _patterns(names: Names) -> tuple[tuple[str, re.Pattern[str]], ...]:
    """Patterns in this order: any mention of distinctive names, then statements of the bot about itself."""
    patterns = []
    for what, configured, names_of_kind, statement in (
        ("system", names.system, _SYSTEMS, _IS_CALLED),
        ("maker", names.makers, _MAKERS, _IS_MADE_BY),
    ):
        distinctive = [each for each in (*configured, *names_of_kind) if _is_distinctive(each)]
        if distinctive:
            patterns.append((what, re.compile(_any_of(distinctive), re.IGNORECASE)))
        alone = rf"^\W*{_any_of(configured)}\W*$|" if configured else ""
        pattern = alone + statement.format(names=_any_of((*configured, *names_of_kind)))
        patterns.append((what, re.compile(pattern, re.IGNORECASE)))
    return tuple(patterns)


def _is_distinctive(name: str) -> bool:
    """True if a name can hardly mean anything else: a known one, several words, or with digits."""
    if name.casefold() in _ALSO_WORDS or len(name) < SHORTEST:
        return False
    return name in _SYSTEMS or name in _MAKERS or bool(re.search(r"\W|\d|[a-z][A-Z]", name))


def _any_of(names: Iterable[str]) -> str:
    alternatives = "|".join(re.escape(each) for each in sorted(set(names), key=len, reverse=True))
    return rf"(?<![\w-])(?:{alternatives})(?![\w])"
