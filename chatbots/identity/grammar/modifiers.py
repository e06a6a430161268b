"""Variants of words: how people spell, shorten and drop them.

A file of modifiers has one line per word or pair of words:

    you 20 : u | ya         "you" is kept 20 times as often as each variant is written
    human 150 : humna       a slip of the keyboard
    ? 3 : ~                 a question mark is dropped once in four times

A mark that ends in an underscore has no space after it: "hi,are you".
"""

from collections.abc import Mapping
from pathlib import Path

from chatbots.identity.grammar.notation import (
    RULES,
    Choice,
    Grammar,
    GrammarError,
    Phrase,
    Reference,
    Rule,
    Symbol,
    tokens,
)

_MARK = "~"  # cannot begin the name of a rule that somebody wrote


def load_modifiers(path: Path = RULES / "modifiers.txt") -> dict[tuple[str, ...], Rule]:
    """The modifiers of a file: words as the grammar writes them → the rule that takes their place.

    Raises:
        GrammarError: a line cannot be used.
    """
    found: dict[tuple[str, ...], Rule] = {}
    for number, line in enumerate(path.read_text("utf-8").splitlines(), 1):
        content = line.split("#")[0].strip()
        if not content:
            continue
        original, colon, variants = content.partition(" : ")
        *words, weight = original.split()
        if not (colon and words and weight.isdecimal() and int(weight)):
            raise GrammarError(f"{path.name}, line {number}: write words, a weight, ' : ' and variants.")
        _add(found, tuple(words), float(weight), [tuple(tokens(text)) for text in variants.split("|")])
    return found


def _add(
    found: dict[tuple[str, ...], Rule], words: tuple[str, ...], weight: float, variants: list[tuple[str, ...]]
) -> None:
    """Lines for the same words: each variant keeps its chance against the original."""
    name = _MARK + " ".join(words)
    old = found[words].choices[1:] if words in found else ()
    new = [Choice(1 / weight, (Phrase(text),) if text != (_MARK,) else ()) for text in variants]
    found[words] = Rule(name, (Choice(1.0, (Phrase(words),)), *old, *new), whole=True)


def modified(grammar: Grammar, modifiers: Mapping[tuple[str, ...], Rule]) -> Grammar:
    """The grammar with each word that has variants replaced by a rule for them; pairs before single words."""
    rules = {
        rule.name: Rule(
            rule.name,
            tuple(Choice(choice.weight, _modified(choice, modifiers)) for choice in rule.choices),
            rule.category,
            rule.whole,
        )
        for rule in grammar.rules.values()
    }
    return Grammar(rules | {rule.name: rule for rule in modifiers.values()})


def _modified(choice: Choice, modifiers: Mapping[tuple[str, ...], Rule]) -> tuple[Symbol, ...]:
    symbols: list[Symbol] = []
    for symbol in choice.symbols:
        symbols.extend([symbol] if isinstance(symbol, Reference) else _pieces(symbol.words, modifiers))
    return tuple(symbols)


def _pieces(words: tuple[str, ...], modifiers: Mapping[tuple[str, ...], Rule]) -> list[Symbol]:
    pieces: list[Symbol] = []
    at = 0
    while at < len(words):
        for length in (2, 1):
            rule = modifiers.get(words[at : at + length])
            if rule is not None:
                break
        pieces.append(Reference(rule.name) if rule else Phrase(words[at : at + 1]))
        at += length
    return pieces
