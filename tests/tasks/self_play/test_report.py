"""The report of bots' conversations: its numbers from what was said, and again from the bundle alone."""

import csv
import io
import json
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from django.core.management import call_command

from evaluation.commands.conversation_files import read_conversations
from evaluation.conversation.encoders import Encoders, encoders
from evaluation.conversation.exchanges import of_bots
from evaluation.conversation.metrics import METRICS, measured
from evaluation.report.bundles.recomputation import recompute
from evaluation.report.bundles.tables import MEASURES
from tests.planted import computed
from tests.tasks.self_play.conftest import MakeSelfPlay, SignIn, play, said
from turnwise.accounts.models import User
from turnwise.reports.models import Report
from turnwise.reports.services import stale_studies
from turnwise.tasks.self_play import metrics
from turnwise.tasks.self_play.models import SelfPlayed, SelfPlayPlan
from turnwise.tasks.self_play.queries import json_lines

pytestmark = pytest.mark.django_db(transaction=True)

LINES = ["I love it!", "What do you hate?", "haha, that is funny", "I hate rain.", "Why not?"]


@pytest.fixture
def played(make_self_play: MakeSelfPlay) -> SelfPlayPlan:
    """A bot with itself, five conversations of six turns."""
    plan = make_self_play(alone=True, script={"replies": LINES}, conversations=5, utterances=6)
    play(plan)
    return plan


@pytest.fixture
def only_words(monkeypatch: pytest.MonkeyPatch) -> None:
    """As where no encoder is installed."""
    monkeypatch.setattr(metrics, "encoders_here", Encoders)


def of_bot(report: Report) -> dict[str, dict[str, Any]]:
    assert report.result is not None, report.reason
    return {column["key"]: column["cells"][0] for column in report.result["columns"]}


def test_every_metric_is_computed_from_the_conversations(played: SelfPlayPlan) -> None:
    report = computed(played.study)

    talks = [[("ann", text) for text in texts[1:]] for texts in said(played).values()]
    wanted = measured(of_bots(talks), encoders())
    cells = of_bot(report)
    assert list(cells) == list(wanted.by_conversation)
    for key, values in wanted.by_conversation.items():
        assert cells[key]["value"] == pytest.approx(np.nanmean(values)), key
    assert report.result is not None
    assert {column["encoder"] for column in report.result["columns"]} == {
        each or None for each in wanted.encoders.values()
    }
    assert report.result["conversations"] == {"ended": 5, "under_way": 0, "silent": 0}
    assert [(each["length"], each["pairs"]) for each in report.result["overlaps"]] == [(3, 10), (5, 10)]


def test_each_of_two_bots_has_the_metrics_of_its_own_turns(
    make_self_play: MakeSelfPlay, only_words: None
) -> None:
    plan = make_self_play(conversations=2, script={"replies": ["Well?"]})
    SelfPlayed.objects.all().delete()
    plan.second.configuration = {"replies": ["one two three"]}
    plan.second.save()
    play(plan)

    report = computed(plan.study)

    assert report.result is not None, report.reason
    assert [(bot["bot"], bot["turns"]) for bot in report.result["bots"]] == [("Ann", 3), ("Bob", 3)]
    by_key = {
        column["key"]: [cell["value"] for cell in column["cells"]] for column in report.result["columns"]
    }
    assert by_key == {"laughter": [0, 0], "question": [0.5, 0], "words": [1, 3]}
    assert "pip install" in report.result["missing"]


