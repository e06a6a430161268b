"""Conversations that stay with a subject: the bot asks, the person answers, and the bot asks on.

A file in `threads/` holds nodes, each a question of the bot:

    ## petname = your {pet}
    q What is your {pet} called?
    m My computer mouse has no name yet.
    u {petname} | her name is {petname}
    b {petname} is a good name for {a:pet}. -> petage, petdoes

`q` is the question, `m` the bot's answer to the same question ("And you?"), `u` an answer of the person, and
`b` the reply to it, followed by a question of one of the nodes after the arrow. `o` is a line that a person
may say without a question, `e` is both. `*3` in a heading makes a subject three times as likely as `*1`; a
node without a number is reached only by an arrow. The bot raises only subjects whose question needs no
earlier answer.

After "=" comes the topic, for `{topic}` in the replies of the node `anytime`, whose lines may interrupt every
subject. Two targets are no nodes: `back` asks the open question again, `new` raises another subject. Slots
and brackets are those of `templates.py`.
"""

from __future__ import annotations

import random
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cache
from importlib import resources
from typing import Any

from chatbots.meena.everyday.dialogues import LEADS, typed
from chatbots.meena.everyday.listening_dialogues import Lines, replied, should_use
from chatbots.meena.everyday.templates import Filled, Slots, alternatives, expand, fill, names, shipped

EXCHANGES = (4, 10)
"""Fewest and most exchanges of a conversation."""
REMEMBERED = 3
"""Exchanges after which the bot no longer mentions a name: a small model has forgotten it, too."""
ASKED_BACK, ALSO_ASKED, INTERRUPTED, LEFT = 0.06, 0.05, 0.1, 0.1
"""Chances that the person asks the bot the same question, instead of answering it or afterwards; interrupts;
changes the subject."""
BOT_RAISES, LED_OVER, BEGUN, ADDED = 0.8, 0.2, 0.08, 0.12
"""Chances that the bot raises a subject after the last one; that a person's new one gets a lead-in; that an
answer begins with a hesitation; that it gets an addition without meaning."""
GREETED, GOES_ON = 0.3, 0.1
"""Chances that the first line begins with a greeting; that an answer goes on with another subject."""
OVERHEARD = 0.3
"""Chance that the person says a line of a real conversation, if there are any, whatever the bot asked."""
GREETINGS = ("Hi! ", "Hello! ", "Hey, ", "Hi, ", "Hello. ", "Good morning. ", "Good evening! ", "Hi there. ")
AND_YOU = (
    *("and you?", "what about you?", "how about you?", "you?", "and what about you?", "how about yourself?"),
    *("what would you say?", "do you?", "and yours?", "what do you think?", "tell me about you first"),
)
HESITATIONS = ("Well, ", "Oh, ", "Hm, ", "Haha, ", "Let me think. ", "Honestly, ", "Hmm, ", "Oh! ")
ADDITIONS = (
    *("It was fun.", "To be honest.", "I guess.", "Haha.", "It's been a while.", "It keeps me busy.", "Lol."),
    *("I really like that.", "But it's okay.", "You know how it is.", "Not that it matters.", "As always."),
    *(
        "Long story.",
        "That's all.",
        "I can't complain.",
        "At least for now.",
        "It's not easy.",
        "Funny, right?",
    ),
    *(
        "I'm happy about it.",
        "That's just how it is.",
        "At my age!",
        "I know, it's silly.",
        "Believe it or not.",
    ),
)
TURNS_TO = (
    "By the way, ",
    "Something else: ",
    "Let me ask you something. ",
    "I'm curious: ",
    "Tell me, ",
    "",
)
_HEADING = re.compile(r"## (\w+)(?: \*(\d+))?(?: = (.+))?$")
BACK, NEW, ANYTIME, LAST = "back", "new", "anytime", "goodbye"


class ThreadError(ValueError):
    """A file of threads that cannot be read; says which line and why."""


@dataclass(frozen=True)
class Answer:
    """A reply, and the nodes of which one is asked after it."""

    text: str
    targets: tuple[str, ...]


