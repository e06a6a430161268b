"""What a filter did to a response: from the run into its page, and a judging study's exports and report."""

import csv
import io
import json
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest
from django.core.management import call_command
from django.test import Client

from evaluation.report.bundles.recomputation import recompute
from tests.conftest import MakeQueue, MakeVersion
from tests.desks import begin
from tests.planted import computed, figures
from tests.rewriting import rewriting
from turnwise.accounts.models import User
from turnwise.bots.generation import GENERATION_COLUMNS
from turnwise.bots.models import Bot
from turnwise.crowd.entry.sessions import COOKIE, signed
from turnwise.judging.items import subjects
from turnwise.judging.models import Batch, Item
from turnwise.judging.queue import services as judging
from turnwise.labels.models import Label
from turnwise.responses import files, services
from turnwise.responses.models import Response, ResponseRun
from turnwise.responses.tasks import answer_slice
from turnwise.studies.models import Study

pytestmark = pytest.mark.django_db(transaction=True)

SignIn = Callable[[User], Client]
SAID = "I would love to go to Paris with you some day"
FALLBACK = "Let us talk about something else"
REMARK = "repetition-filter: every candidate repeats an earlier turn; said a fallback"
FREELY = "repetition-filter: every candidate repeats an earlier turn; said the first anyway"
# To the first context the bot may say its one sentence; in the others somebody has said it before.
TURNS = [("Hello",), (SAID,), (SAID, "And then?", "Well?")]


@pytest.fixture
def run(rex: User, make_version: MakeVersion) -> ResponseRun:
    """The responses of a bot that says the same again and again, inside a filter with one fallback."""
    inner = {"adapter": "scripted", "configuration": {"replies": [SAID]}}
    bot = Bot.objects.create(
        name="filtered",
        title="Filtered",
        adapter="repetition-filter",
        configuration={"bot": inner, "fallbacks": [FALLBACK]},
    )
    run = services.start_run(make_version(turns=TURNS), bot, owner=rex, seed=7)
    answer_slice(run.pk)
    return run


@pytest.fixture
def queue(run: ResponseRun, make_queue: MakeQueue, rex: User) -> Study:
    """Two raters for each response of the bot, and of a file with the same texts."""
    queue = make_queue(raters=2)
    subjects.add_responses(queue, run)
    texts = {(response.context_id, 1): response.text for response in run.responses.all()}
    uploaded = services.store_file(run.context_version, texts, system="Elsewhere", owner=rex)
    subjects.add_responses(queue, uploaded)
    return queue


def judge(study: Study) -> None:
    """One more rater judges everything."""
    desk = begin(study)
    while shown := judging.state(desk)["items"]:
        judging.judge(desk, key=UUID(shown[0]["key"]), answers={"sensible": True, "specific": False})


def fallbacks(row: dict[str, Any]) -> int:
    return next(int(each["replies"]) for each in row["outcomes"] if each["outcome"] == "fallback")


def item_of(study: Study, key: str, system: str = "Filtered") -> Item:
    return study.items.get(response__context__key=key, response__run__system=system)


def bundled(study: Study, folder: Path) -> Path:
    call_command("bundle", str(study.pk), output=folder / "bundle.zip")
    return folder / "bundle.zip"


def test_it_is_stored_with_the_response_and_nothing_with_one_left_alone(run: ResponseRun) -> None:
    stored = run.responses.order_by("context__position").values_list("text", "generation")

    assert list(stored) == [(SAID, None), *[(FALLBACK, {"outcome": "fallback", "remarks": [REMARK]})] * 2]


def test_the_runs_page_shows_it_beside_the_response(run: ResponseRun, rex: User, sign_in: SignIn) -> None:
    rows = sign_in(rex).get(f"/responses/{run.pk}/").content.decode().split("<tr>")[-3:]

    assert [REMARK in row for row in rows] == [False, True, True]


def test_a_remark_is_shown_as_text(run: ResponseRun, rex: User, sign_in: SignIn) -> None:
    with rewriting():
        run.responses.update(generation={"remarks": ["<script>alert(1)</script>"]})

    page = sign_in(rex).get(f"/responses/{run.pk}/").content.decode()

    assert "&lt;script&gt;alert(1)" in page
    assert "<script>alert" not in page


def test_the_runs_files_have_it_and_come_in_again(run: ResponseRun, rex: User, sign_in: SignIn) -> None:
    client = sign_in(rex)
    texts = {
        ending: client.get(f"/responses/{run.pk}/responses.{ending}").content.decode()
        for ending in ("csv", "jsonl")
    }
    table = list(csv.DictReader(io.StringIO(texts["csv"])))
    lines = [json.loads(line) for line in texts["jsonl"].splitlines()]

    assert [(row["remarks"], row["outcome"]) for row in table] == [
        ("", "complete"),
        *[(json.dumps([REMARK]), "fallback")] * 2,
    ]
    assert [(line["remarks"], line["outcome"]) for line in lines] == [
        ([], "complete"),
        *[([REMARK], "fallback")] * 2,
    ]
    for ending, text in texts.items():
        keys = dict(run.context_version.contexts.values_list("key", "pk"))
        parsed = files.parse(text, ending, keys)
        assert (len(parsed.responses), parsed.problems, parsed.notes) == (3, [], [])


