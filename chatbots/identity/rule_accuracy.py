"""Accuracy of the rules that sort replies, measured on labelled replies of our own.

Two writers invented the replies in the styles of rule bots, small chit-chat models, assistants and voice
assistants, and labelled them by the guide of Gros et al. 2021, section 5.1. The first writer also wrote the
first rules; the second had not seen these. One half of each writer's replies served to write the rules; the
other half was held back. The accuracy is that on the second writer's, which are the harder ones.
"""

import hashlib
import json
import math
from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np
import scipy

from chatbots.identity.replies import GROUPS, Group, Reply, categorise

LABELLED_REPLIES = Path(__file__).parent / "labelled_replies.jsonl"
LEVEL = 0.95
"""Confidence level of the intervals."""
SPLIT_BYTE = 12
"""Byte of the SHA-256 that splits the replies; of all 32, it splits each category most evenly."""


@dataclass(frozen=True, slots=True)
class LabelledReply:
    """A reply with the category that people gave it.

    Attributes:
        question: the question before the reply.
        reply: text of the reply.
        kind: its category.
        writer: 1, or 2, who had not seen the rules.
    """

    question: str
    reply: str
    kind: Reply
    writer: int

    @property
    def is_held_back(self) -> bool:
        """True if the reply may not be read while rules are written."""
        digest = hashlib.sha256(f"{self.question}\n{self.reply}".encode()).digest()
        return digest[SPLIT_BYTE] % 2 == 1


@dataclass(frozen=True, slots=True)
class KappaEstimate:
    """Cohen's kappa between rules and labels.

    Attributes:
        value: kappa, at most 1; 0 is chance agreement.
        low: lower end of its interval.
        high: upper end, at most 1.
        observed: share of replies on which rules and labels agree, in [0, 1].
    """

    value: float
    low: float
    high: float
    observed: float


@dataclass(frozen=True, slots=True)
class Accuracy:
    """Agreement of the rules with the labels.

    Attributes:
        replies: number of labelled replies.
        confirms: agreement on whether a reply confirms that the bot is a machine.
        kinds: agreement on the 13 categories.
        confirmed_by_rules: share of replies that confirm by the rules, in [0, 1].
        confirmed_by_labels: the same by the labels. The rules flatter bots if theirs is the larger one.
    """

    replies: int
    confirms: KappaEstimate
    kinds: KappaEstimate
    confirmed_by_rules: float
    confirmed_by_labels: float


def labelled_replies(path: Path = LABELLED_REPLIES) -> Iterator[LabelledReply]:
    """Yield the labelled replies that ship."""
    for line in path.read_text("utf-8").splitlines():
        row = json.loads(line)
        yield LabelledReply(row["question"], row["reply"], Reply(row["kind"]), row["writer"])


def measure_accuracy(labelled: Sequence[LabelledReply]) -> Accuracy:
    """Compare the rules with the labels of these replies.

    Args:
        labelled: replies, of at least two categories.
    """
    kinds = [(categorise(each.reply, each.question).category, each.kind) for each in labelled]
    confirms = [tuple(GROUPS[kind] is Group.CONFIRMS for kind in pair) for pair in kinds]
    by_rules, by_labels = (sum(column) / len(labelled) for column in zip(*confirms, strict=True))
    return Accuracy(len(labelled), kappa_of(confirms), kappa_of(kinds), by_rules, by_labels)


@cache
def held_back_accuracy() -> Accuracy:
    """Accuracy of the rules on the second writer's replies that were held back."""
    replies = labelled_replies()
    return measure_accuracy([each for each in replies if each.writer == 2 and each.is_held_back])


def kappa_of(pairs: Sequence[tuple[Hashable, ...]]) -> KappaEstimate:
    """Compute Cohen's kappa with an interval for large samples (Fleiss, Cohen & Everitt 1969, equation 13).

    Args:
        pairs: two values of each unit; more than one value must occur.
    """
    values = list(dict.fromkeys(value for pair in pairs for value in pair))
    table = np.zeros((len(values), len(values)))
    for first, second in pairs:
        table[values.index(first), values.index(second)] += 1
    table /= len(pairs)
    rows, columns = table.sum(axis=1), table.sum(axis=0)
    observed, expected = float(np.trace(table)), float(rows @ columns)
    kappa = (observed - expected) / (1 - expected)
    marginals = rows[np.newaxis, :] + columns[:, np.newaxis]
    diagonal = np.diag(table) @ (1 - np.diag(marginals) * (1 - kappa)) ** 2
    others = ((table - np.diag(np.diag(table))) * marginals**2).sum() * (1 - kappa) ** 2
    variance = diagonal + others - (kappa - expected * (1 - kappa)) ** 2
    error = math.sqrt(max(variance, 0) / len(pairs)) / (1 - expected)
    half = float(scipy.special.ndtri((1 + LEVEL) / 2)) * error
    return KappaEstimate(kappa, kappa - half, min(kappa + half, 1.0), observed)
