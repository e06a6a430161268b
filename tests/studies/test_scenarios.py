"""Tables of scenarios: reading, the form, dealing, what people and bots get, exports and report."""

from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from io import BytesIO
from pathlib import Path
from typing import Any

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.core.management import call_command
from django.db import connection
from django.test import Client
from openpyxl import Workbook

from evaluation.questions import GOAL
from evaluation.report.bundles.recomputation import recompute
from tests.conftest import MakeStudy, enter, session_cookie, start_dialogue, worker_of
from tests.planted import SignIn, add_exchange, add_label, ask_of, bot_of, computed, figures
from tests.studies.test_presets import called
from tests.studies.test_studies import FORM
from turnwise.accounts.models import User
from turnwise.bots.hosting.remote import decode_context, encode_context
from turnwise.bots.models import Bot
from turnwise.bots.services import version_of
from turnwise.crowd.entry.sessions import COOKIE
from turnwise.crowd.models import Assignment
from turnwise.crowd.places.assignment import assign
from turnwise.dialogues.models import Dialogue
from turnwise.dialogues.queries import context_of, seat_of
from turnwise.dialogues.services import begin
from turnwise.labels.models import Label
from turnwise.studies.asks import About, AskSpec, Moment, Party
from turnwise.studies.models import Study
from turnwise.studies.opening_checks import checks
from turnwise.studies.scenarios.tables import as_csv, parse
from turnwise.studies.services import clone

EXAMPLE = Path("static/examples/scenarios.csv").read_text()
TABLE = 'name,scenario,persona,product\nbuy,"Buy <b>tea</b>.\nToday.",A teacher,tea\nask,Ask for help.,,-2\n'
ROWS = parse(TABLE).rows


def test_a_table_is_read_and_written_alike() -> None:
    assert ROWS[0] == {
        "name": "buy", "scenario": "Buy <b>tea</b>.\nToday.", "persona": "A teacher",
        "variables": {"product": "tea"},
    }  # fmt: skip
    assert parse(as_csv(ROWS)).rows == ROWS
    assert [row["name"] for row in parse(EXAMPLE).rows] == ["return", "advice"]
    assert parse("scenario\tproduct\nBuy, now\ttea\nAsk\t").rows[1]["name"] == "2"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("scenario,name\nBuy,a\n,\nSell,b", [(3, "This row is empty. Fill it in, or remove the line.")]),
        ("scenario\nBuy\n\nSell\n\n", [(3, "This row is empty. Fill it in, or remove the line.")]),
        ("scenario,persona\n,A teacher", [(2, "“scenario” is empty. Write what the person is to do")]),
        ("scenario,a,a\nBuy,1,2", [(1, "Two columns are called “a”. Rename one of them.")]),
        ("scenario,persna\nBuy,x", [(1, "“persna” looks like “persona”. Write “persona”")]),
        ("scenaro\nBuy", [(1, "There is no column “scenario”")]),
        ("scenario,the product\nBuy,x", [(1, "“the product” cannot be a variable")]),
        ("scenario,name\nBuy,a\nSell,A", [(3, "The name “A” is that of line 2, too.")]),
        ("scenario,name\nBuy,a/b", [(2, "The name “a/b” cannot be used.")]),
        ("scenario,name\nBuy", [(2, "This row has 1 cells, the header has 2.")]),
        ("scenario\n", [(1, "There is nothing below the header.")]),
        (f"scenario\n{'x' * 2001}", [(2, "“scenario” has 2,001 characters, more than 2,000. Correct it.")]),
        ("scenario\n" + "Buy\n" * 201, [(202, "There are 201 rows, more than 200.")]),
        ('{"scenario": "Buy", "nmae": "a"}\n{"scenario": 3}',
         [(1, "“nmae” looks like “name”"), (2, "“scenario” is 3, not text. Write it as text")]),
        ('{"scenario": "Buy", "a": "1", "a": "2"}', [(1, "This line has “a” twice.")]),
    ],
)  # fmt: skip
def test_what_is_wrong_is_named_by_line_and_nothing_is_taken(text: str, said: list[tuple[int, str]]) -> None:
    parsed = parse(text)

    assert parsed.rows == []
    assert [problem.line for problem in parsed.problems] == [line for line, _ in said]
    for problem, (_, words) in zip(parsed.problems, said, strict=True):
        assert words in problem.say


def workbook(*rows: list[Any]) -> SimpleUploadedFile:
    book, content = Workbook(), BytesIO()
    for row in rows:
        book.active.append(row)
    book.save(content)
    return SimpleUploadedFile("scenarios.xlsx", content.getvalue())


