"""A study's figures over the REST API: the same as on its page, for those who may see that."""

from typing import Any

import pytest
from django.test import Client

from tests.planted import computed, figures, talked
from turnwise.accounts import credentials
from turnwise.accounts.models import User
from turnwise.reports.models import Report
from turnwise.reports.services import build_report
from turnwise.studies.models import Study
from turnwise.studies.sharing.services import share_with_person

# A report is computed in a transaction of its own.
pytestmark = pytest.mark.django_db(transaction=True)


def call(who: User, method: str, study: Study) -> Any:
    client = Client(headers={"Authorization": f"Bearer {credentials.create_token(who, 'for reports')}"})
    return client.generic(method, f"/api/studies/{study.code}/report")


def test_the_newest_figures_come_with_a_notice_of_newer_results(short: Study, rex: User) -> None:
    nothing = call(rex, "GET", short).json()
    assert (nothing["state"], nothing["computed_at"], nothing["result"]) == ("none", None, None)
    assert "a few seconds after the first results" in nothing["notice"]

    talked(short, [(True, True), (True, False), (False, False), (True, True)])
    report = computed(short)
    found = call(rex, "GET", short).json()
    assert (found["state"], found["notice"]) == ("ready", "")
    assert found["result"] == figures(report)
    # 3 of 4 replies are sensible, 2 specific
    values = [cell["value"] for cell in found["result"]["bots"][0]["cells"]]
    assert values == [75.0, 50.0, 62.5]

    talked(short, [(False, False)])
    older = call(rex, "GET", short).json()
    assert older["result"] == found["result"]
    assert older["notice"].startswith("Results have changed since this report was computed.")


def test_readers_see_the_figures_and_only_members_can_compute_them(
    short: Study, rex: User, mallory: User
) -> None:
    talked(short, [(True, True), (False, False)])
    assert call(mallory, "GET", short).status_code == 404

    share_with_person(short, "mallory", "reader")
    assert call(mallory, "GET", short).json()["state"] == "none"
    assert call(mallory, "POST", short).status_code == 404
    assert not Report.objects.exists()

    asked = call(rex, "POST", short).json()
    assert (asked["state"], asked["notice"]) == ("queued", "The first report is being computed.")
    again = call(rex, "POST", short)
    build_report(Report.objects.get().pk)  # one computation for both

    assert again.status_code == 200
    assert call(mallory, "GET", short).json()["result"]["bots"][0]["labels"] == 2


def test_a_computation_that_fails_says_why_and_leaves_the_figures(short: Study, rex: User) -> None:
    talked(short, [(True, True), (False, False)])
    figures(computed(short))
    Report.objects.create(
        study=short,
        state=Report.State.FAILED,
        reason="MemoryError",
        results_version=short.results_version,
        requested_at=short.created_at,
    )

    found = call(rex, "GET", short).json()

    assert (found["state"], found["result"]["bots"][0]["labels"]) == ("failed", 2)
    assert found["notice"].startswith("The last computation failed: MemoryError")
