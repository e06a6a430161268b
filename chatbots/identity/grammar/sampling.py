"""Draw strings from a grammar, with variants of words, and divide a grammar into splits.

Variants of words are how people spell, shorten and drop them. A file of modifiers has one line per word or
pair of words:

    you 20 : u | ya         "you" is kept 20 times as often as each variant is written
    human 150 : humna       a slip of the keyboard
    ? 3 : ~                 a question mark is dropped once in four times

A mark that ends in an underscore has no space after it: "hi,are you".

A grammar is divided within its rules, so that each split has phrasings that no other has. Source: Gros et al.
2021, appendix A. Of each rule the likeliest choices, up to a quarter of the probability, go into every split;
each other choice goes into one.
"""

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from itertools import accumulate, cycle
from pathlib import Path
from random import Random

from chatbots.identity.grammar.notation import (
    ROOTS,
    RULES,
    Choice,
    Grammar,
    GrammarError,
    Phrase,
    Reference,
    Rule,
    Symbol,
    joined,
    load,
    tokens,
)
from chatbots.identity.labels import Label

_MARK = "~"  # no written rule's name can begin with it


def load_modifiers(path: Path = RULES / "modifiers.txt") -> dict[tuple[str, ...], Rule]:
    """Read a file of modifiers: words as the grammar writes them → the rule that replaces them.

    Raises:
        GrammarError: a line cannot be used.
    """
    rules: dict[tuple[str, ...], Rule] = {}
    for number, line in enumerate(path.read_text("utf-8").splitlines(), 1):
        content = line.split("#")[0].strip()
        if not content:
            continue
        original, colon, variants = content.partition(" : ")
        *words, weight = original.split()
        if not (colon and words and weight.isdecimal() and int(weight)):
            raise GrammarError(f"{path.name}, line {number}: write words, a weight, ' : ' and variants.")
        _add(rules, tuple(words), float(weight), [tuple(tokens(text)) for text in variants.split("|")])
    return rules


def _add(
    rules: dict[tuple[str, ...], Rule], words: tuple[str, ...], weight: float, variants: list[tuple[str, ...]]
) -> None:
    """Add a line for words that may have one: each variant keeps its odds against the original."""
    name = _MARK + " ".join(words)
    old = rules[words].choices[1:] if words in rules else ()
    new = [Choice(1 / weight, (Phrase(text),) if text != (_MARK,) else ()) for text in variants]
    rules[words] = Rule(name, (Choice(1.0, (Phrase(words),)), *old, *new), whole=True)


def modified(grammar: Grammar, modifiers: Mapping[tuple[str, ...], Rule]) -> Grammar:
    """Replace each word that has variants by a rule for them; pairs before single words."""
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


SHARED_MASS = 0.25
SHARES = {"train": 0.70, "validation": 0.15, "test": 0.15}
FEWEST = len(SHARES)
"""A rule with fewer choices to divide stays whole."""


class Split(StrEnum):
    """A part of the strings of a grammar."""

    TRAIN = "train"
    VALIDATION = "validation"
    TEST = "test"


def partitioned(grammar: Grammar, seed: int = 0) -> dict[Split, Grammar]:
    """Divide a grammar into one for each split.

    Args:
        grammar: undivided.
        seed: seed of the keyed hash that orders a rule's choices; the same seed gives the same division.
    """
    divided = {rule.name: _divided(rule, seed) for rule in grammar.rules.values()}
    return {
        split: Grammar(
            {
                rule.name: Rule(rule.name, divided[rule.name][split], rule.category, rule.whole)
                for rule in grammar.rules.values()
            }
        )
        for split in Split
    }


def _divided(rule: Rule, seed: int) -> dict[Split, tuple[Choice, ...]]:
    shared, rest = _leading(rule, seed)
    if rule.whole or len(rest) < FEWEST:
        return dict.fromkeys(Split, rule.choices)
    rest = sorted(rest, key=lambda choice: _hash(rule, choice, seed))
    ends = _ends(len(rest))
    starts = (0, *ends[:-1])
    return {split: (*shared, *rest[start:end]) for split, start, end in zip(Split, starts, ends, strict=True)}


def _leading(rule: Rule, seed: int) -> tuple[list[Choice], list[Choice]]:
    """The likeliest choices that together reach `SHARED_MASS`, and the others."""
    ranked = sorted(rule.choices, key=lambda choice: (-choice.weight, _hash(rule, choice, seed)))
    total = sum(choice.weight for choice in ranked)
    mass, count = 0.0, 0
    while mass < SHARED_MASS * total:
        mass += ranked[count].weight
        count += 1
    return ranked[:count], ranked[count:]


