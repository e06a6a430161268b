"""A rehearsal of battles through real pages and the real socket: the injected strengths, and the bundle."""

import json
import zipfile
from pathlib import Path

import pytest
from django.core.management import call_command

from evaluation.report.bundles.recomputation import recompute
from tests.arenas import make_arena
from tests.rehearsals.conftest import rehearsed
from turnwise.accounts.models import User
from turnwise.labels.models import Label

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("_same_database")]


@pytest.mark.parametrize("votes_each", [False, True])
def test_injected_strengths_of_three_bots_are_recovered(rex: User, tmp_path: Path, votes_each: bool) -> None:
    names = ("ann", "bob", "cid")
    study = make_arena(rex, names, each=6, question_set="preference-both-bad", votes_each=votes_each)

    said = rehearsed(study, "--workers", "20")

    assert "OUTSIDE" not in said, said
    strengths = [line for line in said.splitlines() if "Strength of" in line]
    assert len(strengths) == 3, said
    assert all(line.endswith(": inside.") for line in strengths)
    assert "Better: both are bad of Ann against Bob" in said
    assert not Label.objects.filter(study=study).exists()

    with_later_vote = Label.objects.filter(study__rehearsal_of=study, pair__turns__gt=2)
    assert with_later_vote.exists() is votes_each
    path = tmp_path / "bundle.zip"
    call_command("bundle", str(study.rehearsal.pk), output=path)
    again = recompute(path)
    assert again.equal, again.differences
    with zipfile.ZipFile(path) as archive:
        pairs = [json.loads(line) for line in archive.read("data/pairs.jsonl").decode().splitlines()]
        turns = archive.read("data/turns.jsonl").decode().splitlines()
    counted = {pair["judged_turns"]: len(json.loads(pair["first_said"])) for pair in pairs}
    assert counted == ({2: 2, 4: 4} if votes_each else {None: 2})
    assert {json.loads(line)["text"] for line in turns} >= {"I am ann.", "I am bob.", "I am cid."}
