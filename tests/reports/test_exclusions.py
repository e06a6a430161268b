"""Excluded workers, and the two analyses with and without them."""

import csv
import io
import json
import re
import zipfile
from pathlib import Path

import pytest
from django.core.exceptions import ValidationError
from django.core.management import call_command
from django.db import IntegrityError
from django.utils import timezone

from evaluation.report.bundles.recomputation import recompute
from tests.conftest import MakeStudy, pseudonym_of
from tests.planted import SignIn, computed, figures, talked
from turnwise.accounts.models import User
from turnwise.crowd.models import Participation
from turnwise.crowd.places.ending import exclude
from turnwise.studies.models import Study
from turnwise.studies.services import save_study

pytestmark = pytest.mark.django_db(transaction=True)


def test_excluding_a_worker_from_the_transcript_shows_in_the_report(
    short: Study, rex: User, sign_in: SignIn
) -> None:
    careful = talked(short, [(True, True), (True, False)])
    careless = talked(short, [(False, False), (False, False)])
    client = sign_in(rex)

    answer = client.post(f"/dialogues/{careless.public_id}/exclude/", {"reason": " Pressed No only. "})
    result = figures(computed(short))
    page = client.get(f"/studies/{short.pk}/report/").content.decode()

    assert answer.headers["Location"] == f"/dialogues/{careless.public_id}/"
    # All: 2 of 4 sensible, 1 of 4 specific. Without the second worker: 2 of 2 and 1 of 2.
    assert result["bots"][0]["cells"][2]["value"] == pytest.approx(37.5)
    assert result["other"]["bots"][0]["cells"][2]["value"] == pytest.approx(75)
    assert result["excluded"] == [
        {"worker": pseudonym_of(careless), "reason": "Pressed No only.", "labels": 2}
    ]
    # Both analyses are on the page; a switch that needs no script shows one of them.
    assert re.findall(r'name="analysis" id="([^"]+)"( checked)?', page) == [
        ("analysis-primary", " checked"),
        ("analysis-other", ""),
    ]
    ours, theirs = page[page.index('id="results"') :].split('<div class="by-other">', 1)
    assert "<strong>37.5</strong>" in ours
    assert "<strong>75.0</strong>" in theirs.partition("</section>")[0]
    assert "Excluded by rex" in client.get(f"/dialogues/{careless.public_id}/").content.decode()
    assert "Excluded by" not in client.get(f"/dialogues/{careful.public_id}/").content.decode()


def test_an_exclusion_requests_a_new_report_and_can_be_undone(
    short: Study, rex: User, sign_in: SignIn
) -> None:
    dialogue = talked(short, [(True, True)])
    address = f"/dialogues/{dialogue.public_id}/exclude/"
    before = Study.objects.get(pk=short.pk).results_version

    sign_in(rex).post(address, {"reason": "Too fast"})
    sign_in(rex).post(address, {"reason": ""})

    participation = Participation.objects.get(assignment__seat__dialogue=dialogue)
    assert (participation.excluded_reason, participation.excluded_at, participation.excluded_by) == (
        "",
        None,
        None,
    )
    assert Study.objects.get(pk=short.pk).results_version == before + 2
    assert figures(computed(short))["other"] is None


def test_only_users_who_may_read_the_conversation_can_exclude_its_worker(
    short: Study, mallory: User, sign_in: SignIn
) -> None:
    dialogue = talked(short, [(True, True)])

    answer = sign_in(mallory).post(f"/dialogues/{dialogue.public_id}/exclude/", {"reason": "x"})

    assert answer.status_code == 404
    assert not Participation.objects.exclude(excluded_reason="").exists()


def test_an_admin_excludes_a_worker_in_the_admin(short: Study, ada: User, sign_in: SignIn) -> None:
    dialogue = talked(short, [(True, True)])
    participation = Participation.objects.get(assignment__seat__dialogue=dialogue)
    before = Study.objects.get(pk=short.pk).results_version

    answer = sign_in(ada).post(
        f"/admin/crowd/participation/{participation.pk}/change/",
        {
            "worker": participation.worker_id,
            "study": participation.study_id,
            "consent": participation.consent_id,
            "excluded_reason": "Straight-lined",
        },
    )

    participation.refresh_from_db()
    assert answer.status_code == 302
    assert (participation.excluded_reason, participation.excluded_by) == ("Straight-lined", ada)
    assert participation.excluded_at is not None
    assert Study.objects.get(pk=short.pk).results_version == before + 1


