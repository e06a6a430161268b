"""Figures of replies: outcomes, tokens, seconds and cost, against values worked out by hand."""

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evaluation.report.studies.replies import (
    OUTCOMES,
    Price,
    ReplyFacts,
    cost_of,
    percent_of,
    reply_figures,
)

FIRST = Price("2026-01-01", "USD", prompt=2.5, cached=1.25, completion=10.0)
LATER = Price("2026-03-01", "USD", prompt=2.0, cached=0.5, completion=8.0)


def test_every_outcome_is_counted_and_the_shares_add_up() -> None:
    replies = [ReplyFacts(outcome) for outcome in (*OUTCOMES, "refused", "refused", "complete")]

    found = reply_figures(replies)

    # Ten replies: three refused, two complete, one of each other kind.
    assert percent_of(found, "refused") == pytest.approx(30)
    assert percent_of(found, "complete") == pytest.approx(20)
    assert sum(row["percent"] for row in found["outcomes"]) == pytest.approx(100)
    assert [row["outcome"] for row in found["outcomes"]] == list(OUTCOMES)


def test_tokens_and_seconds_are_of_the_replies_that_have_them() -> None:
    replies = [
        ReplyFacts(completion=10, first_seconds=0.2, last_seconds=1.0),
        ReplyFacts(completion=40, last_seconds=3.0),
        ReplyFacts(),
    ]

    found = reply_figures(replies)

    assert found["tokens"] == {"completion": {"mean": 25, "median": 25, "replies": 2}}
    assert found["seconds"] == {
        "first": {"mean": 0.2, "median": 0.2, "replies": 1},
        "last": {"mean": 2, "median": 2, "replies": 2},
    }


def test_only_the_cost_counts_replies_of_unfinished_conversations() -> None:
    left = ReplyFacts("refused", prompt=1_000_000, completion=0, day="2026-01-02", is_scored=False)

    found = reply_figures([ReplyFacts(), left], [FIRST])

    assert (found["replies"], percent_of(found, "refused")) == (1, 0)
    assert found["cost"] == {
        "amounts": [{"currency": "USD", "amount": 2.5, "replies": 1}],
        "unpriced": 1,
    }


def test_a_reply_costs_by_the_price_of_its_day_and_cached_tokens_by_their_own() -> None:
    replies = [
        # 800 * 2.50 + 200 * 1.25 + 100 * 10 = 3,250 millionths
        ReplyFacts(prompt=1000, cached=200, completion=100, day="2026-02-28"),
        # 1,000 * 2.00 + 100 * 8 = 2,800 millionths
        ReplyFacts(prompt=1000, completion=100, day="2026-03-01"),
    ]

    found = cost_of(replies, [FIRST, LATER])

    assert found is not None
    (amount,) = found["amounts"]
    assert amount["amount"] == pytest.approx(0.00605, abs=1e-15)
    assert (amount["replies"], found["unpriced"]) == (2, 0)


def test_nothing_is_guessed_without_a_price_or_tokens() -> None:
    replies = [
        ReplyFacts(prompt=10, completion=10, day="2025-12-31"),  # before the first price
        ReplyFacts(prompt=10, day="2026-01-01"),  # the completion was not counted
        ReplyFacts(prompt=10, completion=10),  # no day
    ]

    assert cost_of(replies, [FIRST]) == {"amounts": [], "unpriced": 3}
    assert cost_of(replies, []) is None


def test_of_two_prices_for_one_day_the_later_one_counts_and_currencies_are_kept_apart() -> None:
    corrected = FIRST._replace(prompt=3.0)
    euros = Price("2026-02-01", "EUR", 1.0, 1.0, 1.0)
    replies = [
        ReplyFacts(prompt=1_000_000, completion=0, day="2026-01-05"),
        ReplyFacts(prompt=1_000_000, completion=0, day="2026-02-05"),
    ]

    found = cost_of(replies, [FIRST, corrected, euros])

    assert found is not None
    assert [(each["currency"], each["amount"]) for each in found["amounts"]] == [("EUR", 1.0), ("USD", 3.0)]


_NUMBER = st.none() | st.integers(0, 10**6)


@given(
    st.lists(
        st.builds(
            ReplyFacts,
            st.sampled_from(OUTCOMES),
            st.booleans(),
            _NUMBER,
            _NUMBER,
            _NUMBER,
            _NUMBER,
            st.none() | st.floats(0, 100),
            st.none() | st.floats(0, 100),
            st.sampled_from(["", "2026-01-01", "2026-03-02"]),
            st.booleans(),
            st.sampled_from(["", *OUTCOMES]),
            st.integers(1, 3),
        ),
        max_size=30,
    ),
    st.randoms(use_true_random=False),
)
def test_the_order_of_the_rows_changes_nothing(replies: list[ReplyFacts], chance: random.Random) -> None:
    shuffled = list(replies)
    chance.shuffle(shuffled)

    assert reply_figures(shuffled, [FIRST, LATER]) == reply_figures(replies, [FIRST, LATER])


def test_a_stopped_reply_counts_as_what_the_service_said_of_it_too() -> None:
    replies = [
        ReplyFacts("stopped", outcome_before_stop="refused"),
        ReplyFacts("stopped", outcome_before_stop="complete"),
        ReplyFacts("stopped"),
        ReplyFacts(),
    ]

    found = reply_figures(replies)

    assert {each["outcome"]: each["replies"] for each in found["outcomes"] if each["replies"]} == {
        "complete": 1,
        "refused": 1,
        "stopped": 3,
    }
    assert percent_of(found, "refused") == 25


def test_replies_among_several_are_counted_and_the_others_cost() -> None:
    kept = ReplyFacts("complete", prompt=1_000_000, completion=0, day="2026-01-05", versions=3)
    discarded = [ReplyFacts("refused", prompt=1_000_000, completion=0, day="2026-01-05", is_scored=False)] * 2

    found = reply_figures([kept, ReplyFacts(), *discarded], [FIRST])

    assert found["regenerated"] == {"replies": 1, "percent": 50}
    assert percent_of(found, "refused") == 0
    assert found["cost"]["amounts"][0]["replies"] == 3
    assert "regenerated" not in reply_figures([ReplyFacts()])