@pytest.mark.django_db
def test_the_form_takes_a_paste_or_a_file_and_refuses_the_whole_of_a_faulty_one(
    make_study: MakeStudy, rex: User, sign_in: SignIn
) -> None:
    bot, client = make_study().study_bots.get().bot, sign_in(rex)
    form = FORM | {"bots-0-bot": str(bot.pk)}
    Study.objects.update(title="Another")

    def post(address: str = "/studies/new/", **changed: Any) -> Any:
        return client.post(address, form | changed)

    faulty = post(scenarios_file=workbook(["scenario", "name"], ["Buy", "a"], [None, None], ["Sell", "b"]))
    assert faulty.status_code == 422
    assert "Line 3: This row is empty. Fill it in, or remove the line." in faulty.content.decode()
    unknown = post(scenarios_file=SimpleUploadedFile("table.pdf", b"%PDF"))
    assert "“table.pdf” does not end in any of .csv" in unknown.content.decode()
    both = post(scenario="One for all", scenarios=TABLE).content.decode()
    assert "There is a scenario above, too." in both
    kept = post(title="", scenarios_file=SimpleUploadedFile("table.csv", TABLE.encode())).content.decode()
    assert "Buy &lt;b&gt;tea" in kept
    assert "buy," in kept
    assert Study.objects.count() == 1

    assert post(scenarios_file=workbook(["scenario", "product"], ["Buy", "tea"])).status_code == 302
    study = Study.objects.exclude(title="Another").get()
    assert study.scenarios[0] == {
        "name": "1", "scenario": "Buy", "persona": "", "variables": {"product": "tea"},
    }  # fmt: skip
    edit = f"/studies/{study.pk}/edit/"
    assert post(edit, scenarios=TABLE.replace("\n", "\r\n")).status_code == 302
    study.refresh_from_db()
    assert study.scenarios == ROWS
    page = client.get(edit).content.decode()
    assert "2 scenarios" in page
    assert "Buy &lt;b&gt;tea&lt;/b&gt;." in page
    assert clone(study, owner=rex).scenarios == ROWS


@pytest.mark.django_db
def test_the_api_reads_and_writes_the_table_and_an_opened_study_keeps_it(
    make_study: MakeStudy, rex: User
) -> None:
    made = called(rex, "POST", "/api/studies", {"title": "By API", "scenarios": TABLE})
    code = made.json()["code"]
    refused = called(rex, "PATCH", f"/api/studies/{code}", {"scenarios": "scenario\n\nBuy\n"})
    renamed = called(rex, "PATCH", f"/api/studies/{code}", {"title": "Renamed"})

    assert (made.status_code, renamed.status_code, refused.status_code) == (201, 200, 422)
    assert "Line 2: This row is empty." in refused.content.decode()
    assert Study.objects.get(code=code).scenarios == ROWS
    opened = make_study(scenarios=ROWS)
    address = f"/api/studies/{opened.code}"
    assert called(rex, "PATCH", address, {"title": "Open"}).status_code == 200
    assert called(rex, "PATCH", address, {"scenarios": "scenario\nOther"}).status_code == 422
    opened.refresh_from_db()
    assert opened.scenarios == ROWS


@pytest.mark.django_db(transaction=True)
def test_conversations_that_begin_at_once_get_the_rows_in_balance(make_study: MakeStudy) -> None:
    rows = parse("scenario\n" + "\n".join(f"Task {n}" for n in range(5))).rows
    study = make_study({"ann": 60, "bob": 60}, scenarios=rows)
    people = [enter(study).pk for _ in range(60)]

    def start(participation: int) -> None:
        try:
            begin(assign(participation))
        finally:
            connection.close()

    with ThreadPoolExecutor(8) as threads:
        list(threads.map(start, people))

    dealt = Dialogue.objects.filter(study=study, seats__bot__isnull=False)
    cells = Counter(dealt.values_list("seats__bot__name", "scenario__name"))
    assert cells.total() == 60
    for bot in ("ann", "bob"):
        of_bot = [cells[bot, str(n)] for n in range(1, 6)]
        assert max(of_bot) - min(of_bot) <= 1, cells


@pytest.mark.django_db(transaction=True)
def test_a_conversation_without_a_place_does_not_count(make_study: MakeStudy) -> None:
    study = make_study(scenarios=ROWS)
    first, second = start_dialogue(study), start_dialogue(study)
    assert first.scenario
    assert second.scenario
    assert {first.scenario["name"], second.scenario["name"]} == {"buy", "ask"}

    Assignment.objects.filter(seat__dialogue=second).update(outcome="left", ended_at=second.started_at)

    third = start_dialogue(study)
    assert third.scenario == second.scenario


