"""Replies among which a worker chose: in transcript, files, bundle, report, and the participant's data."""

import csv
import io
from pathlib import Path

import pytest
from django.core.management import call_command
from django.urls import reverse
from django.utils import timezone

from evaluation.report.bundles.recomputation import recompute
from tests.conftest import MakeStudy
from tests.planted import SignIn, computed, figures, talked
from turnwise.accounts.models import User
from turnwise.crowd.models import Participation
from turnwise.dialogues.models import ReplyVersion, Turn
from turnwise.exports.turn_files import csv_lines
from turnwise.privacy.stored_data import stored_data_of
from turnwise.studies.models import Study

pytestmark = pytest.mark.django_db(transaction=True)

USAGE = {"prompt": 1000, "completion": 100}


@pytest.fixture
def chosen(make_study: MakeStudy) -> Study:
    """A conversation of two replies; of the first message, the worker kept the second of two."""
    study = make_study(min_turns=4, max_turns=8, max_reply_versions=3)
    talked(study, [(True, True), (False, False)])
    turn = Turn.objects.filter(bot_version__isnull=False).order_by("position")[0]
    assert turn.bot_version is not None
    for number, text in ((1, "The discarded one."), (2, turn.text)):
        ReplyVersion.objects.create(
            turn=turn,
            number=number,
            is_kept=number == 2,
            text=text,
            created_at=timezone.now(),
            bot_version=turn.bot_version,
            latency_ms=50,
            generation={"usage": USAGE, "outcome": "refused"} if number == 1 else None,
        )
    return study


def test_report_and_bundle_count_them_alike(
    chosen: Study, tmp_path: Path, rex: User, sign_in: SignIn
) -> None:
    replied = figures(computed(chosen))["course"]["bots"][0]["replies"]
    call_command("bundle", str(chosen.pk), output=tmp_path / "bundle.zip")
    page = sign_in(rex).get(f"/studies/{chosen.pk}/report/").content.decode()

    found = recompute(tmp_path / "bundle.zip")

    assert replied["regenerated"] == {"replies": 1, "percent": 50}
    assert replied["replies"] == 2
    assert not any(each["replies"] for each in replied["outcomes"] if each["outcome"] == "refused")
    assert found.differences == []
    assert found.report["course"]["bots"][0]["replies"] == replied
    assert "the worker asked for others to the same message" in page


def test_the_files_of_labels_name_the_kept_one(chosen: Study) -> None:
    rows = list(csv.DictReader(io.StringIO("".join(csv_lines(chosen)))))

    assert [(row["reply_version"], row["reply_versions"]) for row in rows] == [("2", "2"), ("1", "1")]


def test_the_transcript_lists_all_of_them(chosen: Study, rex: User, sign_in: SignIn) -> None:
    dialogue = chosen.dialogues.get()

    page = sign_in(rex).get(reverse("labels:transcript", args=[dialogue.public_id])).content.decode()

    assert "2 replies to this message, of which the worker kept one" in page
    assert "The discarded one." in page
    assert "Outcome: refused by the model" in page


def test_participants_see_what_they_did_not_keep(chosen: Study) -> None:
    data = stored_data_of(Participation.objects.get(study=chosen))

    others = [turn["other_replies"] for turn in data["conversation"]["turns"] if "other_replies" in turn]
    assert others == [["The discarded one."]]