@dataclass
class NodeUse:
    """The person's possible lines, and the replies.

    Attributes:
        opens: True if the lines may be said without a question.
        answers: True if the lines may answer the node's question.
    """

    opens: bool
    answers: bool
    lines: list[str] = field(default_factory=list)
    replies: list[Answer] = field(default_factory=list)


@dataclass
class Node:
    """A question of the bot, and its possible continuations; see the module."""

    name: str
    weight: int
    topic: str
    asks: list[str] = field(default_factory=list)
    own: list[str] = field(default_factory=list)
    said: list[NodeUse] = field(default_factory=list)

    def answered(self) -> list[NodeUse]:
        """Uses that answer its question."""
        return [use for use in self.said if use.answers]

    def opened(self) -> list[NodeUse]:
        """Uses that need no question."""
        return [use for use in self.said if use.opens]


Nodes = dict[str, Node]


def read_nodes(text: str, source: str, slots: Slots) -> Nodes:
    """Parse the nodes of one file, by name.

    Raises:
        ThreadError: a line of an unknown kind, a reply to nothing, or a slot that does not exist.
    """
    nodes: Nodes = {}
    node: Node | None = None
    for number, line in enumerate(text.splitlines(), start=1):
        where = f"{source}, line {number}"
        if not line.strip() or line.startswith("# "):
            continue
        if heading := _HEADING.match(line):
            node = nodes[heading[1]] = Node(heading[1], int(heading[2] or 0), heading[3] or "")
            continue
        kind, _, rest = line.partition(" ")
        if node is None or kind not in ("q", "m", "o", "u", "e", "b"):
            raise ThreadError(f"{where}: neither a heading nor a line of a node: {line[:40]!r}.")
        if unknown := [name for name, _ in names(rest) if name not in slots and name != "topic"]:
            raise ThreadError(f"{where}: {unknown[0]} is not a slot of slots.txt.")
        _add(node, kind, rest, where)
    return nodes


def _add(node: Node, kind: str, rest: str, where: str) -> None:
    if kind in ("q", "m"):
        (node.asks if kind == "q" else node.own).extend(alternatives(rest))
    elif kind == "b":
        if not node.said:
            raise ThreadError(f"{where}: a reply, but nothing was said before it.")
        node.said[-1].replies += map(_answer, alternatives(rest))
    else:
        if not node.said or node.said[-1].replies:
            node.said.append(NodeUse(kind in "oe", kind in "ue"))
        node.said[-1].lines += alternatives(rest)


def _answer(line: str) -> Answer:
    text, _, targets = line.partition("->")
    return Answer(text.strip(), tuple(target.strip() for target in targets.split(",") if target.strip()))


@cache
def threads() -> Nodes:
    """Load the nodes of this package.

    Raises:
        ThreadError: two nodes of one name, or an arrow to none.
    """
    nodes: Nodes = {}
    folder = resources.files("chatbots.meena.everyday") / "threads"
    for file in sorted(folder.iterdir(), key=lambda file: file.name):
        read = read_nodes(file.read_text("utf-8"), file.name, shipped()[1])
        if twice := read.keys() & nodes.keys():
            raise ThreadError(f"{file.name}: another file has {sorted(twice)[0]}, too.")
        nodes |= read
    for node in nodes.values():
        for target in (target for said in node.said for reply in said.replies for target in reply.targets):
            if target not in (BACK, NEW) and not (target in nodes and nodes[target].asks):
                raise ThreadError(f"{node.name}: an arrow to {target}, which asks nothing.")
    return nodes


def conversations(count: int, seed: int, real: Sequence[Lines] = ()) -> Iterator[dict[str, Any]]:
    """Yield conversations in the form of a corpus's input; the person's lines are context only.

    Args:
        count: their number.
        seed: the same one gives the same conversations.
        real: lines from `overheard`, with which the person interrupts.
    """
    for number in range(count):
        chance = random.Random(f"{seed}/threads/{number}")
        yield {"id": f"threads-{seed}-{number}", "turns": Conversation(chance, real).turns()}


