from collections.abc import Iterator

import pytest

from tests.asking import judging_both, judging_with_two_sets
from tests.conftest import MakeContexts, MakeRun, MakeStudy
from tests.planted import talked
from turnwise.accounts.models import User
from turnwise.questions import question_sets
from turnwise.studies.models import Study


@pytest.fixture
def _sets_are_forgotten() -> Iterator[None]:
    """A version is read once per process; the next test has another database."""
    question_sets.forget_question_sets()
    yield
    question_sets.forget_question_sets()


@pytest.fixture
def talks(make_study: MakeStudy) -> Study:
    """Three finished conversations of two labelled replies each."""
    study = make_study(min_turns=4)
    for _ in range(3):
        talked(study, [(True, True)] * 2)
    return study


@pytest.fixture
def mixed(talks: Study) -> Study:
    """Open: their replies are judged with one set, the whole of them with another."""
    return judging_both(talks)


@pytest.fixture
def two(rex: User, make_contexts: MakeContexts, make_run: MakeRun) -> Study:
    """Open: two sets of questions about the same six responses of two systems."""
    return judging_with_two_sets(rex, make_contexts(3), make_run)