def test_a_conversation_is_measured_once_and_again_by_other_encoders(
    played: SelfPlayPlan, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(metrics, "encoders_here", Encoders)
    metrics.measure(played)
    assert set(metrics.measured_by(played)) == {"laughter", "question", "words"}
    SelfPlayed.objects.filter(number=1).update(measures={"by": metrics.measured_by(played), "values": {}})

    metrics.measure(played)
    assert SelfPlayed.objects.filter(number=1, measures__values={}).exists()  # kept

    monkeypatch.setattr(metrics, "encoders_here", lambda: Encoders(emotions=encoders().emotions))
    metrics.measure(played)
    measures = SelfPlayed.objects.get(number=1).measures
    assert measures
    assert len(measures["values"]["sentiment"]) == 5


def test_the_timer_sees_that_conversations_have_ended(played: SelfPlayPlan) -> None:
    from django.utils import timezone

    assert stale_studies(timezone.now()) == [played.study]


def test_the_bundle_gives_the_same_numbers_to_the_last_bit(played: SelfPlayPlan, tmp_path: Path) -> None:
    path = tmp_path / "bundle.zip"

    call_command("bundle", str(played.study_id), output=path)
    found = recompute(path)

    assert (found.differences, found.changed_files) == ([], [])
    lines = tmp_path / "lines.jsonl"
    lines.write_text("".join(json_lines(played)))
    assert [(each.bots, each.turns, each.ratings) for each in read_conversations(path)] == [
        (each.bots, each.turns, each.ratings) for each in read_conversations(lines)
    ]
    assert found.comparison.values > 200
    assert found.report["conversations"]["ended"] == 5
    with zipfile.ZipFile(path) as archive:
        rows = list(csv.DictReader(io.TextIOWrapper(archive.open("data/measures.csv"))))
        about = json.loads(archive.read("study.json"))
        assert "instructions.html" not in archive.namelist()
        assert {"charts/by-turn.svg", "charts/by-turn.pdf", "tables/measures.tex"} <= set(archive.namelist())
    assert len(rows) == 5 * 5
    assert about["measured_by"]["sentiment"] == "VADER 3.3.2"
    assert [bot["shown_as"] for bot in about["bots"]] == ["Ann"]


def test_a_changed_measure_is_found(played: SelfPlayPlan, tmp_path: Path) -> None:
    path, changed = tmp_path / "bundle.zip", tmp_path / "changed.zip"
    call_command("bundle", str(played.study_id), output=path)
    with zipfile.ZipFile(path) as old, zipfile.ZipFile(changed, "w") as new:
        for name in old.namelist():
            content = old.read(name)
            if name == "data/measures.jsonl":
                content = content.replace(b'"words":3.0', b'"words":9.0', 1)
            new.writestr(name, content)

    found = recompute(changed)

    assert found.changed_files == ["data/measures.jsonl"]
    assert any(each.where.startswith("columns[") for each in found.differences)


def test_the_page_shows_the_metrics_with_their_encoders(
    played: SelfPlayPlan, rex: User, sign_in: SignIn
) -> None:
    client = sign_in(rex)
    empty = client.get(f"/studies/{played.study_id}/report/").content.decode()
    computed(played.study)

    page = client.get(f"/studies/{played.study_id}/report/").content.decode()

    assert "No results yet" in empty
    for words in ("AVG coherence", "GloVe 6B 50d", "VADER 3.3.2", "Pairs with 3 equal turns in a row"):
        assert words in page
    chart = client.get(f"/studies/{played.study_id}/report/by-turn.svg")
    assert (chart.status_code, b"Conversations still going on" in chart.content) == (200, True)
    assert client.get(f"/studies/{played.study_id}/report/by-turn.pdf").content.startswith(b"%PDF")


def test_the_file_of_measures_has_a_row_for_each_answer(
    played: SelfPlayPlan, rex: User, mallory: User, sign_in: SignIn
) -> None:
    computed(played.study)
    path = f"/studies/{played.study_id}/self-play/measures.csv"

    sent = sign_in(rex).get(path).getvalue().decode()

    rows = list(csv.DictReader(io.StringIO(sent)))
    assert list(rows[0]) == [column.name for column in MEASURES.columns]
    assert len(rows) == 25
    assert sign_in(mallory).get(path).status_code == 404


def test_the_report_names_silent_bots_and_repetitive_conversations(
    make_self_play: MakeSelfPlay, only_words: None
) -> None:
    same = "I like to talk about the weather"
    plan = make_self_play(alone=True, script={"replies": [same]}, conversations=2, utterances=6)
    play(plan)

    report = computed(plan.study)

    assert report.result is not None, report.reason
    assert "2 of 2 conversations go in circles" in report.result["warnings"][0]


def test_the_table_of_the_bundle_has_every_metric_in_its_order() -> None:
    assert [column.name for column in MEASURES.columns[3:]] == [metric.key for metric in METRICS]
