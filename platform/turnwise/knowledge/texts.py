"""Words, sentences and extracts of texts: pure functions for building and checking knowledge bases."""

import re
from collections.abc import Sequence
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

SHORT_PARAGRAPH = 50  # words; a shorter first paragraph is joined with the second
LONGEST_SUMMARY = 150  # words
_DAMPING = 0.85

_WORD = re.compile(r"\w+(?:['\u2019\-]\w+)*")
_END = re.compile(r"[.!?…]+[\"'”\u2019)\]]*(?=\s|$)")
_ABBREVIATION = re.compile(
    r"(?:\b(?:[A-Z]|Mr|Mrs|Ms|Dr|Prof|St|Jr|Sr|Gen|Gov|Sen|Rep|Lt|Col|Capt|No|vs|cf|etc|approx|Inc|Ltd|Co"
    r"|Corp|Jan|Feb|Mar|Apr|Jun|Jul|Aug|Sept?|Oct|Nov|Dec)|\b(?:[a-z]\.)+[a-z])\.$"
)
_NEXT = re.compile(r"\s+[\"'“\u2018(\[]*[^\Wa-z_]")


def words(text: str) -> list[str]:
    """Words of a text, as counted in this app; hyphens and apostrophes join."""
    return _WORD.findall(text)


def sentence_ends(text: str) -> list[int]:
    """Ends of the sentences of a text, ascending; the last is the end of the text.

    A stop ends a sentence if a capital or a digit follows, and if it belongs to no abbreviation or initial. A
    blank line always ends a sentence.
    """
    text = text.rstrip()
    ends = {len(text)} if text else set()
    for match in _END.finditer(text):
        if _NEXT.match(text, match.end()) and not _abbreviates(text, match.end()):
            ends.add(match.end())
    for match in re.finditer(r"(?<=\S)[ \t]*\n\s*\n", text):
        ends.add(match.start())
    return sorted(ends)


def _abbreviates(text: str, end: int) -> bool:
    """True if the stop before this position belongs to an abbreviation."""
    return bool(_ABBREVIATION.search(text[max(0, end - 20) : end]))


def sentences(text: str) -> list[str]:
    """Sentences of a text, without the space between them."""
    begins = [0, *sentence_ends(text)]
    found = (text[begin:end].strip() for begin, end in pairwise(begins))
    return [sentence for sentence in found if sentence]


def paragraphs(text: str) -> list[str]:
    """Paragraphs of a text, separated by blank lines, or by line breaks if there are none."""
    divider = r"\n\s*\n" if re.search(r"\n\s*\n", text.strip()) else r"\n"
    return [found for each in re.split(divider, text) if (found := each.strip())]


def shortened(lead: str) -> str:
    """First paragraph of a lead, with the second if the first has fewer than 50 words.

    Source: Gopalakrishnan et al. 2019 (Topical-Chat), section 3.1.
    """
    first, *others = paragraphs(lead) or [""]
    if others and len(words(first)) < SHORT_PARAGRAPH:
        return f"{first}\n\n{others[0]}"
    return first


def summarized(lead: str, most: int = LONGEST_SUMMARY) -> str:
    """Sentences of a lead with the highest TextRank, in their order, with at most `most` words together.

    A lead that is short enough is its own summary.

    Source: Mihalcea & Tarau 2004, section 4: similarity is the number of shared words divided by the sum of
    the logarithms of both lengths. Ties go to the earlier sentence.
    """
    if len(words(lead)) <= most:
        return lead.strip()
    found = sentences(lead)
    weights = text_rank([[word.lower() for word in words(sentence)] for sentence in found])
    chosen: list[int] = []
    words_left = most
    for at in sorted(range(len(found)), key=lambda at: (-round(float(weights[at]), 12), at)):
        if (length := len(words(found[at]))) <= words_left:
            chosen.append(at)
            words_left -= length
    return " ".join(found[at] for at in sorted(chosen))


def text_rank(found: Sequence[Sequence[str]]) -> NDArray[np.float64]:
    """TextRank of each sentence, given as its words; the sum is 1."""
    n = len(found)
    similar = _similarities(found)
    out = similar.sum(axis=0)
    # A sentence that is similar to no other distributes its weight equally.
    steps = np.where(out > 0, similar / np.where(out > 0, out, 1), 1 / n)
    weights = np.full(n, 1 / n)
    for _ in range(200):
        weights = (1 - _DAMPING) / n + _DAMPING * steps @ weights
    return np.asarray(weights / weights.sum())


def _similarities(found: Sequence[Sequence[str]]) -> NDArray[np.float64]:
    """For each two sentences, the number of shared words over the sum of the logarithms of their lengths."""
    columns = {word: at for at, word in enumerate({word for sentence in found for word in sentence})}
    has = np.zeros((len(found), len(columns)))
    for row, sentence in enumerate(found):
        has[row, [columns[word] for word in sentence]] = 1
    logarithms = np.log([len(sentence) or 1 for sentence in found])
    lengths = logarithms[:, None] + logarithms[None, :]
    similar: NDArray[np.float64] = np.divide(
        has @ has.T, lengths, out=np.zeros_like(lengths), where=lengths > 0
    )
    np.fill_diagonal(similar, 0)
    return similar


def similar_parts(text: str, number: int = 4) -> list[str] | None:
    """Split a text at ends of sentences into parts with the most similar numbers of words.

    Among equally good splits, the one with the earliest cuts is used. None if there are fewer sentences than
    parts.
    """
    text = text.strip()
    ends = sentence_ends(text)
    lengths = [len(words(text[a:b])) for a, b in pairwise([0, *ends])]
    cuts = _even_cuts(np.cumsum([0, *lengths]), number)
    if cuts is None:
        return None
    bounds = [0, *(ends[cut - 1] for cut in cuts), len(text)]
    return [text[a:b].strip() for a, b in pairwise(bounds)]


def _even_cuts(before: NDArray[np.int64], number: int) -> list[int] | None:
    """Numbers of sentences after which to cut; `before` counts the words before each sentence.

    The search skips splits with a part further from the mean than the difference of the best known split,
    since they cannot be better.
    """
    n, mean = len(before) - 1, int(before[-1]) / number
    if n < number:
        return None
    # Starts with cuts nearest to equal parts, as far as there are sentences before and after.
    known: list[int] = []
    for part in range(1, number):
        nearest = int(np.argmin(np.abs(before - mean * part)))
        known.append(max(known[-1] + 1 if known else 1, min(nearest, n - number + part)))
    best = (_difference(before, known), known)

    def search(cuts: list[int]) -> None:
        nonlocal best
        start = cuts[-1] if cuts else 0
        for cut in range(start + 1, n - number + len(cuts) + 2):
            length = int(before[cut] - before[start])
            if length > mean + best[0]:
                break
            if length < mean - best[0]:
                continue
            found = [*cuts, cut]
            if len(found) < number - 1:
                search(found)
            else:
                best = min(best, (_difference(before, found), found))

    search([])
    return best[1]


def _difference(before: NDArray[np.int64], cuts: Sequence[int]) -> int:
    bounds = before[[0, *cuts, len(before) - 1]]
    lengths = np.diff(bounds)
    return int(lengths.max() - lengths.min())