def test_the_database_refuses_to_exclude_without_a_reason(short: Study) -> None:
    talked(short, [(True, True)])

    with pytest.raises(IntegrityError, match="excluded_for_a_reason"):
        Participation.objects.update(excluded_at=timezone.now())


def test_the_export_keeps_their_labels_and_says_who_was_excluded(
    short: Study, rex: User, sign_in: SignIn
) -> None:
    talked(short, [(True, True)])
    aside = talked(short, [(False, False)])
    client = sign_in(rex)
    client.post(f"/dialogues/{aside.public_id}/exclude/", {"reason": "Too fast"})

    content = client.get(f"/studies/{short.pk}/turns.csv").getvalue()

    rows = list(csv.DictReader(io.StringIO(content.decode())))
    assert [row["rater_excluded"] for row in rows] == ["false", "true"]
    assert [row["in_primary_analysis"] for row in rows] == ["true", "true"]


RULES = "All answers alike in one conversation."


@pytest.fixture
def strict(make_study: MakeStudy) -> Study:
    """A study whose primary analysis leaves the excluded out; Ann leads by 12 careful workers."""
    study = make_study(
        {"ann": 99, "bob": 99},
        min_turns=2,
        max_turns=8,
        primary_analysis="without_excluded",
        exclusion_rules=RULES,
    )
    for n in range(24):
        dialogue = talked(study, [(True, True), (n % 4 < 3, False)])
        if n >= 20:
            exclude(
                Participation.objects.get(assignment__seat__dialogue=dialogue).pk, reason="x", by=study.owner
            )
    return study


def test_the_declared_analysis_is_named_beside_its_numbers(
    strict: Study, sign_in: SignIn, tmp_path: Path
) -> None:
    stored = figures(computed(strict))
    client = sign_in(strict.owner)
    page = client.get(f"/studies/{strict.pk}/report/").content.decode()
    content = client.get(f"/studies/{strict.pk}/turns.csv").getvalue()
    call_command("bundle", str(strict.pk), output=tmp_path / "bundle.zip")
    found = recompute(tmp_path / "bundle.zip")
    with zipfile.ZipFile(tmp_path / "bundle.zip") as bundle:
        about = json.loads(bundle.read("study.json"))["protocol"]
        primary, other = (bundle.read(f"tables/comparisons{which}.tex").decode() for which in ("", "-all"))

    assert sum(bot["conversations"] for bot in stored["bots"]) == 20
    assert sum(bot["conversations"] for bot in stored["other"]["bots"]) == 24
    assert stored["other"]["comparisons"]
    assert "The primary analysis leaves out the workers who were excluded" in " ".join(stored["deviations"])
    assert "Primary analysis: without the excluded workers" in page
    assert page.count(RULES) >= 1
    rows = list(csv.DictReader(io.StringIO(content.decode())))
    assert [row["in_primary_analysis"] for row in rows].count("false") == 8
    assert (about["primary_analysis"], about["exclusion_rules"]) == ("without_excluded", RULES)
    assert (found.differences, found.report) == ([], stored)
    assert primary.startswith("% Analysis: without the excluded workers.")
    assert other.startswith("% Analysis: all workers.")


def test_the_analysis_cannot_change_once_the_study_has_opened(strict: Study) -> None:
    strict.primary_analysis = "all"

    with pytest.raises(ValidationError, match="its protocol is fixed") as refused:
        save_study(strict, owner=strict.owner, consent_text="You talk to a machine.", targets={})

    assert set(refused.value.message_dict) == {"primary_analysis"}
    strict.refresh_from_db()
    assert strict.primary_analysis == "without_excluded"


def test_exclusions_need_rules(make_study: MakeStudy) -> None:
    with pytest.raises(ValidationError, match="Say by which rules workers are excluded"):
        make_study(primary_analysis="without_excluded")


def test_a_page_read_twice_is_equal_and_a_new_report_replaces_its_parts(
    short: Study, rex: User, sign_in: SignIn
) -> None:
    talked(short, [(True, True), (True, False)])
    talked(short, [(False, False), (False, False)])
    client = sign_in(rex)
    computed(short)

    def results() -> str:
        page = client.get(f"/studies/{short.pk}/report/").content.decode()
        return page[page.index('id="results"') : page.index('id="course"')]

    first, second = results(), results()
    talked(short, [(True, True), (True, True)])
    computed(short)

    assert first == second
    assert "<strong>50.0</strong>" in first  # 2 of 4 sensible
    assert "<strong>66.7</strong>" in results()  # 4 of 6
