"""Drawing strings from a grammar."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate, cycle
from random import Random

from chatbots.identity.grammar.modifiers import load_modifiers, modified
from chatbots.identity.grammar.notation import ROOTS, Grammar, Phrase, Reference, Symbol, joined, load
from chatbots.identity.grammar.partition import Split, partitioned
from chatbots.identity.labels import Label

TRIES = 10
"""How often a string is drawn at most for each that is wanted."""


@dataclass(frozen=True, slots=True)
class Sample:
    """A string of a grammar.

    Attributes:
        text: lower case, without outer spaces, not empty.
        label: of the root it was drawn from.
        category: of the guide; of the first rule on the way down that has one.
        split: the split whose grammar it was drawn from.
    """

    text: str
    label: Label
    category: str
    split: Split


class Sampler:
    """Draws from one grammar.

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
        """One string and its category ("" if no rule on the way has one)."""
        words: list[str] = []
        category = self._draw(Reference(root), words)
        return joined(words).lower(), category

    def _draw(self, symbol: Symbol, words: list[str]) -> str:
        if isinstance(symbol, Phrase):
            words.extend(symbol.words)
            return ""
        rule = self._rules[symbol.name]
        [choice] = self._random.choices(rule.choices, cum_weights=self._cumulative[symbol.name])
        found = [self._draw(part, words) for part in choice.symbols]
        return rule.category or next(filter(None, found), "")


def sample(
    counts: Mapping[Label, Mapping[Split, int]],
    *,
    seed: int = 0,
    grammar: Grammar | None = None,
    with_variants: bool = True,
) -> list[Sample]:
    """Strings from the splits in turn, none twice.

    Args:
        counts: how many are wanted of each label and split.
        seed: of the drawing; the division into splits does not depend on it.
        grammar: the one that ships if None.
        with_variants: whether words are varied by the modifiers.

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
        drawn for label, wanted in counts.items() for drawn in _round_robin(samplers, label, wanted, seen)
    ]


def _round_robin(
    samplers: Mapping[Split, Sampler], label: Label, wanted: Mapping[Split, int], seen: set[str]
) -> Iterator[Sample]:
    left = {split: count for split, count in wanted.items() if count > 0}
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
    """A count divided among splits by their shares; the first takes what rounding leaves.

    Args:
        count: at least 0.
        shares: of each split, in [0, 1]; they sum to 1.
    """
    rounded = {Split(name): round(count * share) for name, share in shares.items()}
    first = next(iter(rounded))
    rounded[first] += count - sum(rounded.values())
    return rounded


def texts_of(samples: Sequence[Sample]) -> list[str]:
    """The strings alone."""
    return [each.text for each in samples]
