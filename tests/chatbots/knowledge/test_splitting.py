"""Frequent and rare conversations: every rule of the split, and a case by hand."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from chatbots.knowledge.conversations import Conversation, ReadingSet
from chatbots.knowledge.splitting import PARTS, familiarity, frequencies, split


def conversation(key, entities, configuration="A"):
    return Conversation(str(key), configuration, (), ReadingSet(tuple(entities), {}))


def test_familiarity_by_hand():
    training = frequencies([conversation(1, "abc"), conversation(2, "abb"), conversation(3, "ade")])
    assert training == {"a": 3, "b": 2, "c": 1, "d": 1, "e": 1}

    found = familiarity([conversation(4, "abz"), conversation(5, "aba"), conversation(6, "abc")], training)

    assert (found.rarest_median, found.rarest_quartiles) == (1, (0.5, 1.5))  # of 0, 2, 1
    assert found.mean == pytest.approx((3 + 2 + 0 + 3 + 2 + 3 + 3 + 2 + 1) / 9)
    assert found.unseen == pytest.approx(1 / 3)
    assert familiarity([Conversation("7", "", ())], training) is None


@settings(max_examples=25)
@given(
    st.lists(
        st.tuples(st.lists(st.sampled_from("abcdefgh"), min_size=3, max_size=3), st.sampled_from("ABCD")),
        min_size=1,
        max_size=60,
    ),
    st.sampled_from([0.1, 0.25, 0.5]),
    st.integers(0, 5),
)
def test_every_rule_of_the_split(drawn, share, seed):
    talks = [conversation(key, *each) for key, each in enumerate(drawn)]

    found = split(talks, share=share, seed=seed)

    assert found == split(talks, share=share, seed=seed)
    assert sorted(int(each.key) for part in PARTS for each in found[part]) == list(range(len(talks)))
    frequency = frequencies(talks)

    def scores(names, configuration):
        return [
            min(frequency[one] for one in each.reading.entities)
            for name in names
            for each in found[name]
            if each.configuration == configuration
        ]

    for configuration in "ABCD":
        total = sum(each.configuration == configuration for each in talks)
        rare, frequent = (
            scores([f"valid_{kind}", f"test_{kind}"], configuration) for kind in ("rare", "freq")
        )
        between = scores(["train"], configuration)
        assert len(rare) == len(frequent) == min(round(share * total), total // 2)
        for kind in ("rare", "freq"):
            valid, test = (len(scores([f"{name}_{kind}"], configuration)) for name in ("valid", "test"))
            assert test - valid in (0, 1)
        assert max(rare, default=0) <= min(between or frequent or [0])
        assert max(between, default=0) <= min(frequent, default=10**9)


def test_what_cannot_be_split_is_said():
    with pytest.raises(ValueError, match=r"Conversation 2 has no entities, and 0 others\."):
        split([conversation(1, "abc"), Conversation("2", "A", ())])
    with pytest.raises(ValueError, match=r"share=0\.6 must be at least 0 and at most 0\.5"):
        split([conversation(1, "abc")], share=0.6)
