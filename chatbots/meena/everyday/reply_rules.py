"""Rules for replies that repeat parts of a line (`listening/*.txt`), written for this project.

A rule is `pattern => replies`, or `pattern of the bot's question >> pattern => replies`; the first rule that
fits counts, in the order of the files. Replies are separated by `|`, and `<1>` in one stands for the words
that the first group of the pattern matched. A slot of the templates in a pattern, `{food}`, stands for any of
its words.

A line without a rule gets a remark (`remarks.py`). So real lines, whose wording no template knows, become
training examples in which a model learns to listen.
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
"""Beginnings of questions answered by yes or no; in rules, {question_yes}."""
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
    """Replies to lines of a form.

    Attributes:
        number: among all rules, in their order.
        asked: must match in the bot's question before the line; None: any turn.
        pattern: must match in the line.
        replies: may contain `<1>`.
    """

    number: int
    asked: re.Pattern[str] | None
    pattern: re.Pattern[str]
    replies: tuple[str, ...]


class RuleMatch(NamedTuple):
    """A rule that fits, and the words of its groups in the form in which a reply repeats them."""

    rule: Rule
    caught: tuple[str, ...]


@dataclass(frozen=True)
class Listener:
    """All rules, by kind of line.

    Attributes:
        answers: to answers of the bot's own question.
        topics: to other statements, by subject.
        questions: to questions.
        statements: by their form, before the topics.
        others: to all other questions.
        names: spelling of the slots' words, by their lower case.
    """

    answers: Sequence[Rule]
    topics: Sequence[Rule]
    questions: Sequence[Rule]
    statements: Sequence[Rule]
    others: Sequence[Rule]
    names: dict[str, str]

    def hear(self, line: str, before: str = "", *, topics: bool = True) -> RuleMatch | None:
        """Find the first rule that fits a line and the bot's turn before it; None without one.

        Args:
            line: line of the person.
            before: the bot's last turn; "" if there is none.
            topics: True to try rules that know only a word of the line.
        """
        text, question = line.replace("\N{RIGHT SINGLE QUOTATION MARK}", "'").strip(), question_in(before)
        sentences = _SENTENCE_END.split(text)
        asks = is_question(sentences[-1])
        answers = question and len(text.split()) <= MOST_ANSWER_WORDS and not asks
        if answers and (match := self._first(self.answers, [text], question)):
            return match
        if asks:
            return self._first([*self.questions, *self.others], [sentences[-1]])
        if (match := self._first(self.statements, [text])) or not topics:
            return match
        return self._first(self.topics, [*reversed(sentences), text])

    def is_general(self, match: RuleMatch) -> bool:
        """True if the rule gives the same answer to nearly any question."""
        return match.rule.number >= self.others[0].number

    def _first(self, rules: Sequence[Rule], texts: Sequence[str], question: str = "") -> RuleMatch | None:
        for text in texts:
            for rule in rules:
                if rule.asked and not rule.asked.search(question):
                    continue
                if pattern_match := rule.pattern.search(text):
                    match = RuleMatch(
                        rule, tuple(self._turned(group or "") for group in pattern_match.groups())
                    )
                    if any(_says(reply, match.caught) for reply in rule.replies):
                        return match
        return None

    def reply(self, match: RuleMatch, chance: random.Random) -> str:
        """Choose one of the rule's replies; prefer one that repeats words of the line."""
        fitting = [reply for reply in match.rule.replies if _says(reply, match.caught)]
        (template,) = chance.choices(fitting, [2 if "<" in reply else 1 for reply in fitting])
        text = _CAUGHT.sub(lambda group: match.caught[int(group[1]) - 1], expand(template, chance))
        return re.sub(r"(^|[.!?] )([a-z])", lambda group: group[1] + group[2].upper(), text)

    def _turned(self, caught: str) -> str:
        """Turn the words to the other speaker's view."""
        text = " ".join(caught.split()).strip(" ,.'")
        if text.lower() in self.names:
            return self.names[text.lower()]
        turned = (
            _OTHERS.get(word.lower(), self.names.get(word.lower(), word.lower())) for word in text.split()
        )
        return " ".join(turned)


def is_question(sentence: str) -> bool:
    """True if a sentence asks, with or without its mark."""
    return sentence.rstrip().endswith("?") or _ASKS.match(sentence) is not None


def question_in(turn: str) -> str:
    """The question at the end of a turn, in small letters; "" without one."""
    last = _SENTENCE_END.split(turn.strip())[-1]
    return last.lower() if last.endswith("?") else ""


def _says(reply: str, caught: Sequence[str]) -> bool:
    """True if the groups matched everything that a reply repeats, and it names something."""
    for number in _CAUGHT.findall(reply):
        words = caught[int(number) - 1].lower().split()
        if not words or len(words) > MOST_CAUGHT_WORDS or words[0] in _UNCLEAR or words[-1] in _UNCLEAR:
            return False
    return True


def read_rules(text: str, source: str, slots: Slots, first: int = 0) -> list[Rule]:
    """Parse the rules of one file, numbered from `first`.

    Raises:
        ListeningError: a line that is no rule.
    """
    rules: list[Rule] = []
    for where, line in _lines(text, source):
        condition, arrow, replies = line.partition(" => ")
        question, after, pattern = condition.rpartition(" >> ")
        if not arrow:
            raise ListeningError(
                f"{where}: no arrow between what is said and what is answered: {line[:40]!r}."
            )
        before = _compiled(question, slots, where) if after else None
        compiled = _compiled(pattern, slots, where)
        groups = [int(number) for number in _CAUGHT.findall(replies)]
        if max(groups, default=0) > compiled.groups:
            raise ListeningError(
                f"{where}: a reply takes up more than the {compiled.groups} groups that are caught."
            )
        rules.append(Rule(first + len(rules), before, compiled, tuple(alternatives(replies))))
    return rules


def read_lines(text: str, source: str, slots: Slots) -> list[tuple[re.Pattern[str], list[str]]]:
    """Parse templates of the person's lines, each with the question that it answers (or any question)."""
    return [
        (_compiled(question, slots, where), alternatives(replies))
        for where, line in _lines(text, source)
        for question, _, replies in [line.rpartition(" => ")]
    ]


@cache
def listener() -> Listener:
    """Load the rules of this package."""
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
    del written["friends"]  # rarely means the show
    answers, topics, questions, statements, others = kinds
    return Listener(answers, topics, questions, statements, others, written)


@cache
def openings() -> list[str]:
    """Templates of the person's lines."""
    return [one for _, replies in read_lines(_file("lines"), "lines", shipped()[1]) for one in replies]


@cache
def pairs() -> list[tuple[list[str], list[str]]]:
    """Templates of the person's lines, with those of fitting replies."""
    return [
        (alternatives(prompt), alternatives(replies))
        for _, line in _lines(_file("pairs"), "pairs")
        for prompt, _, replies in [line.partition(" => ")]
    ]


@cache
def answering() -> list[tuple[re.Pattern[str], list[str]]]:
    """Templates of the person's answers, by the question."""
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