def _ends(count: int) -> Sequence[int]:
    """End of each split's choices: at least one each, the rest by `SHARES`."""
    validation = max(1, round(SHARES["validation"] * count))
    test = max(1, round(SHARES["test"] * count))
    return count - validation - test, count - test, count


def _hash(rule: Rule, choice: Choice, seed: int) -> bytes:
    words = [
        f"{{{symbol.name}}}" if isinstance(symbol, Reference) else " ".join(symbol.words)
        for symbol in choice.symbols
    ]
    text = f"{rule.name}\0{' '.join(words)}".encode()
    return hashlib.blake2b(text, key=seed.to_bytes(8, "big"), digest_size=16).digest()


TRIES = 10
"""Largest number of draws for each wanted string."""


@dataclass(frozen=True, slots=True)
class Sample:
    """A string of a grammar.

    Attributes:
        text: lower case, without outer spaces, not empty.
        label: label of the root it was drawn from.
        category: category of the guide, from the first rule in the derivation that has one.
        split: the split whose grammar it was drawn from.
    """

    text: str
    label: Label
    category: str
    split: Split


class Sampler:
    """Sampler of one grammar.

    Args:
        grammar: to draw from.
        seed: makes what is drawn repeatable.
    """

    def __init__(self, grammar: Grammar, seed: int) -> None:
        self._rules = grammar.rules
        self._random = Random(seed)
        self._cumulative = {
            name: list(accumulate(choice.weight for choice in rule.choices))
            for name, rule in grammar.rules.items()
        }

    def draw(self, root: str) -> tuple[str, str]:
        """Draw one string and its category ("" if no rule in the derivation has one)."""
        words: list[str] = []
        category = self._draw(Reference(root), words)
        return joined(words).lower(), category

    def _draw(self, symbol: Symbol, words: list[str]) -> str:
        if isinstance(symbol, Phrase):
            words.extend(symbol.words)
            return ""
        rule = self._rules[symbol.name]
        [choice] = self._random.choices(rule.choices, cum_weights=self._cumulative[symbol.name])
        categories = [self._draw(part, words) for part in choice.symbols]
        return rule.category or next(filter(None, categories), "")


def sample(
    counts: Mapping[Label, Mapping[Split, int]],
    *,
    seed: int = 0,
    grammar: Grammar | None = None,
    with_variants: bool = True,
) -> list[Sample]:
    """Draw strings from the splits in turn, none twice.

    Args:
        counts: wanted number for each label and split.
        seed: seed of the drawing; the division into splits does not depend on it.
        grammar: None: the shipped one.
        with_variants: True to vary words by the modifiers.

    Returns:
        Label by label; fewer than wanted of a split for which `TRIES` times as many draws did not suffice.
    """
    grammars = partitioned(grammar or load())
    if with_variants:
        modifiers = load_modifiers()
        grammars = {split: modified(each, modifiers) for split, each in grammars.items()}
    samplers = {split: Sampler(each, seed * 1_000 + n) for n, (split, each) in enumerate(grammars.items())}
    seen: set[str] = set()
    return [
        drawn
        for label, split_counts in counts.items()
        for drawn in _round_robin(samplers, label, split_counts, seen)
    ]


def _round_robin(
    samplers: Mapping[Split, Sampler], label: Label, split_counts: Mapping[Split, int], seen: set[str]
) -> Iterator[Sample]:
    left = {split: count for split, count in split_counts.items() if count > 0}
    tries = {split: TRIES * count for split, count in left.items()}
    for split in cycle(tuple(left)):
        if not left:
            return
        if split not in left:
            continue
        text, category = samplers[split].draw(ROOTS[label])
        tries[split] -= 1
        if text and text not in seen:
            seen.add(text)
            left[split] -= 1
            yield Sample(text, label, category, split)
        if not left[split] or not tries[split]:
            del left[split]


def by_shares(count: int, shares: Mapping[str, float]) -> dict[Split, int]:
    """Divide a count among splits by their shares; the first gets the rounding remainder.

    Args:
        count: at least 0.
        shares: shares of each split, in [0, 1]; they sum to 1.
    """
    rounded = {Split(name): round(count * share) for name, share in shares.items()}
    first = next(iter(rounded))
    rounded[first] += count - sum(rounded.values())
    return rounded


def texts_of(samples: Sequence[Sample]) -> list[str]:
    """The texts of the samples."""
    return [each.text for each in samples]
