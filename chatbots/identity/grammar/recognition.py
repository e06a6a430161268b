"""Recognise strings of a grammar by Lark's Earley parser.

An Earley parser considers all choices that could begin at a word, too many for a grammar of thousands. So for
each text it gets only choices that can take part: their phrases all occur in the text, and their rules keep a
choice. A derivation of the text uses no others, so nothing is lost.

A text longer than any string of the grammar is refused without parsing, which bounds the time.
"""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from copy import copy
from dataclasses import dataclass
from typing import Any

from lark import Token
from lark.common import LexerConf, ParserConf
from lark.exceptions import UnexpectedInput
from lark.grammar import NonTerminal, Rule, RuleOptions, Terminal
from lark.grammar import Symbol as LarkSymbol
from lark.parsers.earley import Parser

from chatbots.identity.grammar.notation import ROOTS, Grammar, Phrase, Reference, Symbol, load, tokens
from chatbots.identity.labels import Label

MOST_CHARACTERS = 4_000
"""Longer texts belong to no grammar and are not read."""


@dataclass(frozen=True, slots=True)
class _Production:
    rule: Rule
    category: str | None
    origin: Reference
    needs: frozenset[Symbol]


class _Tokens:
    """Adapter that passes words to the parser in place of its lexer."""

    def __init__(self, words: Sequence[str]) -> None:
        self._words = words

    def lex(self, _: object) -> Iterator[Token]:
        return (Token(word, word) for word in self._words)


class Recogniser:
    """Parser that finds the roots of a grammar that derive a text. Thread-safe; stores no text.

    Args:
        grammar: without variants of words; None: the shipped one.
    """

    def __init__(self, grammar: Grammar | None = None) -> None:
        grammar = grammar or load()
        self._productions = list(_productions(grammar))
        self._longest = _longest(grammar)
        self._users: dict[Symbol, list[int]] = {}
        self._widest = max(len(s.words) for s in grammar.symbols() if isinstance(s, Phrase))
        for number, production in enumerate(self._productions):
            for symbol in production.needs:
                self._users.setdefault(symbol, []).append(number)
        self._parser = _parser(self._productions)
        self._open = [len(production.needs) for production in self._productions]
        self._empty = [n for n, production in enumerate(self._productions) if not production.needs]

    def categories(self, text: str) -> dict[Label, str]:
        """Map the labels whose root derives a text to the category of one derivation ("" without one).

        Args:
            text: any; case, outer spaces and spaces before marks do not matter.
        """
        words = tokens(text) if len(text) <= MOST_CHARACTERS else []
        if not words or len(words) > max(self._longest[root] for root in ROOTS.values()):
            return {}
        parser = copy(self._parser)
        parser.predictions = self._possible(words)
        return {
            label: category
            for label, root in ROOTS.items()
            if NonTerminal(root) in parser.predictions
            and (category := _parsed(parser, root, words)) is not None
        }

    def _phrases_of(self, words: Sequence[str]) -> set[Symbol]:
        """Collect the runs of words in the text, up to the length of the grammar's longest phrase."""
        return {
            Phrase(tuple(words[start:end]))
            for start in range(len(words))
            for end in range(start + 1, min(start + self._widest, len(words)) + 1)
        }

    def _possible(self, words: Sequence[str]) -> defaultdict[NonTerminal, list[Rule]]:
        """By rule, the choices whose parts can all be derived from the words."""
        missing = self._open.copy()
        symbols: set[Symbol] = self._phrases_of(words)
        waiting = list(symbols)
        possible: defaultdict[NonTerminal, list[Rule]] = defaultdict(list)
        fresh = list(self._empty)
        while waiting or fresh:
            for number in fresh:
                production = self._productions[number]
                possible[production.rule.origin].append(production.rule)
                if production.origin not in symbols:
                    symbols.add(production.origin)
                    waiting.append(production.origin)
            fresh = []
            for number in self._users.get(waiting.pop(), ()) if waiting else ():
                missing[number] -= 1
                if not missing[number]:
                    fresh.append(number)
        return possible


def _productions(grammar: Grammar) -> Iterator[_Production]:
    for rule in grammar.rules.values():
        for order, choice in enumerate(rule.choices):
            symbols: list[LarkSymbol] = []
            for symbol in choice.symbols:
                symbols += (
                    map(Terminal, symbol.words) if isinstance(symbol, Phrase) else [NonTerminal(symbol.name)]
                )
            lark_rule = Rule(NonTerminal(rule.name), symbols, order, None, RuleOptions())
            yield _Production(lark_rule, rule.category, Reference(rule.name), frozenset(choice.symbols))


def _longest(grammar: Grammar) -> dict[str, int]:
    """Largest number of words in a string of each rule."""
    longest: dict[str, int] = {}
    for name in grammar.order:
        longest[name] = max(
            sum(len(s.words) if isinstance(s, Phrase) else longest[s.name] for s in choice.symbols)
            for choice in grammar.rules[name].choices
        )
    return longest


def _parser(productions: Sequence[_Production]) -> Parser:
    callbacks: dict[Any, Callable[..., Any]] = {
        each.rule: _category_of(each.category) for each in productions
    }
    configuration = ParserConf([each.rule for each in productions], callbacks, list(ROOTS.values()))
    lexer = LexerConf([], None)  # type: ignore[arg-type]  # words need no lexing
    return Parser(lexer, configuration, lambda terminal, token: terminal.name == token.type)


def _parsed(parser: Parser, root: str, words: Sequence[str]) -> str | None:
    """Category of one derivation of the words from the root; None without a derivation."""
    try:
        return str(parser.parse(_Tokens(words), root))  # type: ignore[no-untyped-call]
    except UnexpectedInput:
        return None


def _category_of(category_of_rule: str | None) -> Callable[[Sequence[Any]], str]:
    def category(children: Sequence[Any]) -> str:
        return category_of_rule or next(
            (child for child in children if child and not isinstance(child, Token)), ""
        )

    return category


def conflicts(matches: Iterable[Mapping[Label, str]]) -> Counter[tuple[Label, ...]]:
    """Count texts that several roots derive: labels → texts."""
    return Counter(tuple(labels) for labels in matches if len(labels) > 1)
