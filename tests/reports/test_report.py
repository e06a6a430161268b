"""Reports of known labels, counted by hand."""

import csv
import io
import json
import os
from datetime import timedelta
from typing import Any
from xml.etree import ElementTree

import psycopg2
import pytest
from django.db import connection
from django.test import Client
from django.utils import timezone

from tests.conftest import MakeStudy, pseudonym_of, start_dialogue, worker_of
from tests.planted import SignIn, add_exchange, add_label, ask_instead, computed, figures, talked
from turnwise.accounts.models import User
from turnwise.bots.models import Bot
from turnwise.bots.services import version_of
from turnwise.dialogues.queries import seat_of
from turnwise.dialogues.services import finish
from turnwise.reports import services
from turnwise.reports.models import Report
from turnwise.studies.models import Study

# Threads, or transactions of their own, must see what the test has written.
pytestmark = pytest.mark.django_db(transaction=True)


def test_the_report_counts_the_injected_labels(short: Study) -> None:
    talked(short, [(True, True), (True, False), (False, False), (True, True)], latencies=[10, 20, 30, 40])
    talked(short, [(True, True), (True, False)], latencies=[50, 60])

    report = computed(short)

    # 5 of 6 sensible, 3 of 6 specific; SSA is the average of 83.33 and 50
    bot = figures(report)["bots"][0]
    values = {
        column["key"]: cell["value"]
        for column, cell in zip(figures(report)["columns"], bot["cells"], strict=True)
    }
    assert values == pytest.approx({"sensible": 500 / 6, "specific": 50.0, "ssa": 200 / 3})
    assert (bot["conversations"], bot["turns"], bot["labels"], bot["workers"]) == (2, 6, 6, 2)
    assert all(
        0 <= cell["low"] <= cell["value"] <= cell["high"] <= 100 for cell in bot["cells"] if "low" in cell
    )


def test_one_conversation_gives_figures_but_no_interval(short: Study) -> None:
    talked(short, [(True, True), (False, False)])

    cells = figures(computed(short))["bots"][0]["cells"]

    assert cells[0]["value"] == 50
    assert "an interval needs 2" in cells[0]["undefined"]


def test_unfinished_conversations_are_counted_but_not_scored(short: Study) -> None:
    talked(short, [(True, True)])
    start_dialogue(short)

    report = computed(short)

    assert figures(report)["bots"][0]["conversations"] == 1
    course = figures(report)["course"]["bots"][0]
    assert (course["finished"], course["under_way"], course["bot_failed"]) == (1, 1, 0)


def test_a_study_without_conversations_has_an_empty_report(short: Study, rex: User, sign_in: SignIn) -> None:
    report = computed(short)

    page = sign_in(rex).get(f"/studies/{short.pk}/report/")

    assert report.state == Report.State.READY
    assert figures(report)["bots"] == []
    assert page.status_code == 200


def test_another_question_set_is_reported_by_its_own_questions(make_study: MakeStudy) -> None:
    study = make_study(question_set="human-likeness", min_turns=2)
    dialogue = start_dialogue(study)
    seat = seat_of(dialogue.public_id, worker_of(dialogue).pk)
    add_exchange(dialogue, version_of(study.study_bots.get().bot, {}), text="Hm", latency=1)
    add_label(dialogue, position=2, answers={"human_like": True})
    finish(seat)

    result = figures(computed(study))

    assert [column["key"] for column in result["columns"]] == ["human_like"]
    assert result["bots"][0]["cells"][0]["value"] == 100


def test_the_page_shows_figures_intervals_and_the_papers_systems(
    short: Study, rex: User, sign_in: SignIn
) -> None:
    for labels in (
        [(True, True), (True, False)],
        [(False, False), (True, True)],
        [(True, True), (True, True)],
    ):
        talked(short, labels)
    report = computed(short)

    page = sign_in(rex).get(f"/studies/{short.pk}/report/").content.decode()

    assert "Scripty" in page
    assert "83" in page  # 5 of 6 sensible
    assert "Meena (full)" in page
    assert "XiaoIce" in page
    svg = report.charts.get(name="scores").svg
    chart = ElementTree.fromstring(svg)
    assert chart.get("role") == "img"
    assert "Sensibleness 83 percent" in chart.get("aria-label", "")
    assert " style=" not in svg


