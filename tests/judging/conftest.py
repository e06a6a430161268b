from collections.abc import Iterator

import pytest

from accounts.models import User
from judging import subjects
from questions import resolving
from studies.models import Study
from studies.services import set_state
from tests.asking import LIKENESS, SSA, asking, judging_both
from tests.conftest import MakeContexts, MakeRun, MakeStudy
from tests.planted import talked


@pytest.fixture
def _sets_are_forgotten() -> Iterator[None]:
    """A version is read once per process; the next test has another database."""
    resolving.forget()
    yield
    resolving.forget()


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
    study, contexts = asking(rex, SSA, LIKENESS), make_contexts(3)
    for system in ("Alpha", "Beta"):
        subjects.add_responses(study, make_run(contexts, system))
    return set_state(study.pk, Study.State.OPEN)
