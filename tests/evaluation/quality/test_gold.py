import pytest

from evaluation.quality.accuracy import is_right, share
from evaluation.statistics.interval import Undefined


@pytest.mark.parametrize(
    ("right", "of", "low", "high"),
    # Newcombe 1998, Statistics in Medicine 17, Table I, method 3; 1 of 29 likewise
    [(81, 263, 0.2553, 0.3662), (15, 148, 0.0624, 0.1605), (0, 20, 0.0, 0.1611), (1, 29, 0.0061, 0.1718)],
)
def test_the_interval_is_that_of_the_published_examples(right: int, of: int, low: float, high: float) -> None:
    found = share(right, of)

    assert not isinstance(found, Undefined)
    assert found == pytest.approx((right / of, low, high), abs=5e-5)


def test_a_share_without_answers_is_undefined() -> None:
    assert isinstance(share(0, 0), Undefined)


def test_one_right_answer_suffices_but_several_choices_must_all_be_right() -> None:
    assert is_right({"rating": [4, 5]}, {"rating": 5})
    assert not is_right({"rating": [4, 5]}, {"rating": 3})
    assert not is_right({"sensible": [True]}, {"sensible": 1})
    assert not is_right({"specific": [True]}, {"sensible": False})
    assert is_right({"faults": ["rude", "dull"]}, {"faults": ["dull", "rude"]})
    assert not is_right({"faults": ["rude", "dull"]}, {"faults": ["rude"]})
    assert not is_right({"faults": ["rude"]}, {"faults": ["rude", "dull"]})
