"""The bundle of a study: recomputation of its numbers from its data, without secrets."""

import csv
import hashlib
import io
import json
import os
import re
import subprocess
import sys
import time
import zipfile
from collections.abc import Callable
from datetime import datetime
from pathlib import Path
from typing import Any

import pyarrow.parquet
import pytest
from django.core.management import CommandError, call_command

from evaluation.questions import QUESTION_SETS
from evaluation.report.bundles.recomputation import recompute
from evaluation.report.bundles.tables import tables
from tests.conftest import MakeStudy, start_dialogue, worker_of
from tests.planted import add_exchange, add_label, bot_of, computed, figures, talked
from tests.rewriting import rewriting
from turnwise.accounts.models import User
from turnwise.bots.models import BotVersion
from turnwise.bots.services import version_of
from turnwise.crowd.panels import Arrival
from turnwise.crowd.places.ending import exclude
from turnwise.dialogues.models import Dialogue, Fault
from turnwise.dialogues.queries import seat_of
from turnwise.dialogues.services import finish
from turnwise.exports.bundle import MASK, mask_secrets
from turnwise.labels.models import Label
from turnwise.reports.descriptions import method
from turnwise.studies.models import Study
from turnwise.studies.services import save_study

pytestmark = pytest.mark.django_db(transaction=True)

ROOT = Path(__file__).parents[2]
MakeBundle = Callable[[Study], Path]


@pytest.fixture
def bundle_of(tmp_path: Path) -> MakeBundle:
    def made(study: Study) -> Path:
        path = tmp_path / "bundle.zip"
        call_command("bundle", str(study.pk), output=path)
        return path

    return made


