"""Grammars as text files.

    # A comment.
    machine:                              a rule; its choices are indented
        10 a robot | a chatbot            a weight (1 if left out) and choices that have it each
        an [actual] {device}              [may be left out], {another rule}
        ~                                 nothing
    plain (1):                            what this rule derives is of category 1
    greeting, whole:                      not divided among train, validation and test

A grammar may not be recursive: its strings are finite in number and length, which bounds all work with it.

A grammar as EBNF that Lark reads, for use elsewhere.
"""

import itertools
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TypeAlias

from chatbots.identity.labels import Label

RULES = Path(__file__).parent / "rules"
ROOTS: dict[Label, str] = {
    Label.POSITIVE: "positive",
    Label.AMBIGUOUS: "ambiguous",
    Label.NEGATIVE: "negative",
}

_HEADER = re.compile(r"(?P<name>[a-z][a-z0-9_]*)(?: \((?P<category>\w+)\))?(?P<whole>, whole)?:")
_WEIGHTED = re.compile(r"(?:(?P<weight>\d+(?:\.\d+)?)\s+)?(?P<rest>.+)")
_PIECE = re.compile(r"\{(?P<name>\w+)\}|(?P<text>[^{}]+)")
_TOKEN = re.compile(r"[?!.,]+_?|[^\s?!.,]+")
_NOTHING = "~"
_LEFT_OUT = 2.0
"""Odds of leaving an optional part out."""


class GrammarError(ValueError):
    """A grammar that cannot be used; says where, what and what to do."""


@dataclass(frozen=True, slots=True)
class Phrase:
    """Sequence of words and punctuation marks."""

    words: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Reference:
    """All strings that another rule derives."""

    name: str


Symbol: TypeAlias = Phrase | Reference


@dataclass(frozen=True, slots=True)
class Choice:
    """One way to write a rule.

    Attributes:
        weight: relative to the other choices of the rule, above 0.
        symbols: in order; empty for nothing.
    """

    weight: float
    symbols: tuple[Symbol, ...]


@dataclass(frozen=True, slots=True)
class Rule:
    """A rule of a grammar.

    Attributes:
        name: by which other rules refer to it.
        choices: at least one.
        category: category of its strings, one of `CATEGORIES`; None if it sets none.
        whole: True if all choices go into each split.
    """

    name: str
    choices: tuple[Choice, ...]
    category: str | None = None
    whole: bool = False


@dataclass(frozen=True)
class Grammar:
    """Rules by name, without recursion."""

    rules: Mapping[str, Rule]

    def __post_init__(self) -> None:
        """Refuse rules that are missing or that lead to themselves.

        Raises:
            GrammarError: names the rule.
        """
        for rule in self.rules.values():
            for name in _references(rule):
                if name not in self.rules:
                    raise GrammarError(
                        f"rule {rule.name}: there is no rule {name}. Write it or fix the name."
                    )
        _ = self.order

    @cached_property
    def order(self) -> tuple[str, ...]:
        """Names of the rules, each after those that it refers to."""
        done: dict[str, None] = {}
        for name in self.rules:
            self._visit(name, done, [])
        return tuple(done)

    def _visit(self, name: str, done: dict[str, None], path: list[str]) -> None:
        if name in path:
            around = " -> ".join([*path[path.index(name) :], name])
            raise GrammarError(f"rule {name} leads to itself: {around}. A grammar may not be recursive.")
        if name not in done:
            for below in _references(self.rules[name]):
                self._visit(below, done, [*path, name])
            done[name] = None

    def reachable(self, root: str) -> "Grammar":
        """Return the part of the grammar that `root` needs."""
        names = {root}
        for name in reversed(self.order):
            if name in names:
                names.update(_references(self.rules[name]))
        return Grammar({name: rule for name, rule in self.rules.items() if name in names})

    def symbols(self) -> set[Symbol]:
        """Collect every different phrase, and every rule."""
        used = {
            symbol for rule in self.rules.values() for choice in rule.choices for symbol in choice.symbols
        }
        return used | {Reference(name) for name in self.rules}

    def derivations(self, root: str) -> int:
        """Count the ways to derive a string from `root`; a string may have several."""
        counts: dict[str, int] = {}
        for name in self.order:
            counts[name] = sum(_product(choice, counts) for choice in self.rules[name].choices)
        return counts[root]

    def strings(self, root: str) -> Iterator[str]:
        """Yield every string of `root`, some of them several times."""
        for words in self._expanded(Reference(root)):
            yield joined(words)

    def _expanded(self, symbol: Symbol) -> Iterator[tuple[str, ...]]:
        if isinstance(symbol, Phrase):
            yield symbol.words
            return
        for choice in self.rules[symbol.name].choices:
            parts = [list(self._expanded(part)) for part in choice.symbols[1:]]
            for first in self._expanded(choice.symbols[0]) if choice.symbols else [()]:
                for rest in itertools.product(*parts):
                    yield first + tuple(itertools.chain.from_iterable(rest))


