"""The demo study with a planted judge: the report finds what the judge saves, within its interval."""

import math
import time
from collections.abc import Iterable
from typing import Any

import numpy as np
import pytest

from tests.judges.test_pages import page
from tests.planted import SignIn, computed
from turnwise.accounts.models import User
from turnwise.judges.models import JudgeRun
from turnwise.judging.models import Item
from turnwise.labels.models import Label
from turnwise.studies.models import Study
from turnwise.tasks.judging.demo import EACH, RATERS, SAVED_SHARE, SYSTEMS, create_demo_of_judges

pytestmark = pytest.mark.django_db(transaction=True)

SURE = 3.9
"""Standard normal quantile of 99.99 %: the items that people judge are drawn anew in every run."""


def saved_between(r: float, labels: int, share_of_rest: float) -> tuple[float, float]:
    """Interval of the saved share from that of a correlation (Fisher's z)."""
    ends = (math.tanh(math.atanh(r) + sign * SURE / math.sqrt(labels - 3)) for sign in (-1, 1))
    low, high = (max(end, 0) ** 2 * share_of_rest for end in ends)
    return low, high


def sensible_by_response(rows: Iterable[tuple[Any, Any]]) -> dict[int, bool]:
    return {response: bool(answers["sensible"]) for response, answers in rows}


def test_the_planted_judge_saves_the_stated_share(rex: User, sign_in: SignIn) -> None:
    before = time.process_time()
    study = create_demo_of_judges(rex)
    seconds = time.process_time() - before

    assert seconds < 5  # a second on an idle machine
    assert study.state == Study.State.CLOSED
    assert Label.objects.filter(study=study).count() == RATERS * EACH
    run = JudgeRun.objects.get(study=study)
    assert run.labels.filter(outcome="answered").count() == Item.objects.filter(study=study).count() == 500

    report = computed(study)
    assert report.result
    [found] = report.result["assisted"]
    [sensible] = [each for each in found["scores"] if each["key"] == "sensible"]
    rows = [row for row in sensible["rows"] if row["first"] in SYSTEMS and not row.get("second")]
    assert len(rows) == 2
    saved = 1 - sum(row["items"] for row in rows) / sum(row["as_if"] for row in rows)

    of_people = sensible_by_response(study.labels.values_list("response", "answers"))
    of_judge = sensible_by_response(run.labels.values_list("item__response", "answers"))
    both = np.array([(value, of_judge[key]) for key, value in of_people.items()], dtype=np.float64)
    r = float(np.corrcoef(both[:, 0], both[:, 1])[0, 1])
    low, high = saved_between(r, len(both), 1 - RATERS * EACH / 500)
    assert low <= SAVED_SHARE <= high
    # The report also allows for differences between raters, which costs some of the share.
    assert 0.1 < saved <= high
    assert low > 0.1
    assert high < 0.8

    shown = page(sign_in(rex), f"/studies/{study.pk}/report/")
    assert "as if people had labelled" in shown
    assert "made-up labels" in shown
