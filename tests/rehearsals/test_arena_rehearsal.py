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
from turnwise.questions.services import create_set

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("_same_database")]


ARENA = {
    "format": 1,
    "key": "arena",
    "title": "Which is better",
    "subjects": ["pair"],
    "source": "Us",
    "questions": [
        {
            "key": "better",
            "wording": "Which is better?",
            "choices": [
                {"value": "first", "label": "First"},
                {"value": "second", "label": "Second"},
                {"value": "tied", "label": "Tied"},
                {"value": "both_bad", "label": "Both are bad"},
            ],
        }
    ],
}


def test_injected_strengths_of_three_bots_are_recovered(rex: User, tmp_path: Path) -> None:
    declared = create_set(ARENA, owner=rex)
    study = make_arena(rex, ("ann", "bob", "cid"), each=6, question_set=declared.key)

    said = rehearsed(study, "--workers", "20")

    assert "OUTSIDE" not in said, said
    strengths = [line for line in said.splitlines() if "Strength of" in line]
    assert len(strengths) == 3, said
    assert all(line.endswith(": inside.") for line in strengths)
    assert not Label.objects.filter(study=study).exists()

    path = tmp_path / "bundle.zip"
    call_command("bundle", str(study.rehearsal.pk), output=path)
    again = recompute(path)
    assert again.equal, again.differences
    with zipfile.ZipFile(path) as archive:
        turns = archive.read("data/turns.jsonl").decode().splitlines()
    assert {json.loads(line)["text"] for line in turns} >= {"I am ann.", "I am bob.", "I am cid."}