@pytest.mark.django_db(transaction=True)
def test_the_person_sees_their_row_and_the_bot_gets_its_columns(
    make_study: MakeStudy, rex: User, sign_in: SignIn
) -> None:
    study = make_study(scenarios=ROWS[:1], persona="Ada, who sells tea")
    dialogue = start_dialogue(study)
    browser = Client()
    browser.cookies[COOKIE] = session_cookie(worker_of(dialogue))

    chat = browser.get(f"{study.get_entry_url()}chat/").content.decode()
    context = context_of(seat_of(dialogue.public_id, worker_of(dialogue).pk), ["Hello"])
    preview = sign_in(rex).get(f"/studies/{study.pk}/preview/work/").content.decode()

    for page in (chat, preview):
        assert "Your situation" in page
        assert "Buy &lt;b&gt;tea&lt;/b&gt;." in page
        assert "A teacher" in page
        assert "Ada" not in page
    setting = context.setting
    assert (setting.scenario, setting.persona) == (ROWS[0]["scenario"], "Ada, who sells tea")
    assert dict(setting.columns)["product"] == "tea"
    assert decode_context(encode_context(context)) == context


@pytest.mark.django_db
def test_before_opening_prompts_with_a_column_that_the_table_lacks_are_named(make_study: MakeStudy) -> None:
    study = make_study(scenarios=ROWS)
    bot = study.study_bots.get().bot
    Bot.objects.filter(pk=bot.pk).update(
        configuration={"replies": ["{scenario.product} {scenario.price} {{scenario.not}}"]}
    )

    found = next(each for each in checks(study) if each.title == "Scenarios")

    assert not found.holds
    assert "Scripty ({scenario.price})." in found.says


def end_with_goal(dialogue: Dialogue, reached: str) -> None:
    study = dialogue.study
    Label.objects.create(
        dialogue=dialogue, rater=worker_of(dialogue), study=study, party=Party.CHATTER,
        ask=ask_of(study, "goal"), question_set="goal", answers=GOAL.check({"goal_reached": reached}),
        created_at=dialogue.started_at, changed_at=dialogue.started_at,
    )  # fmt: skip
    ended = {"ending": "complete", "ended_at": dialogue.started_at, "due_1": []}
    Dialogue.objects.filter(pk=dialogue.pk).update(**ended)


@pytest.mark.django_db(transaction=True)
def test_exports_and_report_split_by_scenario_and_the_bundle_gives_the_same(
    make_study: MakeStudy, rex: User, sign_in: SignIn, tmp_path: Path
) -> None:
    asks = [
        AskSpec("ssa", About.PARTNER_TURN, Moment.EACH_TURN),
        AskSpec("goal", About.DIALOGUE, Moment.AT_END),
    ]
    study = make_study({"ann": 4, "bob": 4}, min_turns=2, max_turns=8, scenarios=ROWS, asks=asks)
    for n in range(8):
        dialogue = start_dialogue(study)
        add_exchange(dialogue, version_of(bot_of(dialogue), {}), text="Well", latency=10)
        add_label(dialogue, position=2, answers={"sensible": True, "specific": n % 3 > 0})
        if n == 0:
            add_exchange(dialogue, version_of(bot_of(dialogue), {}), text="Bye!", latency=10)
            add_label(dialogue, position=4, answers={"sensible": False})
        end_with_goal(dialogue, "yes" if dialogue.scenario == ROWS[0] else "partly")

    result = figures(computed(study))
    found, goals = result["scenarios"], result["beside"][0]["scenarios"]["scores"][0]
    client = sign_in(rex)
    page = client.get(f"/studies/{study.pk}/report/").content.decode()
    labels = b"".join(client.get(f"/studies/{study.pk}/turns.csv").streaming_content).decode()

    assert found["names"] == [{"name": "ask", "conversations": 4}, {"name": "buy", "conversations": 4}]
    assert found["bots"] == ["Ann", "Bob"]
    assert {row["name"]: row["cells"][0]["value"] for row in goals["rows"]} == {"ask": 0.0, "buy": 100.0}
    assert all(cell["value"] is not None for row in found["scores"][0]["rows"] for cell in row["cells"])
    assert page.count("<h3>By scenario</h3>") == 2
    without = result["without_greetings"]
    assert [
        sum(each["replies"] for each in without["left_out"]),
        page.count("Labelled replies left out"),
    ] == [1, 1]
    assert [bot["cells"][0]["value"] for bot in without["bots"]] == [100, 100]
    assert sorted(bot["cells"][0]["value"] for bot in result["bots"]) == [80, 100]
    assert "Scenario buy" in "".join(
        client.get(f"/dialogues/{each.public_id}/").content.decode() for each in study.dialogues.all()
    )
    assert labels.splitlines()[0].endswith(",scenario")
    assert {line.rpartition(",")[2] for line in labels.splitlines()[1:]} == {"ask", "buy"}
    call_command("bundle", str(study.pk), output=tmp_path / "bundle.zip")
    again = recompute(tmp_path / "bundle.zip")
    assert again.differences == []
