"""A researcher's set with every kind of question, from stored labels to report, page, exports and bundle."""

import csv
import io
import json
import zipfile
from pathlib import Path

import pytest
from django.core.management import call_command

from evaluation import questions
from evaluation.questions import Answer, Choice, Condition, Kind, Question, QuestionSet, Scale, Subject
from evaluation.report.bundles.recomputation import recompute
from tests.conftest import MakeStudy, start_dialogue, worker_of
from tests.exports.test_inspect_logs import valid_logs
from tests.planted import SignIn, add_exchange, add_label, bot_of, computed
from turnwise.accounts.models import User
from turnwise.bots.services import version_of
from turnwise.charts.drawing import svgs
from turnwise.dialogues.queries import seat_of
from turnwise.dialogues.services import finish
from turnwise.exports.chat_files.inspect_logs import inspect_logs
from turnwise.reports.models import Chart
from turnwise.studies.models import Study

pytestmark = pytest.mark.django_db(transaction=True)

EVERY = QuestionSet(
    "every",
    "Every kind",
    frozenset({Subject.TURN}),
    (
        Question("mood", "How does it sound?", choices=(Choice("glad", "Glad"), Choice("sad", "<i>Sad</i>"))),
        Question(
            "sources",
            "What is it based on?",
            kind=Kind.SEVERAL,
            choices=(Choice("fact", "A fact"), Choice("news", "News"), Choice("self", "Itself")),
        ),
        Question("ease", "How easy?", kind=Kind.SCALE, scale=Scale(1, 5, "hard", "easy"), required=False),
        Question("why", "Why?", kind=Kind.TEXT, asked_if=Condition("mood", ("sad",))),
    ),
    "us",
)
GLAD: dict[str, Answer] = {"mood": "glad", "sources": ["fact", "self"], "ease": 4}
SAD: dict[str, Answer] = {"mood": "sad", "sources": ["news"], "why": "It <script>alert(1)</script>"}


@pytest.fixture
def study(make_study: MakeStudy, monkeypatch: pytest.MonkeyPatch) -> Study:
    monkeypatch.setitem(questions.QUESTION_SETS, "every", EVERY)  # a dict
    made = make_study({"scripty": 8, "another": 8}, min_turns=2, max_turns=8, question_set="every")
    for number in range(6):
        dialogue = start_dialogue(made)
        seat = seat_of(dialogue.public_id, worker_of(dialogue).pk)
        version = version_of(bot_of(dialogue), {"adapter": "scripted"})
        for nth, answers in enumerate((GLAD, SAD, GLAD if number % 3 else SAD), 1):
            add_exchange(dialogue, version, text="Well", latency=10)
            add_label(dialogue, position=2 * nth, answers=EVERY.check(answers))
        finish(seat)
    return made


def test_the_report_has_a_share_of_each_choice_a_mean_and_the_texts(study: Study) -> None:
    result = computed(study).result

    assert result
    # Of 18 labels 10 are glad (6 first ones, and 4 third ones) and 8 sad; the two bots have 9 each.
    glad = sum(bot["cells"][0]["value"] * bot["labels"] for bot in result["bots"]) / 100
    news = sum(bot["cells"][3]["value"] * bot["labels"] for bot in result["bots"]) / 100
    assert (glad, news) == (pytest.approx(10), pytest.approx(8))
    assert [bot["cells"][5]["value"] for bot in result["bots"]] == [4, 4]
    assert (result["texts"][0]["answers"], len(result["texts"][0]["first"])) == (8, 8)
    assert {each["score"] for each in result["comparisons"]} == {score.key for score in EVERY.scores}
    # Beside another ask all kinds are drawn alike: the share of each choice, and the mean of the scale.
    beside = svgs({**result, "beside": [result]})
    assert beside["scores-1"].count("Glad") == beside["scores"].count("Glad") > 0
    assert "A fact" in beside["scores-1"]
    assert "4.0 points" in beside["scores-1"]
    assert {chart.name for chart in Chart.objects.filter(report__study=study)} == {"scores", "by-reply"}


def test_the_bundle_alone_gives_every_number_again(study: Study, tmp_path: Path) -> None:
    stored = computed(study).result
    path = tmp_path / "bundle.zip"
    call_command("bundle", str(study.pk), output=path)
    # Nobody who has the bundle has the researcher's set but by it.
    del questions.QUESTION_SETS["every"]  # a dict

    again = recompute(path)

    assert (again.report, again.differences, again.changed_files) == (stored, [], [])
    with zipfile.ZipFile(path) as archive:
        (declared,) = json.loads(archive.read("questions.json"))
        assert QuestionSet.from_json(declared) == EVERY
        rows = list(csv.DictReader(io.StringIO(archive.read("data/labels.csv").decode())))
        assert rows[0]["sources"] == '["fact", "self"]'
        assert "A fact" in archive.read("tables/scores.tex").decode()


def test_a_log_of_inspect_ai_has_a_score_of_each_kind_but_no_texts(study: Study) -> None:
    logs = valid_logs(b"".join(inspect_logs(study)))

    samples = [each for log in logs.values() for each in log["samples"]]
    assert len(samples) == 6
    shares = [each["scores"]["every.sources"]["value"] for each in samples]
    assert [round(3 * each["news"]) for each in shares].count(1) == 4  # of three answers; else two
    assert all(each["fact"] == each["self"] == pytest.approx(1 - each["news"]) for each in shares)
    assert {each["scores"]["every.mood"]["value"] for each in samples} == {"glad", "sad"}
    assert {each["scores"]["every.ease"]["value"] for each in samples} == {4.0}
    assert {name for each in samples for name in each["scores"]} == {
        "every.mood",
        "every.sources",
        "every.ease",
    }
    given = samples[0]["scores"]["every.mood"]["metadata"]["answers"]
    assert [(each["turn"], each["answer"]) for each in given][:2] == [(2, "glad"), (4, "sad")]


def test_answers_outside_the_choices_are_named_with_their_line(study: Study, tmp_path: Path) -> None:
    path, changed = tmp_path / "bundle.zip", tmp_path / "changed.zip"
    call_command("bundle", str(study.pk), output=path)
    with zipfile.ZipFile(path) as old, zipfile.ZipFile(changed, "w") as new:
        for name in old.namelist():
            text = old.read(name)
            is_labels = name == "data/labels.jsonl"
            new.writestr(name, text.replace(b'"glad"', b'"mad"', 1) if is_labels else text)

    with pytest.raises(ValueError, match=r"labels.jsonl, line 1, column mood: 'mad' is not an answer"):
        recompute(changed)


def test_page_and_exports_show_every_kind_and_execute_nothing(
    study: Study, rex: User, sign_in: SignIn
) -> None:
    computed(study)
    client = sign_in(rex)

    page = client.get(f"/studies/{study.pk}/report/").content.decode()
    lines = b"".join(client.get(f"/studies/{study.pk}/turns.csv")).decode()
    objects = b"".join(client.get(f"/studies/{study.pk}/turns.jsonl")).decode().splitlines()

    assert "What is it based on? A fact" in page
    assert "It &lt;script&gt;alert(1)&lt;/script&gt;" in page
    assert "<script>alert" not in page
    assert "<i>Sad" not in page
    row = next(csv.DictReader(io.StringIO(lines)))
    assert (row["mood"], row["sources"], row["ease"], row["why"]) == ("glad", '["fact", "self"]', "4", "")
    assert json.loads(objects[0])["sources"] == ["fact", "self"]
