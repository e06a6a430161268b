"""Replies that take up what was said, by rules written for this project (`listening/*.txt`).

A rule is `pattern => replies`, or `what the bot had asked >> pattern => replies`; the first that fits counts,
in the order of the files. Replies are separated by `|`, and `<1>` in one stands for what the first group
of the pattern caught. A slot of the templates in a pattern, `{food}`, stands for any of its words.

What no rule knows is answered by a remark (`remarks.py`). Real lines, of which no template knows the wording,
thus become training examples in which a model learns to listen.
"""

from __future__ import annotations

import random
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from importlib import resources
from typing import NamedTuple

from chatbots.meena.everyday.templates import Slots, alternatives, expand, shipped

YES_OR_NO = r"^(?:and |so |but )?(?:do|does|did|are|is|was|were|have|has|can|could|will|would|shall|should)\b"
"""How a question begins that is answered by yes or no; in rules, {question_yes}."""
MOST_ANSWER_WORDS, MOST_CAUGHT_WORDS = 8, 4
_SENTENCE_END = re.compile(r"(?<=[.!?])\s+")
_SLOT = re.compile(r"\{([a-z_]+)\}")
_CAUGHT = re.compile(r"<(\d)>")
_ASKS = re.compile(
    r"^(?:and|so|but|well|ok|okay|oh|hey|hi|hello|hmm|then|by the way|anyway|yeah|lol)?[ ,.]*"
    r"(?:what|what's|whats|where|who|who's|why|how|how's|when|which|whose|(?:do|did|does|are|were|can|could|"
    r"would|will|have|should|shall|don't|aren't) (?:you|u|i|we|they|it|he|she)\b"
    r"|is (?:it|there|that|this|he|she)\b|if you could|tell me|say something"
    r"|any (?:ideas|plans|advice|tips))",
    re.IGNORECASE,
)
_OTHERS = {
    "i": "you", "me": "you", "my": "your", "mine": "yours", "myself": "yourself", "am": "are",
    "i'm": "you're", "im": "you're", "our": "your", "us": "you", "we": "you", "your": "my", "yours": "mine",
    "yourself": "myself",
}  # fmt: skip
_UNCLEAR = frozenset(
    {"it", "that", "this", "them", "those", "these", "him", "her", "you", "me", "one", "there", "here", "so"}
    | {"do", "be", "go", "get", "have"}
)


class ListeningError(ValueError):
    """A file of rules that cannot be read; says which line and why."""


@dataclass(frozen=True)
class Rule:
    """What is answered to lines of a form.

    Attributes:
        number: among all rules, in their order.
        asked: must be found in the question that the bot asked before; None if it does not matter.
        pattern: must be found in the line.
        replies: may contain `<1>`.
    """

    number: int
    asked: re.Pattern[str] | None
    pattern: re.Pattern[str]
    replies: tuple[str, ...]


class RuleMatch(NamedTuple):
    """A rule that fits, and what its groups caught, in the form in which a reply says it."""

    rule: Rule
    caught: tuple[str, ...]


@dataclass(frozen=True)
class Listener:
    """All rules.

    Attributes:
        answers: to answers of the bot's own question.
        topics: to what is told.
        questions: to questions.
        statements: by their form, before the topics.
        others: to questions that none of those know.
        names: how words of the slots are written, by their lower case.
    """

    answers: Sequence[Rule]
    topics: Sequence[Rule]
    questions: Sequence[Rule]
    statements: Sequence[Rule]
    others: Sequence[Rule]
    names: dict[str, str]

    def hear(self, line: str, before: str = "", *, topics: bool = True) -> RuleMatch | None:
        """The first rule that fits a line and the turn of the bot before it; None if none does.

        Args:
            line: what was said.
            before: the bot's last turn; "" if there is none.
            topics: whether rules count that only know a word of the line.
        """
        text, asked = line.replace("\N{RIGHT SINGLE QUOTATION MARK}", "'").strip(), question_in(before)
        sentences = _SENTENCE_END.split(text)
        asks = is_question(sentences[-1])
        answers = asked and len(text.split()) <= MOST_ANSWER_WORDS and not asks
        if answers and (heard := self._first(self.answers, [text], asked)):
            return heard
        if asks:
            return self._first([*self.questions, *self.others], [sentences[-1]])
        if (heard := self._first(self.statements, [text])) or not topics:
            return heard
        return self._first(self.topics, [*reversed(sentences), text])

    def is_general(self, heard: RuleMatch) -> bool:
        """Whether the rule would answer nearly any question the same."""
        return heard.rule.number >= self.others[0].number

    def _first(self, rules: Sequence[Rule], texts: Sequence[str], asked: str = "") -> RuleMatch | None:
        for text in texts:
            for rule in rules:
                if rule.asked and not rule.asked.search(asked):
                    continue
                if found := rule.pattern.search(text):
                    heard = RuleMatch(rule, tuple(self._turned(group or "") for group in found.groups()))
                    if any(_says(reply, heard.caught) for reply in rule.replies):
                        return heard
        return None

    def reply(self, heard: RuleMatch, chance: random.Random) -> str:
        """One of the rule's replies; likelier one that takes up what was said."""
        fitting = [reply for reply in heard.rule.replies if _says(reply, heard.caught)]
        (chosen,) = chance.choices(fitting, [2 if "<" in reply else 1 for reply in fitting])
        text = _CAUGHT.sub(lambda found: heard.caught[int(found[1]) - 1], expand(chosen, chance))
        return re.sub(r"(^|[.!?] )([a-z])", lambda found: found[1] + found[2].upper(), text)

    def _turned(self, caught: str) -> str:
        """The words as the other one says them."""
        text = " ".join(caught.split()).strip(" ,.'")
        if text.lower() in self.names:
            return self.names[text.lower()]
        turned = (
            _OTHERS.get(word.lower(), self.names.get(word.lower(), word.lower())) for word in text.split()
        )
        return " ".join(turned)