@pytest.fixture
def full(make_study: MakeStudy, rex: User) -> Study:
    """Two bots, workers of every kind, faults, repetition, latencies, an open conversation."""
    study = make_study({"scripty": 8, "another": 8}, min_turns=2, max_turns=8, material="# To read\n-1+1")
    words = "I have told you all of this before already"
    for n in range(12):
        labels = [(True, n % 4 < 2), (n % 3 > 0, False), (True, n % 5 > 1)][: 2 + n // 6]
        times = [5 * n, 80, 41][: len(labels)]
        dialogue = talked(study, labels, text=words if n % 3 else "=1+1", latencies=times)
    assert dialogue.participation
    exclude(dialogue.participation.pk, reason="Always the same answer", by=rex)
    left = start_dialogue(study, Arrival("prolific", "panel-5f2c"))
    Fault.objects.create(dialogue=left, position=2, kind="BotLate", detail="sk-12345", at=left.started_at)
    return study


FULL: list[bytes] = []


@pytest.fixture
def full_bundle(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    """The bundle of `full`, made once for all tests that need no database beside it."""
    if not FULL:
        path = request.getfixturevalue("bundle_of")(request.getfixturevalue("full"))
        FULL.append(path.read_bytes())
    path = tmp_path / "bundle.zip"
    path.write_bytes(FULL[0])
    return path


def command_line(*arguments: str) -> "subprocess.CompletedProcess[str]":
    """`python -m evaluation …` where no platform can be imported."""
    environment = {"PATH": os.environ["PATH"], "PYTHONPATH": str(ROOT)}
    code = (
        "import sys; sys.modules['django'] = None; import runpy; sys.argv = ['evaluation', *sys.argv[1:]]; "
        "runpy.run_module('evaluation', run_name='__main__')"
    )
    return subprocess.run(
        [sys.executable, "-c", code, *arguments],
        capture_output=True,
        text=True,
        env=environment,
        timeout=100,
        check=False,
    )


def rewritten(bundle: Path, name: str, change: Callable[[str], str]) -> Path:
    """A copy of a bundle in which one file is another."""
    copy = bundle.with_name("changed.zip")
    with zipfile.ZipFile(bundle) as old, zipfile.ZipFile(copy, "w") as new:
        for each in old.namelist():
            content = old.read(each)
            new.writestr(each, change(content.decode()) if each == name else content, zipfile.ZIP_DEFLATED)
    return copy


# --- the numbers again -----------------------------------------------------------------------------


def test_the_data_alone_gives_every_number_of_the_stored_report(full: Study, bundle_of: MakeBundle) -> None:
    stored = computed(full).result

    done = command_line("recompute", str(bundle_of(full)))

    assert done.returncode == 0, done.stderr or done.stdout[:2000]
    answer = json.loads(done.stdout)
    assert (
        done.stderr
        == f"Equal: all {answer['values']:,} values of the bundle's report follow from its data.\n"
    )
    assert answer["report"] == stored
    assert (answer["equal"], answer["differences"], answer["changed_files"]) == (True, [], [])
    assert stored["excluded"][0]["reason"] == "Always the same answer"
    assert {bot["under_way"] for bot in stored["course"]["bots"]} == {0, 1}
    assert any(bot["faults"] for bot in stored["course"]["bots"])
    assert any("low" in cell for bot in stored["bots"] for cell in bot["cells"])


def test_the_paragraph_dates_the_counted_labels_and_is_recomputed_from_the_bundle(
    make_study: MakeStudy, rex: User, bundle_of: MakeBundle
) -> None:
    rules = {"primary_analysis": "without_excluded", "exclusion_rules": "Always the same answer."}
    study = make_study(min_turns=2, max_turns=8, **rules)
    days = ["2026-02-20T12:00Z", "2026-03-02T00:30+01:00", "2026-03-09T23:59:59.9Z", "2026-03-08T12:00Z"]
    for day in days:
        dialogue = talked(study, [(True, False), (True, True)])
        with rewriting():
            Label.objects.filter(turn__dialogue=dialogue).update(changed_at=day)
    excluded = Dialogue.objects.order_by("pk")[0].participation
    assert excluded
    exclude(excluded.pk, reason="Always the same answer", by=rex)
    unfinished = start_dialogue(study)
    add_exchange(unfinished, version_of(bot_of(unfinished), {"adapter": "scripted"}), text="Well", latency=1)
    add_label(unfinished, position=2, answers={"sensible": True, "specific": True})

    path, report = bundle_of(study), computed(study).result
    again = recompute(path)

    assert report
    # The second was given at half past eleven in the evening, by UTC.
    assert (
        "The labels were given from 1 March 2026 to 9 March 2026 (days in UTC)." in method(study, report).text
    )
    assert report["other"]["raters"]["first_day"] == "2026-02-20"
    assert (again.report, again.differences) == (report, [])
    with zipfile.ZipFile(path) as archive:
        written = archive.read("method/paragraph.txt").decode()
    assert written == method(study, again.report).text + "\n"


def test_the_paragraph_says_which_labels_have_no_known_time(
    make_study: MakeStudy, bundle_of: MakeBundle
) -> None:
    study = make_study(min_turns=2, max_turns=8)
    dialogue = talked(study, [(True, False), (True, True)])
    with rewriting():
        Label.objects.update(changed_at="2026-03-02T12:00Z")
    with rewriting():
        Label.objects.filter(turn__position=2).update(ask=None, party="outside")  # as if it came with a file
    said = "The labels were given on 2 March 2026 (days in UTC), but for 1 label from files."

    for report in (computed(study).result, recompute(bundle_of(study)).report):
        assert report
        assert said in method(study, report).text
    with rewriting():
        Label.objects.filter(turn__dialogue=dialogue).update(ask=None, party="outside")
    assert "labels were given" not in method(study, figures(computed(study))).text


def test_a_changed_label_is_detected(full_bundle: Path) -> None:
    def other(lines: str) -> str:
        first, rest = lines.split("\n", 1)
        label = json.loads(first)
        label["specific"] = not label["specific"]
        return json.dumps(label) + "\n" + rest

    done = command_line("recompute", str(rewritten(full_bundle, "data/labels.jsonl", other)))

    assert done.returncode == 1
    answer = json.loads(done.stdout)
    assert done.stderr.startswith(f"Not equal: {len(answer['differences']):,} values differ, 1 files have")
    assert answer["changed_files"] == ["data/labels.jsonl"]
    assert any(re.fullmatch(r"bots\[.\]\.cells\[1\]\.value", each["where"]) for each in answer["differences"])


def test_a_changed_figure_of_the_report_is_detected(full_bundle: Path) -> None:
    def other(text: str) -> str:
        report = json.loads(text)
        report["bots"][0]["cells"][2]["low"] += 1e-13
        return json.dumps(report)

    found = recompute(rewritten(full_bundle, "report.json", other))

    assert [each.where for each in found.differences] == ["bots[0].cells[2].low"]
    assert found.changed_files == ["report.json"]


def restated(bundle: Path, change: Callable[[dict[str, Any]], object]) -> Path:
    """The same bundle, had its report been written otherwise: its list of files is right."""

    def other(text: str) -> str:
        report = json.loads(text)
        change(report)
        return json.dumps(report)

    path = rewritten(bundle, "report.json", other)
    with zipfile.ZipFile(path) as archive:
        written = hashlib.sha256(archive.read("report.json")).hexdigest()
    before = path.rename(path.with_name("report.zip"))

    def listed(text: str) -> str:
        package = json.loads(text)
        next(each for each in package["resources"] if each["path"] == "report.json")["hash"] = (
            f"sha256:{written}"
        )
        return json.dumps(package)

    return rewritten(before, "datapackage.json", listed)


def test_figures_missing_in_an_older_bundle_are_no_contradiction(full_bundle: Path) -> None:
    path = full_bundle
    days = {"first_day", "last_day", "undated"}

    def as_before(report: dict[str, Any]) -> None:
        for raters in (report["raters"], report["other"]["raters"]):
            for each in days:
                del raters[each]

    done = command_line("recompute", str(restated(path, as_before)))

    answer = json.loads(done.stdout)
    assert (done.returncode, answer["equal"], answer["differences"]) == (0, True, [])
    assert set(answer["not_stated"]) == {f"{of}raters.{day}" for of in ("", "other.") for day in days}
    assert answer["not_stated"]["raters.undated"] == answer["report"]["raters"]["undated"] == 0
    assert answer["not_computed"] == {}


def test_a_figure_that_only_the_bundle_has_is_listed_as_unconfirmed(full_bundle: Path) -> None:
    path = restated(full_bundle, lambda report: report["raters"].update(mood={"mean": 4.5}))

    done = command_line("recompute", str(path))

    answer = json.loads(done.stdout)
    assert (done.returncode, answer["equal"], answer["differences"]) == (1, False, [])
    assert (answer["not_computed"], answer["not_stated"]) == ({"raters.mood.mean": 4.5}, {})


def test_a_study_without_conversations_has_a_bundle_too(short: Study, bundle_of: MakeBundle) -> None:
    found = recompute(bundle_of(short))

    assert found.differences == []
    assert found.report["bots"] == []


def test_another_question_set_is_recomputed_from_its_own_columns(
    make_study: MakeStudy, bundle_of: MakeBundle
) -> None:
    study = make_study(question_set="human-likeness", min_turns=2)
    for human in (True, False):
        dialogue = start_dialogue(study)
        seat = seat_of(dialogue.public_id, worker_of(dialogue).pk)
        add_exchange(dialogue, version_of(study.study_bots.get().bot, {}), text="Hm", latency=1)
        add_label(dialogue, position=2, answers={"human_like": human})
        finish(seat)

    found = recompute(bundle_of(study))

    assert found.differences == []
    assert found.report["bots"][0]["cells"][0]["value"] == 50


@pytest.mark.parametrize(
    ("name", "change", "said"),
    [
        ("data/labels.jsonl", lambda text: text + "{\n", ": Expecting"),
        (
            "data/labels.jsonl",
            lambda text: text.replace('"rater"', '"judge"', 1),
            "data/labels.jsonl, line 1, column rater: there is none",
        ),
        (
            "data/labels.jsonl",
            lambda text: text.replace('"sensible":true', '"sensible":7', 1),
            "data/labels.jsonl, line 1, column sensible: 7 is no boolean",
        ),
        (
            "data/labels.jsonl",
            lambda text: text + text.split("\n", 1)[0] + "\n",
            "data/labels.jsonl, line 31, column rater: rater",
        ),
        ("study.json", lambda _: "[]", "study.json: not a JSON object"),
        ("study.json", lambda _: "{}", "names 'bots', and that is not where it should be"),
        ("data/turns.jsonl", lambda _: "", "where data/turns.jsonl has no reply"),
        (
            "datapackage.json",
            lambda text: text.replace('"turnwise_format": 4', '"turnwise_format": 9'),
            "format 9",
        ),
        (
            "study.json",
            lambda text: text.replace('"question_set": "ssa"', '"question_set": "sas"'),
            "questions.json does not declare",
        ),
    ],
)
def test_an_unreadable_bundle_names_the_place(
    full_bundle: Path, name: str, change: Callable[[str], str], said: str
) -> None:
    done = command_line("recompute", str(rewritten(full_bundle, name, change)))

    assert done.returncode == 2
    assert said in done.stderr


def test_a_file_that_is_no_bundle_is_refused(tmp_path: Path) -> None:
    (tmp_path / "some.zip").write_bytes(b"PK no")
    with zipfile.ZipFile(tmp_path / "other.zip", "w") as archive:
        archive.writestr("readme.txt", "Hello")

    assert "download the bundle again" in command_line("recompute", str(tmp_path / "some.zip")).stderr
    assert "not a bundle of a study" in command_line("recompute", str(tmp_path / "other.zip")).stderr
    assert "Give the path" in command_line("recompute", str(tmp_path / "none.zip")).stderr


# --- what is in it -----------------------------------------------------------------------------------


def test_the_three_formats_hold_the_same_rows(full_bundle: Path) -> None:
    with zipfile.ZipFile(full_bundle) as archive:
        for table in tables([QUESTION_SETS["ssa"]]):
            lines = [json.loads(line) for line in archive.read(f"data/{table.name}.jsonl").splitlines()]
            cells = list(csv.reader(io.StringIO(archive.read(f"data/{table.name}.csv").decode())))
            columns = pyarrow.parquet.read_table(io.BytesIO(archive.read(f"data/{table.name}.parquet")))
            names = [column.name for column in table.columns]
            assert cells[0] == columns.column_names == names
            assert len(lines) == len(cells) - 1 == columns.num_rows
            # Whole conversations are not judged here, and no worker asks for another reply.
            assert lines or table.name in ("exchanges", "reply_versions")
            for line, row, typed in zip(lines, cells[1:], columns.to_pylist(), strict=True):
                assert list(line) == names
                assert [as_cell(value) for value in line.values()] == row
                assert {key: as_line(value) for key, value in typed.items()} == line


def as_cell(value: object) -> str:
    """What CSV has for a value of JSON Lines, by docs/exports.md."""
    if value is None:
        return ""
    text = str(value).lower() if isinstance(value, bool) else str(value)
    return "'" + text if isinstance(value, str) and value[:1] in "=+-@\t\r\n" and value else text


def as_line(value: object) -> object:
    return value.strftime("%Y-%m-%dT%H:%M:%S.%fZ") if isinstance(value, datetime) else value


def test_the_list_of_files_is_complete_and_right(full_bundle: Path) -> None:
    path = full_bundle
    with zipfile.ZipFile(path) as archive:
        assert archive.testzip() is None
        package = json.loads(archive.read("datapackage.json"))
        there = set(archive.namelist())
    assert {each["path"] for each in package["resources"]} == there - {"datapackage.json"}
    assert recompute(path).changed_files == []
    assert {"README.md", "study.json", "instructions.html", "consent/1.txt", "charts/plane.pdf"} <= there
    assert {"charts/scores.svg", "tables/scores.tex", "data/labels.parquet", "questions.json"} <= there


def test_secrets_people_and_the_entry_link_are_left_out(full: Study, bundle_of: MakeBundle) -> None:
    address = "https://me:hush@bots.example/v1"
    BotVersion.objects.update(details={"api_key": "sk-9876", "url": address, "top_k": 40})

    with zipfile.ZipFile(bundle_of(full)) as archive:
        everything = b"".join(archive.read(name) for name in archive.namelist()).decode(errors="ignore")
        about = json.loads(archive.read("study.json"))

    for secret in ("sk-9876", "hush", "sk-12345", "panel-5f2c", full.code, "rex"):
        assert secret not in everything
    details = about["bots"][0]["versions"][0]["details"]
    assert details == {"api_key": MASK, "url": f"https://{MASK}@bots.example/v1", "top_k": 40}


def test_numbers_whose_name_sounds_secret_are_kept() -> None:
    assert mask_secrets({"max_tokens": 128, "token": "abc", "list": [{"Password": "x"}]}) == {
        "max_tokens": 128,
        "token": MASK,
        "list": [{"Password": MASK}],
    }


def test_every_version_of_the_consent_text_is_there(full: Study, rex: User, bundle_of: MakeBundle) -> None:
    save_study(full, owner=rex, consent_text="A newer text.", targets={})

    with zipfile.ZipFile(bundle_of(full)) as archive:
        assert archive.read("consent/1.txt") == b"You talk to a machine."
        assert archive.read("consent/2.txt") == b"A newer text."
        workers = [json.loads(line) for line in archive.read("data/workers.jsonl").splitlines()]
    assert {worker["consent"] for worker in workers} == {1}


def test_an_unknown_study_has_no_bundle() -> None:
    with pytest.raises(CommandError, match="There is no study '999999'"):
        call_command("bundle", "999999")


def test_the_same_data_make_the_same_bytes(full: Study, bundle_of: MakeBundle) -> None:
    first = bundle_of(full).read_bytes()
    time.sleep(2)  # a zip archive counts the time in steps of two seconds

    assert bundle_of(full).read_bytes() == first


def test_a_zip_bomb_is_refused_before_it_is_unpacked(short: Study, bundle_of: MakeBundle) -> None:
    bundle = rewritten(bundle_of(short), "data/labels.jsonl", lambda text: text + " " * 100_000_000)

    done = command_line("recompute", str(bundle))

    assert done.returncode == 2
    assert "unpacked 100\u00a0MB. A bundle of ours is at most 100 times as large" in done.stderr
