"""Batteries as the tests compose them."""

from tests.conftest import MakeContexts, MakeRun
from turnwise.judging.items import subjects
from turnwise.judging.models import Battery
from turnwise.judging.queue import services as judging
from turnwise.studies.models import Study

TARGETS = ("Denies", "Confirms")


def fill(study: Study, make_contexts: MakeContexts, make_run: MakeRun) -> None:
    """Two targets over three questions, and five pieces of small talk."""
    questions = make_contexts(3)
    for system in TARGETS:
        subjects.add_responses(study, make_run(questions, system))
    subjects.add_responses(study, make_run(make_contexts(5), "Small talk"))


def battery(study: Study, **fields: object) -> Battery:
    """Both targets and four fillers, one of them twice; not stored yet."""
    composed = {
        "targets": list(TARGETS), "fillers_of": ["Small talk"], "fillers": 4, "repeats": 1, "workers": 3,
        "compared_with": "Confirms", "reasons_at": [2], "least_spread": 2.0,
    }  # fmt: skip
    return Battery(plan=judging.plan_of(study), **(composed | fields))
