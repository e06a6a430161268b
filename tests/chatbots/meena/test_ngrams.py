import importlib.util
from collections import Counter
from pathlib import Path

import numpy as np
import pytest

SCRIPT = Path(__file__).resolve().parents[3] / "benchmarks" / "ngrams.py"
SPEC = importlib.util.spec_from_file_location("ngrams", SCRIPT)
ngrams = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(ngrams)


@pytest.fixture(scope="module")
def trigram():
    random = np.random.default_rng(0)
    texts = [[int(t) for t in random.zipf(1.6, 12) if t < 15] + [3] for _ in range(300)]
    return ngrams.KneserNey(texts, order=3, vocabulary_size=20)


@pytest.mark.parametrize("context", [(2, 2), (1, 1), (2, 1), (14, 13), (19, 19)])
def test_probabilities_of_a_context_sum_to_one(trigram, context):
    probabilities = [trigram.probability((*context, token)) for token in range(20)]
    assert sum(probabilities) == pytest.approx(1)
    assert min(probabilities) > 0


def test_the_discounts_are_chen_and_goodmans():
    # n1 = 8, n2 = 4, n3 = 2, n4 = 1: Y = 8 / 16; D1 = 1 - 2 Y 4/8, D2 = 2 - 3 Y 2/4, D3 = 3 - 4 Y 1/2
    assert ngrams.discounts(Counter({1: 8, 2: 4, 3: 2, 4: 1})) == pytest.approx((0.5, 1.25, 2.0))


def test_a_hand_worked_bigram():
    # "5 3", "5 3", "6 3" with start 2: bigrams 2-5 twice, 5-3 twice, 2-6 once, 6-3 once.
    # Contexts of unigrams: 5 after {2}, 6 after {2}, 3 after {5, 6}: 1, 1, 2 of 4.
    # n1 = 2, n2 = 2 (n3, n4 taken as 1): Y = 1/3; D1 = 1 - 2/3 = 1/3, D2 = 2 - 1/2 = 3/2.
    # Unigrams: n1 = 2, n2 = 1: Y = 1/2; D1 = 1 - 1/2 = 1/2, D2 = 2 - 3/2 = 1/2; left over (2/2 + 1/2) / 4 =
    # 3/8. P(5) = (1 - 1/2) / 4 + 3/8 * 1/10; P(5 | 2) = (2 - 3/2) / 3 + (1/3 + 3/2) / 3 * P(5)
    model = ngrams.KneserNey([[5, 3], [5, 3], [6, 3]], order=2, vocabulary_size=10)
    unigram = 0.5 / 4 + 3 / 8 / 10
    assert model.probability((5,)) == pytest.approx(unigram)
    assert model.probability((2, 5)) == pytest.approx(0.5 / 3 + (1 / 3 + 3 / 2) / 3 * unigram)