class Conversation:
    """One conversation under construction.

    Args:
        chance: random generator.
        real: lines from `overheard`.
    """

    def __init__(self, chance: random.Random, real: Sequence[Lines] = ()) -> None:
        self.chance, self.nodes, self.slots, self.real = chance, threads(), shipped()[1], real
        self.open: Node | None = None  # the node of the last question
        self.asked: list[str] = []  # names of nodes that were asked
        self.filled: Filled = {}
        self.named: dict[str, int] = {}  # the exchange in which a slot got its value
        self.exchanges = 0
        self.said_last = ""  # the template of the last question
        self.over = False

    def turns(self) -> list[dict[str, Any]]:
        """Create the turns."""
        turns: list[dict[str, Any]] = []
        for _ in range(self.chance.randint(*EXCHANGES)):
            if self.real and self.chance.random() < OVERHEARD:
                turns += self._overheard([turn["text"] for turn in turns])
                continue
            line, reply = self._exchange()
            turns += [{"text": typed(line, self.chance), "context": True}, {"text": reply}]
            if self.over:
                break
        return turns

    def _overheard(self, earlier: Sequence[str]) -> list[dict[str, Any]]:
        """Say a line that no node expects, with the bot's reply; the open question is dropped."""
        line = self.chance.choice(self.chance.choice(self.real))
        reply = replied(line, earlier, self.chance)
        if not should_use(reply, self.chance):
            return []
        self.open = None
        return [{"text": line, "context": True}, {"text": reply.text}]

    def _exchange(self) -> tuple[str, str]:
        """Create the person's next line and the reply."""
        drawn = self.chance.random()
        self.exchanges += 1
        if self.asked and drawn < INTERRUPTED:
            return self._interruption()
        if self.open is None or drawn < INTERRUPTED + LEFT:
            line, reply = self._subject()
            greets = self.exchanges == 1 and self.chance.random() < GREETED
            return (self.chance.choice(GREETINGS) if greets else "") + line, reply
        if drawn > 1 - GOES_ON:
            before = self._line(self.chance.choice(self.open.answered())).rstrip(".!?")
            line, reply = self._subject()
            return f"{before}. {line}", reply
        if drawn < INTERRUPTED + LEFT + ASKED_BACK and self.open.own:
            return self.chance.choice(AND_YOU), self._reply(
                [Answer(answer, (NEW, BACK)) for answer in self.open.own]
            )
        return self._answer(self.open)

    def _subject(self) -> tuple[str, str]:
        """Let the person start a new subject."""
        nodes = [node for node in self.nodes.values() if node.opened() and node.name != ANYTIME]
        (node,) = self.chance.choices(nodes, [node.weight for node in nodes])
        led = self.open is None and self.asked and self.chance.random() < LED_OVER
        lead = self.chance.choice(LEADS) if led else ""
        self.filled, self.named, self.open = {}, {}, None
        self.over = node.name == LAST
        use = self.chance.choice(node.opened())
        return lead + self._line(use), self._reply(use.replies)

    def _answer(self, node: Node) -> tuple[str, str]:
        use = self.chance.choice(node.answered())
        line = self._line(use)
        if self.chance.random() < BEGUN:
            line = self.chance.choice(HESITATIONS) + line
        if self.chance.random() < ADDED:
            line = f"{line.rstrip('.!?')}. {self.chance.choice(ADDITIONS)}"
        self.open = None
        if node.own and self.chance.random() < ALSO_ASKED:
            question, answer = self.chance.choice(AND_YOU), self._text(node.own)
            reply = self._text([reply.text for reply in use.replies])
            return f"{line.rstrip('.!?')}. {question}", f"{reply} {answer}"
        return line, self._reply(use.replies)

    def _interruption(self) -> tuple[str, str]:
        use = self.chance.choice([use for use in self.nodes[ANYTIME].opened() if self._usable(use.replies)])
        return self._line(use), self._reply(use.replies)

    def _usable(self, replies: Sequence[Answer]) -> list[Answer]:
        """Replies that need no open question, unless there is one, with the topic filled in."""
        topic = expand(self.open.topic, self.chance) if self.open else ""
        return [
            Answer(reply.text.replace("{topic}", topic), reply.targets)
            for reply in replies
            if topic or ("{topic}" not in reply.text and reply.targets != (BACK,))
        ]

    def _line(self, use: NodeUse) -> str:
        """Choose one of the lines; its slots get new values, and those of the other lines are dropped."""
        for _, key in (name for line in use.lines for name in names(line)):
            self.filled.pop(key, None)
            self.named.pop(key, None)
        return self._fill(self.chance.choice(use.lines)).strip()

    def _reply(self, replies: Sequence[Answer]) -> str:
        """Choose a reply, with the question that follows it, if any."""
        usable = self._usable(replies)
        fitting = [reply for reply in usable if self._fits(reply.text)] or usable
        (reply,) = self.chance.choices(fitting, [_weight(reply.text) for reply in fitting])
        text = self._text([reply.text])
        targets = [target for target in reply.targets if target not in self.asked]
        if not targets:
            return f"{text} {self._raise(sure=not text) if reply.targets else ''}".strip()
        return f"{text} {self._question(self.chance.choice(targets))}".strip()

    def _question(self, target: str) -> str:
        """Ask a node's question."""
        if target == BACK and self.open:
            others = [ask for ask in self.open.asks if ask != self.said_last and self._fits(ask)]
            return self._text(others or [self.said_last])
        return self._raise(sure=True) if target in (BACK, NEW) else self._ask(self.nodes[target])

    def _ask(self, node: Node) -> str:
        if not (fitting := self._newest([ask for ask in node.asks if self._fits(ask)])):
            return self._raise()
        self.open = node
        self.asked.append(node.name)
        (self.said_last,) = self.chance.choices(fitting, [_weight(ask) for ask in fitting])
        return self._text([self.said_last])

    def _raise(self, *, sure: bool = False) -> str:
        """Raise another subject; or nothing, unless `sure`, so that the person must find one."""
        self.open = None
        nodes = [
            node
            for node in self.nodes.values()
            if node.weight and node.name not in self.asked and any(not list(names(ask)) for ask in node.asks)
        ]
        if not nodes or (not sure and self.chance.random() > BOT_RAISES):
            return ""
        (node,) = self.chance.choices(nodes, [node.weight for node in nodes])
        self.filled, self.named = {}, {}
        lead, question = self.chance.choice(TURNS_TO), self._ask(node)
        return lead + (
            question[0].lower() + question[1:]
            if lead.endswith((", ", ": ")) and question[:2] != "I "
            else question
        )

    def _fits(self, text: str) -> bool:
        """True if all slots in a text got their values recently."""
        return all(self.exchanges - self.named.get(key, -REMEMBERED) < REMEMBERED for _, key in names(text))

    def _newest(self, asks: Sequence[str]) -> list[str]:
        """Of the questions with slots, those with the newest slot values."""
        positions = [min((self.named[key] for _, key in names(ask)), default=-1) for ask in asks]
        return [ask for ask, when in zip(asks, positions, strict=True) if when in (-1, max(positions))]

    def _text(self, texts: Sequence[str]) -> str:
        fitting = [text for text in texts if self._fits(text)] or list(texts)
        text = self._fill(self.chance.choice(fitting))
        return re.sub(r"(^|[.!?] )([a-z])", lambda match: match[1] + match[2].upper(), text).strip()

    def _fill(self, template: str) -> str:
        text, before = expand(template, self.chance), set(self.filled)
        filled = fill(text, self.slots, self.filled, self.chance)
        self.named |= dict.fromkeys(self.filled.keys() - before, self.exchanges)
        return filled


def _weight(text: str) -> int:
    """Weight of a reply: one that repeats a word of the person is likelier."""
    return 3 if "{" in text else 1