def test_a_report_is_stale_after_another_conversation(short: Study, rex: User, sign_in: SignIn) -> None:
    talked(short, [(True, True)])
    computed(short)
    later = timezone.now() + timedelta(minutes=1)
    assert services.stale_studies(later) == []

    talked(short, [(False, False)])

    assert services.stale_studies(later) == [short]
    assert "have changed since" in sign_in(rex).get(f"/studies/{short.pk}/report/").content.decode()


def test_reports_of_a_busy_study_are_rate_limited(short: Study) -> None:
    talked(short, [(True, True)])
    computed(short)
    talked(short, [(True, True)])

    assert services.stale_studies(timezone.now()) == []


def test_a_failed_report_says_why_and_keeps_the_old_figures(short: Study, rex: User, sign_in: SignIn) -> None:
    talked(short, [(True, True)])
    computed(short)
    talked(short, [(True, True)])
    ask_instead(short, "no-such-set")

    report = computed(short)

    ask_instead(short, "ssa")
    page = sign_in(rex).get(f"/studies/{short.pk}/report/").content.decode()
    assert report.state == Report.State.FAILED
    assert "No question set is declared as" in report.reason
    assert "The last computation failed" in page
    assert "100" in page


def test_dollar_signs_in_a_bot_title_are_drawn_literally(short: Study) -> None:
    Bot.objects.update(title=r"Cheap $\frac$ bot")
    talked(short, [(True, True)])

    report = computed(short)

    assert report.state == Report.State.READY
    assert all(r"Cheap $\frac$ bot" in chart.svg for chart in report.charts.filter(name="scores"))
    assert report.charts.filter(name="scores").exists()


def test_two_requests_at_once_are_one_report(short: Study) -> None:
    assert services.queue_report(short) == services.queue_report(short)


def test_a_report_being_computed_is_not_computed_twice(short: Study) -> None:
    report = services.queue_report(short)
    other = connection.copy()
    with other.cursor() as theirs:  # as another process would, it holds the report's lock
        theirs.execute("SELECT pg_advisory_lock(7301, %s)", [report.pk])
    try:
        services.build_report(report.pk)
        report.refresh_from_db()
        assert report.state == Report.State.QUEUED
    finally:
        other.close()


def test_a_report_whose_process_died_is_computed_again(short: Study) -> None:
    report = services.queue_report(short)
    Report.objects.filter(pk=report.pk).update(state=Report.State.RUNNING, started_at=timezone.now())

    assert services.lost_reports(timezone.now()) == [report.pk]
    services.build_report(report.pk)

    report.refresh_from_db()
    assert report.state == Report.State.READY


# --- exports -------------------------------------------------------------------------------------


def exported(client: Client, study: Study, ending: str) -> str:
    response = client.get(f"/studies/{study.pk}/turns.{ending}")
    assert response.status_code == 200
    return response.getvalue().decode()


def test_the_exports_have_one_row_per_labelled_turn(short: Study, rex: User, sign_in: SignIn) -> None:
    dialogue = talked(
        short, [(True, True), (False, False)], text='Größe, «zitiert», 日本語, "quoted"\nand a line'
    )

    table = list(csv.DictReader(io.StringIO(exported(sign_in(rex), short, "csv"))))
    lines = [json.loads(line) for line in exported(sign_in(rex), short, "jsonl").splitlines()]

    assert [(row["turn"], row["sensible"], row["specific"]) for row in table] == [
        ("2", "true", "true"),
        ("4", "false", "false"),
    ]
    assert [(line["turn"], line["sensible"], line["specific"]) for line in lines] == [
        (2, True, True),
        (4, False, False),
    ]
    assert table[0]["response"] == lines[0]["response"] == 'Größe, «zitiert», 日本語, "quoted"\nand a line'
    assert lines[0]["dialogue"] == str(dialogue.public_id)
    assert lines[0]["rater"] == pseudonym_of(dialogue)
    assert lines[0]["answers"] == {"sensible": True, "specific": True}


def test_no_cell_of_the_spreadsheet_is_a_formula(short: Study, rex: User, sign_in: SignIn) -> None:
    texts = ["=1+1", "+1", "-1", "@SUM(A1)", "\t=1", '=HYPERLINK("http://x")']
    for text in texts:
        talked(short, [(True, True)], text=text)
    client = sign_in(rex)

    rows = csv.DictReader(io.StringIO(exported(client, short, "csv")))
    lines = [json.loads(line) for line in exported(client, short, "jsonl").splitlines()]

    assert sorted(row["response"] for row in rows) == sorted("'" + text for text in texts)
    assert sorted(line["response"] for line in lines) == sorted(texts)


# --- who may see what ----------------------------------------------------------------------------


