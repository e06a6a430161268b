"""A study's plan: fixed with time and hash at the first opening; the report lists departures from it."""

import hashlib
import json
import zipfile
from pathlib import Path

import pytest
from django.core.management import call_command
from django.utils import timezone

from evaluation.report.publishing.registry_forms import AS_PREDICTED
from tests.conftest import MakeStudy
from tests.planted import SignIn, computed, talked
from turnwise.bots.models import BotVersion
from turnwise.bots.services import version_of
from turnwise.crowd.models import Participation
from turnwise.reports.descriptions import departures_of
from turnwise.studies.models import Preregistration, Study, StudyBot
from turnwise.studies.services import clone, set_state

pytestmark = pytest.mark.django_db(transaction=True)


def test_a_plan_is_fixed_at_the_opening_and_departures_from_it_are_listed(
    make_study: MakeStudy, sign_in: SignIn, tmp_path: Path
) -> None:
    study = make_study({"ann": 2, "bob": 2}, min_turns=2, max_turns=8, exclusion_rules="Bots that answer.")
    browser, plan = sign_in(study.owner), Preregistration.objects.get(study=study)
    files = {kind: browser.get(f"/studies/{study.pk}/plan/{kind}/").content for kind in ("json", "md")}
    form = browser.get(f"/studies/{study.pk}/plan/aspredicted/").content.decode()
    page = browser.get(f"/studies/{study.pk}/plan/").content.decode()

    assert hashlib.sha256(files["json"]).hexdigest() == plan.sha256
    assert plan.sha256 in files["md"].decode()
    assert plan.sha256 in page
    assert study.code not in files["json"].decode()
    assert all(asked in form for asked in AS_PREDICTED)
    assert "Ann, Bob" in form
    assert "Bots that answer." in form
    registered = browser.get(f"/studies/{study.pk}/plan/osf-json/").json()
    assert registered["plan_sha256"] == plan.sha256
    assert "Sample size rationale" in page  # among the fields that are left to write
    assert browser.get(f"/studies/{study.pk}/plan/osf/")["Content-Type"].startswith("text/markdown")
    assert browser.get(f"/studies/{study.pk}/plan/xml/").status_code == 404
    assert departures_of(study) == []

    # What follows departs from it.
    for _ in range(2):
        talked(study, [(True, True)])
    browser.post(f"/studies/{study.pk}/tags/", {"tags": "not a departure"})
    Study.objects.filter(pk=study.pk).update(title="Smaller talk")
    StudyBot.objects.filter(study=study, bot__name="bob").update(target=9)
    worker = Participation.objects.filter(study=study).first()
    assert worker
    Participation.objects.filter(pk=worker.pk).update(excluded_at=timezone.now(), excluded_reason="Typed x.")
    set_state(study.pk, Study.State.CLOSED)
    study.refresh_from_db()
    found = departures_of(study)

    assert found == [
        "“title” was planned as “Small talk” and is now “Smaller talk”.",
        "2 conversations with Bob were planned; it is now 9.",
        "1 worker was excluded: Typed x.",
        "The study was closed with 2 units of work finished of 11 planned.",
    ]
    computed(study)
    report = browser.get(f"/studies/{study.pk}/report/").content.decode()
    assert "4 departures from the preregistered plan" in report
    assert all(sentence in report for sentence in found)
    call_command("bundle", str(study.pk), output=tmp_path / "bundle.zip")
    with zipfile.ZipFile(tmp_path / "bundle.zip") as bundle:
        assert bundle.read("preregistration/plan.json") == files["json"]
        assert bundle.read("preregistration/departures.txt").decode().splitlines() == found

    # Opened again, the plan stays; a copy is a draft, whose plan is not fixed.
    set_state(study.pk, Study.State.OPEN)
    assert Preregistration.objects.get(study=study).sha256 == plan.sha256
    assert json.loads(files["json"])["title"] == "Small talk"
    copy = clone(study, owner=study.owner)
    assert "this is the plan as it would be now" in browser.get(f"/studies/{copy.pk}/plan/").content.decode()
    assert browser.get(f"/studies/{copy.pk}/plan/json/").status_code == 404


def test_another_version_of_a_bot_is_a_departure(make_study: MakeStudy) -> None:
    study = make_study({"ann": 2}, min_turns=2, max_turns=8)
    plan = Preregistration.objects.get(study=study)
    bot = study.study_bots.get().bot
    first = BotVersion.objects.filter(bot=bot).order_by("number").last()
    plan.plan["bots"][0]["fingerprint"] = first.fingerprint if first else "a" * 64
    plan.save()
    BotVersion.objects.create(bot=bot, number=77, fingerprint="f" * 64, details={})

    (sentence,) = departures_of(study) or [""]
    assert sentence.startswith("Ann was replaced by another version of it on")

    # The study's conversations have the planned version, so only other studies use the later one. Nor is it
    # a departure that a newer Turnwise has more fields in the protocol.
    plan.plan["bots"][0]["fingerprint"] = version_of(bot, {"adapter": "scripted"}).fingerprint
    del plan.plan["protocol"]["scenarios"]
    plan.plan["protocol"]["max_turns"] = 6
    plan.save()
    talked(study, [(True, True)])
    assert departures_of(study) == ["“max turns” was planned as “6” and is now “8”."]

    # A closing by hand is a departure that the stored report does not list, so a new one is due.
    version = Study.objects.get(pk=study.pk).results_version
    set_state(study.pk, Study.State.CLOSED)
    assert Study.objects.get(pk=study.pk).results_version > version

    # A study that opened before plans existed has none after it is opened again: data came first.
    plan.delete()
    set_state(study.pk, Study.State.OPEN)
    assert departures_of(study) is None
