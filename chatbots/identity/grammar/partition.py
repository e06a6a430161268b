"""Dividing a grammar within its rules, so that a split has phrasings that no other has.

Source: Gros et al. 2021, appendix A. Of each rule the likeliest choices, up to a quarter of the probability,
go into every split; each of the others into one alone.
"""

import hashlib
from collections.abc import Sequence
from enum import StrEnum

from chatbots.identity.grammar.notation import Choice, Grammar, Reference, Rule

SHARED_MASS = 0.25
SHARES = {"train": 0.70, "validation": 0.15, "test": 0.15}
FEWEST = len(SHARES)
"""A rule with fewer choices than this to divide stays whole."""


class Split(StrEnum):
    """A part of the strings of a grammar."""

    TRAIN = "train"
    VALIDATION = "validation"
    TEST = "test"


def partitioned(grammar: Grammar, seed: int = 0) -> dict[Split, Grammar]:
    """A grammar for each split.

    Args:
        grammar: whole.
        seed: of the keyed hash that orders a rule's choices; the same seed gives the same division.
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
    """The likeliest choices, as many as reach `SHARED_MASS` together, and the others."""
    ranked = sorted(rule.choices, key=lambda choice: (-choice.weight, _hash(rule, choice, seed)))
    total = sum(choice.weight for choice in ranked)
    mass, count = 0.0, 0
    while mass < SHARED_MASS * total:
        mass += ranked[count].weight
        count += 1
    return ranked[:count], ranked[count:]


def _ends(count: int) -> Sequence[int]:
    """Where the choices of each split end: at least one each, the rest by `SHARES`."""
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