def is_question(sentence: str) -> bool:
    """Whether a sentence asks, with or without its mark."""
    return sentence.rstrip().endswith("?") or _ASKS.match(sentence) is not None


def question_in(turn: str) -> str:
    """The question that a turn ends with, in small letters; "" if there is none."""
    last = _SENTENCE_END.split(turn.strip())[-1]
    return last.lower() if last.endswith("?") else ""


def _says(reply: str, caught: Sequence[str]) -> bool:
    """Whether everything that a reply takes up was caught and is a thing to be named."""
    for number in _CAUGHT.findall(reply):
        words = caught[int(number) - 1].lower().split()
        if not words or len(words) > MOST_CAUGHT_WORDS or words[0] in _UNCLEAR or words[-1] in _UNCLEAR:
            return False
    return True


def read_rules(text: str, source: str, slots: Slots, first: int = 0) -> list[Rule]:
    """The rules of one file, numbered from `first`.

    Raises:
        ListeningError: a line that is no rule.
    """
    rules: list[Rule] = []
    for where, line in _lines(text, source):
        condition, arrow, replies = line.partition(" => ")
        asked, after, pattern = condition.rpartition(" >> ")
        if not arrow:
            raise ListeningError(
                f"{where}: no arrow between what is said and what is answered: {line[:40]!r}."
            )
        before = _compiled(asked, slots, where) if after else None
        heard = _compiled(pattern, slots, where)
        groups = [int(number) for number in _CAUGHT.findall(replies)]
        if max(groups, default=0) > heard.groups:
            raise ListeningError(
                f"{where}: a reply takes up more than the {heard.groups} groups that are caught."
            )
        rules.append(Rule(first + len(rules), before, heard, tuple(alternatives(replies))))
    return rules


def read_lines(text: str, source: str, slots: Slots) -> list[tuple[re.Pattern[str], list[str]]]:
    """Templates of what may be said, each line with the question that it answers (any, if it names none)."""
    return [
        (_compiled(asked, slots, where), alternatives(said))
        for where, line in _lines(text, source)
        for asked, _, said in [line.rpartition(" => ")]
    ]


@cache
def listener() -> Listener:
    """The rules of this package."""
    _, slots = shipped()
    kinds: list[list[Rule]] = []
    for names in (
        ("1_answers",),
        ("2_topics", "3_topics"),
        ("4_questions",),
        ("5_statements",),
        ("6_questions",),
    ):
        rules: list[Rule] = []
        for name in names:
            first = sum(map(len, kinds)) + len(rules)
            rules += read_rules(_file(name), name, slots, first)
        kinds.append(rules)
    written = {entry.text.lower(): entry.text for entries in slots.values() for entry in entries}
    del written["friends"]  # seldom the show
    answers, topics, questions, statements, others = kinds
    return Listener(answers, topics, questions, statements, others, written)


@cache
def openings() -> list[str]:
    """Templates of what people may say."""
    return [one for _, said in read_lines(_file("lines"), "lines", shipped()[1]) for one in said]


@cache
def pairs() -> list[tuple[list[str], list[str]]]:
    """Templates of what people may say, with those of replies that fit."""
    return [
        (alternatives(said), alternatives(replies))
        for _, line in _lines(_file("pairs"), "pairs")
        for said, _, replies in [line.partition(" => ")]
    ]


@cache
def answering() -> list[tuple[re.Pattern[str], list[str]]]:
    """Templates of what people may answer, by the question."""
    return read_lines(_file("answers"), "answers", shipped()[1])


def _file(name: str) -> str:
    return (resources.files("chatbots.meena.everyday") / "listening" / f"{name}.txt").read_text("utf-8")


def _lines(text: str, source: str) -> Iterator[tuple[str, str]]:
    for number, line in enumerate(text.splitlines(), start=1):
        if line.strip() and not line.startswith("#"):
            yield f"{source}, line {number}", line


def _compiled(pattern: str, slots: Slots, where: str) -> re.Pattern[str]:
    def words(slot: re.Match[str]) -> str:
        if slot[1] == "question_yes":
            return YES_OR_NO
        return "|".join(re.escape(entry.text) for entry in slots[slot[1]])

    try:
        return re.compile(_SLOT.sub(words, pattern), re.IGNORECASE)
    except (re.error, KeyError) as error:
        raise ListeningError(f"{where}: {error!r} in the pattern {pattern[:60]!r}.") from None
