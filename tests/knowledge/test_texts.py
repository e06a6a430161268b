"""Sentences, extracts and parts of texts against NetworkX, brute force and counts by hand."""

from itertools import combinations

import networkx
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from turnwise.knowledge.building import Names
from turnwise.knowledge.texts import (
    paragraphs,
    sentences,
    shortened,
    similar_parts,
    summarized,
    text_rank,
    words,
)


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("One. Two! “Three?” Four", ["One.", "Two!", "“Three?”", "Four"]),
        ("Dr. J. R. Smith came 3 p.m. on Sunday. Ha.", ["Dr. J. R. Smith came 3 p.m. on Sunday.", "Ha."]),
        ("It cost $3.50 e.g. in Rome. 40 people paid.", ["It cost $3.50 e.g. in Rome.", "40 people paid."]),
        ("A title, no stop\n\nIts text. And more.", ["A title, no stop", "Its text.", "And more."]),
        ("He asked: why? and went on.", ["He asked: why? and went on."]),
        ("", []),
    ],
)  # fmt: skip
def test_sentences(text: str, found: list[str]) -> None:
    assert sentences(text) == found


def test_words_and_paragraphs() -> None:
    assert words("Don't re-use 3.5 “O\u2019Hara”, ok?") == ["Don't", "re-use", "3", "5", "O\u2019Hara", "ok"]
    assert paragraphs("a\nb\n\n c ") == ["a\nb", "c"]
    assert paragraphs("a\nb") == ["a", "b"]


@pytest.mark.parametrize(("length", "takes_second"), [(49, True), (50, False)])
def test_a_short_first_paragraph_takes_the_second_along(length: int, takes_second: bool) -> None:
    first = "word " * length
    lead = f"{first}\n\nSecond one.\n\nThird one."

    assert shortened(lead) == (f"{first.strip()}\n\nSecond one." if takes_second else first.strip())


def test_text_rank_is_page_rank_of_the_similarities() -> None:
    said = [s.split() for s in ("a b c d", "b c e", "x y", "a c e f g", "d g z z", "q")]
    graph = networkx.Graph()
    graph.add_nodes_from(range(len(said)))
    for a, b in combinations(range(len(said)), 2):
        shared = len(set(said[a]) & set(said[b]))
        if shared:
            graph.add_edge(a, b, weight=shared / (np.log(len(said[a])) + np.log(len(said[b]))))

    second = networkx.pagerank(graph, alpha=0.85, tol=1e-12, max_iter=1000)

    assert text_rank(said) == pytest.approx([second[n] for n in range(len(said))], abs=1e-9)


def test_a_summary_is_an_extract_in_order_within_its_words() -> None:
    lead = " ".join(
        f"Sentence {n} speaks of rivers and of {'lakes' if n % 2 else 'seas'}." for n in range(40)
    )

    summary = summarized(lead)

    said = sentences(lead)
    taken = [said.index(each) for each in sentences(summary)]
    assert taken == sorted(taken)
    assert len(words(summary)) <= 150 < len(words(lead))
    assert summarized("Short. As it is.") == "Short. As it is."


@given(st.lists(st.integers(1, 30), min_size=4, max_size=14))
def test_the_parts_are_the_most_even_of_all(lengths: list[int]) -> None:
    text = " ".join(" ".join(["Word"] * n) + "." for n in lengths)

    parts = similar_parts(text)

    assert parts is not None
    assert " ".join(parts) == text
    of_each = [len(words(part)) for part in parts]
    ways = [
        [sum(lengths[a:b]) for a, b in zip((0, *cuts), (*cuts, len(lengths)), strict=True)]
        for cuts in combinations(range(1, len(lengths)), 3)
    ]
    assert max(of_each) - min(of_each) == min(max(way) - min(way) for way in ways)
    assert of_each == min(ways, key=lambda way: max(way) - min(way))  # of equal ways the first


def test_parts_need_as_many_sentences() -> None:
    assert similar_parts("One. Two. Three.") is None
    assert similar_parts("One. Two.\n\nThree. Four.") == ["One.", "Two.", "Three.", "Four."]


def test_names_are_whole_words_and_the_longest_counts() -> None:
    names = Names(
        {"Star Wars": ["Star Wars: A New Hope"], "Star": [], "Mercury": ["Freddie-Mercury"], "C": []}
    )
    text = "STAR WARS, a new hope! Stars see a star. Freddie Mercury's star wars; Mercurys. Mercury"

    # By hand: the film twice, star once, Mercury twice, first mentioned after it.
    assert names.counted(text) == [("Star Wars", 2), ("Mercury", 2), ("Star", 1)]
    assert names.counted("mercury star") == [("Mercury", 1), ("Star", 1)]


def test_many_names_that_begin_alike_take_no_longer_than_few() -> None:
    """By comparing each with each place this would be a thousand million comparisons."""
    names = {f"V {n}": [f"V a b {n} {m}" for m in range(20)] for n in range(2000)}

    assert Names(names).counted("V " * 29_000 + "V a b 7 3, V 7, V 8") == [("V 7", 2), ("V 8", 1)]
