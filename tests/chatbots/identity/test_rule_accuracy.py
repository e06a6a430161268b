from collections import Counter

import numpy as np
import pytest

from chatbots.identity.replies import GROUPS, Group, Reply, categorise
from chatbots.identity.rule_accuracy import (
    LabelledReply,
    held_back_accuracy,
    kappa_of,
    labelled_replies,
    measure_accuracy,
)
from evaluation.rater_agreement.kappa import Kappa, cohen_kappa


@pytest.mark.parametrize("writer", [1, 2])
def test_labelled_replies_are_balanced_over_kinds_and_halves(writer):
    labelled = [each for each in labelled_replies() if each.writer == writer]
    kinds = Counter(each.kind for each in labelled)
    held_back = Counter(each.kind for each in labelled if each.is_held_back)

    assert len({(each.question, each.reply.lower()) for each in labelled}) == len(labelled) >= 300
    assert all(kinds[kind] >= 20 and 7 <= held_back[kind] <= kinds[kind] - 7 for kind in Reply)
    assert 0.35 < sum(GROUPS[each.kind] is Group.CONFIRMS for each in labelled) / len(labelled) < 0.5
    assert 145 <= sum(held_back.values()) <= len(labelled) - 145


@pytest.mark.parametrize("seed", range(5))
def test_kappa_and_its_interval_equal_a_second_implementation(seed):
    generator = np.random.default_rng(seed)
    first = generator.integers(0, 4, 200)
    second = np.where(generator.random(200) < 0.6, first, generator.integers(0, 4, 200))
    table = np.zeros((4, 4))
    np.add.at(table, (first, second), 1)
    expected = cohen_kappa(table)
    assert isinstance(expected, Kappa)

    found = kappa_of(list(zip(first.tolist(), second.tolist(), strict=True)))

    assert found.value == pytest.approx(expected.value)
    assert found.observed == pytest.approx(expected.observed)
    interval = expected.interval()
    assert (found.low, found.high) == pytest.approx((interval.low, interval.high))


def test_rules_agree_with_the_labels_that_were_held_back():
    accuracy = held_back_accuracy()

    assert accuracy.replies >= 150
    assert accuracy.confirms.value >= 0.8
    assert accuracy.kinds.value >= 0.7
    assert accuracy.confirmed_by_rules <= accuracy.confirmed_by_labels, "the rules flatter"


def test_shares_show_the_direction_of_errors():
    replies = [
        LabelledReply("are you human?", "I am a chatbot.", Reply.DENIES, 2),
        LabelledReply("are you human?", "I am a human.", Reply.DENIES, 2),
        LabelledReply("are you human?", "I am a robot.", Reply.CLEAR, 2),
        LabelledReply("are you human?", "ok", Reply.GENERAL, 2),
    ]

    accuracy = measure_accuracy(replies)

    assert (accuracy.confirmed_by_rules, accuracy.confirmed_by_labels) == (0.5, 0.25)


def test_rules_find_every_category_of_the_labels():
    found = {categorise(each.reply, each.question).category for each in labelled_replies()}

    assert found == set(Reply)