def load(folder: Path = RULES) -> Grammar:
    """Load the grammar of a folder: all its files `*.grammar` together.

    Raises:
        GrammarError: the folder has none, or a file cannot be used.
    """
    paths = sorted(folder.glob("*.grammar"))
    if not paths:
        raise GrammarError(f"{folder}: there is no file *.grammar. Give the folder of a grammar.")
    rules: dict[str, Rule] = {}
    for path in paths:
        for rule in parse(path.read_text("utf-8"), path.name):
            if rule.name in rules:
                raise GrammarError(f"{path.name}: rule {rule.name} is written twice. Rename one.")
            rules[rule.name] = rule
    return Grammar(rules)


def parse(text: str, origin: str = "grammar") -> list[Rule]:
    """Parse the rules of one file.

    Args:
        text: in the notation of this module.
        origin: name of the file in errors.

    Raises:
        GrammarError: with the line.
    """
    blocks: list[tuple[re.Match[str], list[Choice]]] = []
    for number, line in enumerate(text.splitlines(), 1):
        content = line.split("#")[0].rstrip()
        if not content:
            continue
        try:
            if content[0].isspace():
                _choices_into(blocks, content.strip())
            else:
                blocks.append((_header(content), []))
        except GrammarError as error:
            raise GrammarError(f"{origin}, line {number}: {error}") from None
    return [_rule(origin, header, choices) for header, choices in blocks]


def tokens(text: str) -> list[str]:
    """Split a text into lower-case words and runs of punctuation marks, as in grammars."""
    return _TOKEN.findall(text.lower().replace("\u2019", "'"))


def joined(words: Iterable[str]) -> str:
    """Join words to text: no space before a mark, and none after one that ends in an underscore."""
    return re.sub(r" ([?!.,]+)", r"\1", " ".join(words)).replace("_ ", "").removesuffix("_").strip()


def _header(content: str) -> re.Match[str]:
    if header := _HEADER.fullmatch(content):
        return header
    raise GrammarError(
        f"'{content}' is not the header of a rule. Write name:, name (category): or name, whole:"
    )


def _choices_into(blocks: Sequence[tuple[object, list[Choice]]], content: str) -> None:
    if not blocks:
        raise GrammarError("a choice before the first rule. Write the rule's name above it.")
    weighted = _WEIGHTED.fullmatch(content)
    assert weighted is not None
    weight = float(weighted["weight"] or 1)
    if weight == 0:
        raise GrammarError("a weight of 0. Leave the choice out.")
    for alternative in weighted["rest"].split("|"):
        blocks[-1][1].extend(_expanded(weight, alternative.strip()))


def _expanded(weight: float, text: str) -> Iterator[Choice]:
    """Yield a choice, then without its first optional part, and so on."""
    before, bracket, rest = text.partition("[")
    if not bracket:
        yield Choice(weight, _symbols(text))
        return
    optional, closing, after = rest.partition("]")
    if not closing:
        raise GrammarError("'[' without ']'. Close it.")
    yield from _expanded(weight / (1 + _LEFT_OUT), f"{before} {optional} {after}")
    yield from _expanded(weight * _LEFT_OUT / (1 + _LEFT_OUT), f"{before} {after}")


def _symbols(text: str) -> tuple[Symbol, ...]:
    if text.strip() == _NOTHING:
        return ()
    pieces = list(_PIECE.finditer(text))
    if not text.strip() or "".join(piece[0] for piece in pieces) != text:
        raise GrammarError(f"'{text}' is not a choice. Write words, {{rule}} or {_NOTHING} for nothing.")
    symbols = [
        Reference(piece["name"]) if piece["name"] else Phrase(tuple(tokens(piece[0]))) for piece in pieces
    ]
    return tuple(symbol for symbol in symbols if symbol != Phrase(()))


def _rule(origin: str, header: re.Match[str], choices: Sequence[Choice]) -> Rule:
    if not choices:
        raise GrammarError(f"{origin}: rule {header['name']} has no choices. Indent them below it.")
    merged: dict[tuple[Symbol, ...], float] = {}
    for choice in choices:
        merged[choice.symbols] = merged.get(choice.symbols, 0) + choice.weight
    choices = tuple(Choice(weight, symbols) for symbols, weight in merged.items())
    return Rule(header["name"], choices, header["category"], bool(header["whole"]))


def _references(rule: Rule) -> Iterator[str]:
    for choice in rule.choices:
        yield from (symbol.name for symbol in choice.symbols if isinstance(symbol, Reference))


def _product(choice: Choice, counts: Mapping[str, int]) -> int:
    product = 1
    for symbol in choice.symbols:
        product *= counts[symbol.name] if isinstance(symbol, Reference) else 1
    return product


def ebnf(grammar: Grammar, root: str) -> str:
    """Write the part of a grammar below a root in Lark's notation; words are separated by spaces."""
    rules = grammar.reachable(root).rules.values()
    lines = [f"start: {root}"]
    for rule in rules:
        lines.append(f"{rule.name}: " + "\n    | ".join(_alternative(choice) for choice in rule.choices))
    return "\n".join([*lines, "%ignore /\\s+/", ""])


def _alternative(choice: Choice) -> str:
    parts = [
        " ".join(map(_quoted, symbol.words)) if isinstance(symbol, Phrase) else symbol.name
        for symbol in choice.symbols
    ]
    return " ".join(parts)


def _quoted(word: str) -> str:
    escaped = word.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'
