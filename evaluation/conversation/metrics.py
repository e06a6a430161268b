"""Automatic metrics of conversations: the predictors of Ghandeharioun et al. 2019, arXiv:1906.09308, A.3.

An exchange is a message u(k), the reply b(k), and the following message u(k+1) (`exchanges`). A
conversation's value is the mean over its exchanges. Metrics with a faulty published form also have a
corrected one, which is the default. Undefined values of an exchange are NaN and left out.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import partial
from typing import TypeAlias

import numpy as np

from evaluation.conversation.encoders import Emotions, Encoders, WordVectors
from evaluation.conversation.exchanges import NONE, Exchanges
from evaluation.conversation.similarity import Cut, average, cosines, cut, extrema, greedy, word_rows
from evaluation.statistics.interval import Undefined
from evaluation.statistics.labels import FloatArray, IntArray

MOST_LAUGHTER, MOST_WORDS = 4, 30

ASKING = frozenset(("who", "what", "why", "where", "how", "when"))
# Words of nothing but laughter: "haha", "ahaha", "bwahaha", "ha", "hah"; neither "what" nor "aha".
_LAUGHING = re.compile(r"[abmw]*(?:h+a+){2,}h*|h+a+h*")
_HA = re.compile(r"h+a")


class Variant(StrEnum):
    """Variant of metrics whose published form is faulty."""

    CORRECTED = "corrected"
    PUBLISHED = "published"


@dataclass(frozen=True, slots=True)
class Metric:
    """A figure of a conversation.

    Attributes:
        key: name in files.
        title: name for people; U is the side that gets a reply, B the side that replies.
        about: meaning, with its range.
    """

    key: str
    title: str
    about: str


METRICS = (
    Metric("sentiment", "Sentiment-U", "Sentiment of what follows, from \u22121 to 1."),
    Metric("transition", "Transition-U", "By how much that is above what was said."),
    Metric(
        "min_max", "Min-Max-U", "Slope from lowest to highest sentiment; below 0 if the highest is first."
    ),
    Metric("laughter", "Laughter-U", f"“ha” in words of laughter in what follows, 0 to {MOST_LAUGHTER}."),
    Metric(
        "sentiment_coherence", "Sentiment coherence", "Cosine of the emotions of what is said and the reply."
    ),
    Metric("sentiment_closeness", "Sentiment closeness", "1 minus half the distance of their sentiments."),
    Metric(
        "semantic_similarity", "Semantic similarity", "Cosine of what is said and the reply as sentences."
    ),
    Metric("average_coherence", "AVG coherence", "Cosine of the means of their words."),
    Metric("extrema_coherence", "EXT coherence", "Cosine of the extremes of their words."),
    Metric("greedy_coherence", "GRD coherence", "Mean cosine of each of their words with the nearest."),
    Metric("question", "Question-B", "½ for “?” and ½ for who, what, why, where, how or when in the reply."),
    Metric("words", "Words-U", f"Words in what follows, 0 to {MOST_WORDS}."),
)
"""All metrics, in the order in which they are shown."""


@dataclass(frozen=True, eq=False)
class Measures:
    """The metrics of some conversations.

    Attributes:
        by_exchange: by key, (n,) a value for each exchange; without `min_max`, which conversations have.
        by_conversation: by key, (c,) a value for each conversation; NaN if it has none.
        encoders: by key of each of these metrics, its encoder; empty if it needs none.
        missing: by purpose of a missing encoder, the reason.
    """

    by_exchange: Mapping[str, FloatArray]
    by_conversation: Mapping[str, FloatArray]
    encoders: Mapping[str, str]
    missing: Mapping[str, Undefined]

    @property
    def metrics(self) -> list[Metric]:
        """The metrics that could be computed."""
        return [metric for metric in METRICS if metric.key in self.by_conversation]

    def table(self) -> FloatArray:
        """(c, m) values of the conversations in the order of the metrics."""
        return np.column_stack([self.by_conversation[metric.key] for metric in self.metrics])


Found: TypeAlias = dict[str, FloatArray]


def measured(exchanges: Exchanges, encoders: Encoders, variant: Variant = Variant.CORRECTED) -> Measures:
    """Compute every metric for which there is an encoder.

    Raises:
        EncoderError: an encoder cannot encode these texts; says why.
    """
    words = cut(exchanges.texts)
    columns = _plain(exchanges, words, variant)
    names = dict.fromkeys(columns, "")
    whole: Found = {}
    if feeling := encoders.emotions:
        sentiment = feeling.sentiment(exchanges.texts)
        felt = _sentiments(exchanges, sentiment, variant) | _emotional_coherence(
            exchanges, sentiment, feeling
        )
        columns |= felt
        whole = {"min_max": _min_max(exchanges, sentiment, variant)}
        names |= dict.fromkeys([*felt, *whole], feeling.name)
    if meaning := encoders.sentences:
        vectors = meaning.encode(exchanges.texts)
        alike = _between(exchanges, lambda a, b: cosines(vectors, a, b), lacking=np.nan)
        columns["semantic_similarity"], names["semantic_similarity"] = alike, meaning.name
    if encoders.vectors:
        coherence = _word_coherence(exchanges, words, encoders.vectors, variant)
        columns |= coherence
        names |= dict.fromkeys(coherence, encoders.vectors.name)
    by_conversation = {key: means(exchanges, values) for key, values in columns.items()} | whole
    ordered = {metric.key: by_conversation[metric.key] for metric in METRICS if metric.key in by_conversation}
    return Measures(columns, ordered, names, encoders.missing)


def means(exchanges: Exchanges, values: FloatArray) -> FloatArray:
    """Average a metric over each conversation.

    Args:
        exchanges: e exchanges of c conversations.
        values: (e,) values of a metric; NaN if undefined.

    Returns:
        (c,) means of the values that are not NaN; NaN without any.
    """
    there = ~np.isnan(values)
    conversations = exchanges.conversation[there]
    sums = np.bincount(conversations, values[there], exchanges.conversations)
    with np.errstate(invalid="ignore"):
        mean: FloatArray = sums / np.bincount(conversations, minlength=exchanges.conversations)
    return mean


# --- what needs no encoder ---------------------------------------------------------------------------


def laughs(word: str) -> int:
    """Count "ha" in a word that is only laughter; 0 for other words."""
    return len(_HA.findall(word)) if _LAUGHING.fullmatch(word) else 0


def asks(word: str) -> bool:
    """True for who, what, why, where, how and when, alone or as in "what's"."""
    return word.partition("'")[0] in ASKING


def _plain(exchanges: Exchanges, words: Cut, variant: Variant) -> Found:
    asking = 0.5 * _each(_has_mark, exchanges.texts) + 0.5 * (words.total(asks) > 0)
    lengths = np.minimum(_each(_word_count, exchanges.texts), MOST_WORDS)
    return {
        "laughter": _of_following(exchanges, _laughter(exchanges.texts, words, variant), variant),
        "question": _at(asking, exchanges.reply, lacking=np.nan),
        "words": _of_following(exchanges, lengths, variant),
    }


def _laughter(texts: Sequence[str], words: Cut, variant: Variant) -> FloatArray:
    """Count "ha". Published: anywhere, also in "what" and "that". Corrected: in words of laughter only."""
    counts = _each(_published_laughter, texts) if variant is Variant.PUBLISHED else words.total(laughs)
    return np.minimum(counts, MOST_LAUGHTER)


def _published_laughter(text: str) -> int:
    return text.lower().count("ha")


def _has_mark(text: str) -> bool:
    return "?" in text


def _word_count(text: str) -> int:
    return len(text.split())


def _each(measure: Callable[[str], float], texts: Sequence[str]) -> FloatArray:
    return np.fromiter(map(measure, texts), np.float64, len(texts))


def _at(of_texts: FloatArray, numbers: IntArray, *, lacking: float) -> FloatArray:
    """Values of the texts with these numbers, and `lacking` for `NONE`."""
    if not len(of_texts):
        return np.full(len(numbers), lacking)
    return np.where(numbers == NONE, lacking, of_texts[numbers])


def _of_following(exchanges: Exchanges, of_texts: FloatArray, variant: Variant) -> FloatArray:
    """Values of u(k+1); if nothing follows, NaN, or 0 as published."""
    lacking = 0.0 if variant is Variant.PUBLISHED else np.nan
    return _at(of_texts, exchanges.following, lacking=lacking)


# --- sentiment -----------------------------------------------------------------------------------------


def _sentiments(exchanges: Exchanges, sentiment: FloatArray, variant: Variant) -> Found:
    after = _of_following(exchanges, sentiment, variant)
    before = _at(sentiment, exchanges.said, lacking=np.nan)
    rise = np.where(exchanges.following == NONE, after, after - before)
    return {"sentiment": after, "transition": rise}


def _emotional_coherence(exchanges: Exchanges, sentiment: FloatArray, encoder: Emotions) -> Found:
    distribution = encoder.distribution(exchanges.texts)
    if distribution is None:

        def close(a: IntArray, b: IntArray) -> FloatArray:
            closeness: FloatArray = 1 - abs(sentiment[a] - sentiment[b]) / 2
            return closeness

        return {"sentiment_closeness": _between(exchanges, close, lacking=np.nan)}
    alike = _between(exchanges, lambda a, b: cosines(distribution, a, b), lacking=np.nan)
    return {"sentiment_coherence": alike}


def _min_max(exchanges: Exchanges, of_texts: FloatArray, variant: Variant) -> FloatArray:
    """Slope from the lowest to the highest sentiment of side U; among equal ones the first counts."""
    last = np.append(exchanges.conversation[1:] != exchanges.conversation[:-1], True)[: len(exchanges)]
    ends = last & (exchanges.following != NONE)
    text = np.concatenate([exchanges.said, exchanges.following[ends]])
    position = np.concatenate([exchanges.position, exchanges.position[ends] + 1])
    conversation = np.concatenate([exchanges.conversation, exchanges.conversation[ends]])
    slopes = np.full(exchanges.conversations, 0.0 if variant is Variant.PUBLISHED else np.nan)
    if len(text):
        s = of_texts[text]
        low, high = (_first(np.lexsort((position, sign * s, conversation)), conversation) for sign in (1, -1))
        of = conversation[low]
        distance = position[high] - position[low]
        turns = np.bincount(conversation, minlength=exchanges.conversations)[of]
        with np.errstate(invalid="ignore", divide="ignore"):
            slope = np.where(distance == 0, 0.0, (s[high] - s[low]) / distance)
        slopes[of] = np.where(turns > 1, slope, slopes[of])
    return slopes


def _first(order: IntArray, groups: IntArray) -> IntArray:
    """First row of each group, for rows in an order by group."""
    of = groups[order]
    first: IntArray = order[np.append(True, of[1:] != of[:-1])]
    return first


# --- what is said against the reply -------------------------------------------------------------------


def _between(exchanges: Exchanges, measure: Callable[..., FloatArray], *, lacking: float) -> FloatArray:
    """Apply a measure of two texts to each message and its reply; `lacking` if undefined."""
    similarities = np.full(len(exchanges), np.nan)
    there = np.flatnonzero(exchanges.reply != NONE)
    if len(there):
        value = measure(exchanges.said[there], exchanges.reply[there])
        similarities[there] = np.where(np.isnan(value), lacking, value)
    return similarities


def _word_coherence(exchanges: Exchanges, words: Cut, encoder: WordVectors, variant: Variant) -> Found:
    index, vectors = encoder.of(words.vocabulary)
    rows = word_rows(words, index, vectors)
    lacking = 0.0 if variant is Variant.PUBLISHED else np.nan
    return {
        f"{of.__name__}_coherence": _between(exchanges, partial(of, rows), lacking=lacking)
        for of in (average, extrema, greedy)
    }
