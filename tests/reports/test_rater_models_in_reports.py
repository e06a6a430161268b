"""Models of raters in a report: the page, the table for a paper, and the same figures from the bundle."""

import zipfile
from pathlib import Path
from uuid import UUID

import pytest
from django.core.management import call_command

from evaluation.report.bundles.recomputation import recompute
from tests.conftest import MakeContexts, MakeQueue, MakeRun
from tests.desks import begin
from tests.planted import SignIn, computed
from turnwise.accounts.models import User
from turnwise.judging.items import subjects
from turnwise.judging.models import Item
from turnwise.judging.queue import services as judging

pytestmark = pytest.mark.django_db(transaction=True)


def answers(item: Item, rater: int) -> dict[str, bool]:
    """Three of four make sense; each rater errs about other items, and the last says yes to everything."""
    assert item.response
    number = int(item.response.context.key[1:])
    is_right = (number + 3 * rater) % 10 > 0
    sensible = (number % 4 > 0) == is_right or rater == 3
    return {"sensible": sensible, **({"specific": (number % 3 > 0) == is_right} if sensible else {})}


def test_models_of_raters_have_intervals_that_follow_from_the_bundle(
    make_queue: MakeQueue, make_contexts: MakeContexts, make_run: MakeRun, rex: User, sign_in: SignIn,
    tmp_path: Path,
) -> None:  # fmt: skip
    study = make_queue(30, raters=4, batch=60)
    subjects.add_responses(study, make_run(make_contexts(30), "Beta"))
    for rater in range(4):
        desk = begin(study)
        while shown := judging.state(desk)["items"]:
            item = Item.objects.select_related("response__context").get(key=shown[0]["key"])
            judging.judge(desk, key=UUID(shown[0]["key"]), answers=answers(item, rater))
        judging.finish(desk)

    report = computed(study)

    assert report.result
    sensible = report.result["rater_models"][0]
    assert (sensible["items"], sensible["labels"]) == (60, 240)
    assert sensible["rests_on"].startswith("95\u00a0% intervals for other contexts with the same workers")
    row = sensible["systems"][0]
    ends = row["intervals"]["dawid_skene"]
    assert ends["low"] < row["dawid_skene"] < ends["high"]
    page = " ".join(sign_in(rex).get(f"/studies/{study.pk}/report/").content.decode().split())
    assert f"{ends['low']:.1f} to {ends['high']:.1f}" in page
    assert " ".join(sensible["rests_on"].split()) in page
    path = tmp_path / "bundle.zip"
    call_command("bundle", str(study.pk), output=path)
    again = recompute(path)
    assert again.differences == []
    assert again.report["rater_models"] == report.result["rater_models"]
    with zipfile.ZipFile(path) as archive:
        table = archive.read("tables/rater-models.tex").decode()
        workers = archive.read("tables/rater-models-workers.tex").decode()
    assert f"{row['dawid_skene']:.1f} [{ends['low']:.1f}, {ends['high']:.1f}]" in table
    assert sensible["raters"][0]["worker"] in workers
