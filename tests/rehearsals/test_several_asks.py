"""A rehearsal of a judging study that asks several things: the injected effects of each are recovered."""

from pathlib import Path

import pytest
from django.db.models import Count

from evaluation.report.bundles.recomputation import recompute
from tests.asking import asking, judging_both
from tests.conftest import MakeContexts, MakeRun, MakeStudy
from tests.planted import talked
from tests.rehearsals.conftest import rehearsed
from turnwise.accounts.models import User
from turnwise.exports.bundle import write_bundle
from turnwise.judging.items import pairs
from turnwise.judging.items.pairs import PairSource
from turnwise.judging.models import Item
from turnwise.labels.models import Label
from turnwise.studies.asks import About, AskSpec
from turnwise.studies.models import Study
from turnwise.studies.services import set_state

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def study(make_study: MakeStudy) -> Study:
    """Replies of two bots are judged with SSA, their whole conversations with five scales."""
    talks = make_study({"alpha": 100, "beta": 100}, min_turns=4)
    for _ in range(80):
        talked(talks, [(True, True)] * 2)
    return judging_both(talks, raters=5, batch=30)


@pytest.mark.usefixtures("_same_database")
def test_injected_effects_of_each_ask_are_recovered(study: Study, tmp_path: Path) -> None:
    said = rehearsed(study, "--workers", "30")

    rehearsal = study.rehearsal
    assert "The report recovers the injected effects" in said, said
    assert "Five ratings of a whole conversation, 1 to 7. Alpha: the report rests on" in said
    given = dict(Label.objects.filter(study=rehearsal).values_list("question_set").annotate(n=Count("pk")))
    assert set(given) == {"ssa", "likert"}
    wanted = Item.objects.filter(study=rehearsal).values_list("ask__question_set").annotate(n=Count("pk"))
    assert all(given[asked] <= 5 * items for asked, items in wanted)
    with (tmp_path / "bundle.zip").open("wb") as stream:
        write_bundle(rehearsal.pk, stream)
    assert recompute(tmp_path / "bundle.zip").differences == []


@pytest.mark.usefixtures("_same_database")
def test_injected_effects_of_each_ask_about_pairs_are_recovered(
    rex: User, make_contexts: MakeContexts, make_run: MakeRun
) -> None:
    asks = [AskSpec("preference", About.PAIR), AskSpec("preferences", About.PAIR)]
    study = asking(rex, *asks, raters=5, batch=30, task="pairs")
    contexts = make_contexts(120)
    pairs.add(study, PairSource.of_runs([make_run(contexts, system) for system in ("Alpha", "Beta")]))
    study = set_state(study.pk, Study.State.OPEN)

    said = rehearsed(study, "--workers", "30")

    assert "The report recovers the injected effects" in said, said
    assert said.count("Strength of") == 2 + 4 * 2