def test_staff_read_it_on_the_items_page(queue: Study, rex: User, sign_in: SignIn) -> None:
    def page(key: str, system: str = "Filtered") -> str:
        address = f"/studies/{queue.pk}/items/{item_of(queue, key, system).key}/"
        return sign_in(rex).get(address).content.decode()

    assert REMARK in page("c2")
    assert REMARK not in page("c1")
    assert REMARK not in page("c2", "Elsewhere")


def test_raters_are_not_told(queue: Study) -> None:
    desk = begin(queue)
    rater = Client()
    rater.cookies[COOKIE] = signed(Batch.objects.get(pk=desk.batch_id).assignment.participation)
    told = [rater.get(f"{queue.get_entry_url()}judge/").content.decode()]
    while shown := judging.state(desk)["items"]:
        judged = judging.judge(desk, key=UUID(shown[0]["key"]), answers={"sensible": False})
        told.append(json.dumps([shown, judged.leased]))
    told.append(json.dumps(judging.state(desk)))

    assert len(told) == 8  # the page, six items, and all of them again at the end
    assert FALLBACK in told[-1]
    assert "filter" not in "".join(told)
    assert "fallback" not in "".join(told)


def test_it_stands_with_every_judgment_in_the_exports(queue: Study, rex: User, sign_in: SignIn) -> None:
    judge(queue)
    client = sign_in(rex)
    exported = client.get(f"/studies/{queue.pk}/turns.jsonl").getvalue().decode()
    found = {
        (line["bot"], line["dialogue"]): (line["remarks"], line["outcome"])
        for line in map(json.loads, exported.splitlines())
    }

    assert found == {
        ("Filtered", "c1"): ([], "complete"),
        ("Filtered", "c2"): ([REMARK], "fallback"),
        ("Filtered", "c3"): ([REMARK], "fallback"),
        **{("Elsewhere", f"c{n}"): ([], None) for n in (1, 2, 3)},
    }


def test_it_stands_with_every_item_of_the_bundle(queue: Study, tmp_path: Path) -> None:
    with zipfile.ZipFile(bundled(queue, tmp_path)) as archive:
        items = [json.loads(line) for line in archive.read("data/items.jsonl").splitlines()]
        package = json.loads(archive.read("datapackage.json"))

    assert {(row["system"], row["name"], row["remarks"], row["outcome"]) for row in items} == {
        ("Filtered", "c1", None, "complete"),
        ("Filtered", "c2", json.dumps([REMARK]), "fallback"),
        ("Filtered", "c3", json.dumps([REMARK]), "fallback"),
        *(("Elsewhere", f"c{n}", None, None) for n in (1, 2, 3)),
    }
    schema = next(each["schema"] for each in package["resources"] if each["path"] == "data/items.csv")
    columns = [column["name"] for column in schema["fields"]]
    assert columns[-len(GENERATION_COLUMNS) :] == list(GENERATION_COLUMNS)


def test_the_report_counts_each_judged_item_once_and_the_bundle_gives_the_same(
    queue: Study, rex: User, sign_in: SignIn, tmp_path: Path
) -> None:
    free = {"remarks": [FREELY, "another"]}
    with rewriting():
        Response.objects.filter(items=item_of(queue, "c3")).update(generation=free)
    judge(queue)
    judge(queue)

    counted = figures(computed(queue))["replies"]
    assert [(row["bot"], row["replies"], row["remarked"], fallbacks(row)) for row in counted] == [
        ("Filtered", 3, 2, 1)
    ]
    found = recompute(bundled(queue, tmp_path))
    assert (found.report["replies"], found.differences) == (counted, [])
    page = sign_in(rex).get(f"/studies/{queue.pk}/report/").content.decode()
    assert '<td data-label="Fallback"><strong>33.3</strong>' in page
    assert '<td data-label="Refused, percent">0.0</td>' in page


def test_what_nobody_has_judged_is_not_counted(queue: Study, tmp_path: Path) -> None:
    judge(queue)
    with rewriting():
        Label.objects.filter(slot__item=item_of(queue, "c3")).delete()

    (counted,) = figures(computed(queue))["replies"]
    assert (counted["replies"], counted["remarked"], fallbacks(counted)) == (2, 1, 1)
    assert recompute(bundled(queue, tmp_path)).differences == []


def test_a_bundle_of_before_outcomes_were_stored_is_recomputed_without_them(
    queue: Study, tmp_path: Path
) -> None:
    judge(queue)
    path, older = bundled(queue, tmp_path), tmp_path / "older.zip"
    with zipfile.ZipFile(path) as new, zipfile.ZipFile(older, "w") as old:
        for name in new.namelist():
            content = new.read(name)
            old.writestr(name, _without_remarks(content) if name == "data/items.jsonl" else content)

    found = recompute(older)

    assert found.changed_files == ["data/items.jsonl"]
    assert "replies" not in found.report


def _without_remarks(lines: bytes) -> str:
    rows = [json.loads(line) for line in lines.splitlines()]
    kept = [{name: row[name] for name in row if name not in GENERATION_COLUMNS} for row in rows]
    assert kept != rows
    return "".join(json.dumps(row) + "\n" for row in kept)
