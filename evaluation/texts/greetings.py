"""Turns that only greet or say goodbye, by lists of phrases of our own in English, Chinese and Arabic.

A turn only greets if all its words belong to phrases of the lists, and at least one phrase is a greeting or
a goodbye; the others are what people add to one ("there", "and you too"). Words are those of
`repetition.words`: case, punctuation and emojis do not count. "Hi there!" and "Thanks, bye!" only greet.
"Hi, I have a question" does not, and neither does a greeting with a name.

The lists are short on purpose: a greeting that they lack counts as any other turn.
"""

import re
from collections.abc import Iterable
from typing import NamedTuple

from evaluation.texts.repetition import words

LONGEST = 60
"""Most characters of a turn that only greets, so that long texts need not be read."""

_SALUTES = """
hi | hii | hello | hallo | hey | heya | hiya | howdy | greetings | welcome back
good morning | good afternoon | good evening | good day | good night | goodnight
how are you | how are you doing | how do you do | what's up | whats up
how's it going | how is it going | hows it going | how you doing
nice to meet you | pleased to meet you | nice meeting you | it was nice to meet you | it was nice meeting you
bye | bye bye | goodbye | good bye | farewell | so long | see you | see ya | until next time | take care
have a good day | have a nice day | have a great day | have a good one | have a good evening
have a nice evening | have a good night | have a nice weekend | have a good weekend | sleep well
talk to you later | talk to you soon | ttyl | nice talking to you | nice talking with you
it was nice talking to you | it was nice talking with you | nice chatting with you
thank you for talking to me | thanks for talking to me | thanks for the chat | thank you for the chat
你好 | 您好 | 大家好 | 嗨 | 哈喽 | 早 | 早上好 | 早安 | 上午好 | 下午好 | 晚上好 | 晚安 | 你好吗 | 您好吗
再见 | 拜拜 | 拜 | 回头见 | 明天见 | 下次见 | 很高兴认识你 | 很高兴认识您 | 保重
مرحبا | مرحبًا | أهلا | أهلًا | أهلا وسهلا | أهلًا وسهلًا | السلام عليكم | وعليكم السلام | صباح الخير | صباح النور
مساء الخير | مساء النور | كيف حالك | إلى اللقاء | مع السلامة | وداعا | وداعًا | تصبح على خير | تصبحين على خير
"""
_ADDED = """
there | again | everyone | everybody | all | friend | my friend | and | too | you too | to you | to you too
then | well | ok | okay | oh | now | for now | today | later | soon | tomorrow | thanks | thank you
morning | evening | this morning | this afternoon | this evening | tonight | d | xd
i have to go | i must go | i've got to go | gotta go
啊 | 呀 | 啦 | 了 | 也 | 你也 | 谢谢 | 那
بك | بكم | شكرا | شكرًا | أيضا | أيضًا | غدا | غدًا
"""


def _any_of(phrases: str) -> str:
    """Pattern of any phrase of a list, the longest first, each word with a space behind it."""
    listed = [phrase for line in phrases.splitlines() for phrase in line.split("|") if phrase.strip()]
    cut = {"".join(f"{word} " for word in words(phrase)) for phrase in listed}
    return "|".join(map(re.escape, sorted(cut, key=lambda each: (-len(each), each))))


def _starts(phrases: str) -> set[str]:
    """Letters with which the first words of the phrases begin, up to an apostrophe; only ASCII phrases."""
    return set(re.findall(r"(?:^|\|) *([a-z]+)", phrases, re.MULTILINE))


_SALUTE = _any_of(_SALUTES)
_ONLY_GREETS = re.compile(f"(?:{_any_of(_ADDED)})*(?:{_SALUTE})(?:{_SALUTE}|{_any_of(_ADDED)})*")
STARTS_LIKE_GREETING = f"^[^a-z0-9]*({'|'.join(sorted(_starts(_SALUTES + _ADDED)))})([^a-z0-9]|$)"
"""Pattern of every ASCII text that `only_greets`, and of some others, without regard to case.

It is much quicker than the rule itself. Python and PostgreSQL read it alike.
"""
_STARTS_LIKE_GREETING = re.compile(STARTS_LIKE_GREETING, re.IGNORECASE)


def only_greets(text: str) -> bool:
    """True if a turn only greets or says goodbye."""
    if len(text) > LONGEST or (text.isascii() and not _STARTS_LIKE_GREETING.match(text)):
        return False
    return bool(_ONLY_GREETS.fullmatch("".join(f"{word} " for word in words(text))))


class GreetingTurn(NamedTuple):
    """A turn that only greets.

    Attributes:
        dialogue: its conversation, as in `Judged`.
        position: its position in the conversation, from 0.
        opening_turns: number of scripted turns with which the conversation opened.
        spacing: turns from reply to reply: 1 if both speakers are judged, else 2.
        is_reply: true if it is a reply of the judged speaker.
        is_answered: true if the next turn is such a reply.
    """

    dialogue: int
    position: int
    opening_turns: int
    spacing: int
    is_reply: bool
    is_answered: bool


def greeting_replies(turns: Iterable[GreetingTurn]) -> frozenset[tuple[int, int]]:
    """Replies that belong to greetings: those that only greet, and those to a message that only greets.

    A reply that fits a greeting badly is thus treated like one that fits it well.

    Returns:
        Conversation and number of each reply, from 1, as in `Judged`.
    """
    return frozenset(
        (turn.dialogue, (position - turn.opening_turns) // turn.spacing + 1)
        for turn in turns
        for position, is_reply in ((turn.position, turn.is_reply), (turn.position + 1, turn.is_answered))
        if position >= turn.opening_turns and (is_reply or turn.spacing == 1)
    )