STAFF_PAGES = [
    "/studies/{pk}/",
    "/studies/{pk}/edit/",
    "/studies/{pk}/report/",
    "/studies/{pk}/report/stamp/",
    "/studies/{pk}/report/scores.svg",
    "/studies/{pk}/report/plane.pdf",
    "/studies/{pk}/turns.csv",
    "/studies/{pk}/turns.jsonl",
    "/studies/{pk}/participants/",
    "/studies/{pk}/participants.csv",
    "/studies/{pk}/dialogues/",
    "/dialogues/{dialogue}/",
]


def test_staff_pages_are_for_the_owner_and_admins(
    short: Study, rex: User, ada: User, mallory: User, sign_in: SignIn
) -> None:
    dialogue = talked(short, [(True, True)])
    computed(short)
    clients = {user.username: sign_in(user) for user in (rex, ada, mallory)}

    for page in STAFF_PAGES:
        address = page.format(pk=short.pk, dialogue=dialogue.public_id)
        statuses = {name: client.get(address).status_code for name, client in clients.items()}
        assert statuses == {"rex": 200, "ada": 200, "mallory": 404}, page
        assert Client().get(address).headers["Location"].startswith("/sign-in/"), page


@pytest.mark.parametrize("action", ["state", "report/refresh", "edit"])
def test_other_users_cannot_change_a_study(short: Study, mallory: User, sign_in: SignIn, action: str) -> None:
    assert sign_in(mallory).post(f"/studies/{short.pk}/{action}/", {"state": "closed"}).status_code == 404
    short.refresh_from_db()
    assert short.state == Study.State.OPEN


def test_researchers_see_their_own_studies_in_the_list(
    short: Study, rex: User, mallory: User, sign_in: SignIn
) -> None:
    assert short.title in sign_in(rex).get("/studies/").content.decode()
    assert short.title not in sign_in(mallory).get("/studies/").content.decode()


def test_the_transcript_has_the_labels_in_place(short: Study, rex: User, sign_in: SignIn) -> None:
    dialogue = talked(short, [(True, False)], text="<b>bold</b>")

    page = sign_in(rex).get(f"/dialogues/{dialogue.public_id}/").content.decode()

    assert "&lt;b&gt;bold&lt;/b&gt;" in page
    assert "<b>bold</b>" not in page
    assert "Complete · Scripty · " in page


def test_a_report_whose_process_dies_repeatedly_fails_and_says_what_to_do(
    short: Study, rex: User, sign_in: SignIn
) -> None:
    talked(short, [(True, True)])
    short.refresh_from_db()
    report = services.queue_report(short)
    # as killed processes leave it: begun three times, nobody holds its lock
    Report.objects.filter(pk=report.pk).update(state=Report.State.RUNNING, attempts=3)
    assert services.lost_reports(timezone.now()) == [report.pk]

    services.build_report(report.pk)

    report.refresh_from_db()
    assert report.state == Report.State.FAILED
    assert services.lost_reports(timezone.now()) == []
    assert "Give the Celery worker more" in sign_in(rex).get(f"/studies/{short.pk}/report/").content.decode()


def test_a_report_is_started_up_to_three_times(short: Study) -> None:
    talked(short, [(True, True)])
    report = services.queue_report(short)
    Report.objects.filter(pk=report.pk).update(state=Report.State.RUNNING, attempts=2)

    services.build_report(report.pk)

    report.refresh_from_db()
    assert (report.state, report.attempts) == (Report.State.READY, 3)


def test_a_report_whose_database_dies_is_computed_again(short: Study) -> None:
    """The connection is cut while the labels are read, as when PostgreSQL is killed."""
    talked(short, [(True, True)])
    report = services.queue_report(short)
    cuts = []

    def cut(execute: Any, sql: str, params: Any, many: bool, context: Any) -> Any:
        if "labels_label" in sql and not cuts:
            cuts.append(sql)
            own = context["connection"].connection.info.backend_pid
            with psycopg2.connect(os.environ["DATABASE_URL"]) as other, other.cursor() as cursor:
                cursor.execute("SELECT pg_terminate_backend(%s, 5000)", [own])
        return execute(sql, params, many, context)

    with connection.execute_wrapper(cut):
        services.build_report(report.pk)
    report.refresh_from_db()
    assert cuts
    assert report.state == Report.State.RUNNING
    assert services.lost_reports(timezone.now()) == [report.pk]

    services.build_report(report.pk)

    report.refresh_from_db()
    assert report.state == Report.State.READY
