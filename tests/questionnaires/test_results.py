"""What people said about themselves: in report, exports and bundle, and nowhere among the judgments."""

import csv
import io
import json
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pandas
import pytest
from django.core.management import call_command
from django.test import Client

from evaluation.report.bundles.recomputation import recompute
from evaluation.texts.personal_data import Kind
from tests.conftest import MakeStudy, MakeWriting
from tests.planted import SignIn, computed, talked
from tests.questionnaires.test_path import FINE, HOW, OLD_HAND, SSA, WHO
from turnwise.accounts.models import User
from turnwise.crowd.models import Participation
from turnwise.crowd.redaction import redact
from turnwise.dialogues.models import Dialogue
from turnwise.labels.models import Label
from turnwise.privacy.erasure import anonymize
from turnwise.privacy.personal_data import review_texts
from turnwise.privacy.stored_data import stored_data_of
from turnwise.privacy.withdrawal import withdraw
from turnwise.questionnaires.services import save_answers
from turnwise.questions import question_sets
from turnwise.questions.services import create_set
from turnwise.studies.ask_rules import rows_of
from turnwise.studies.asks import About, AskSpec, Moment
from turnwise.studies.models import Study

pytestmark = pytest.mark.django_db(transaction=True)

WRITES = {"anything_else": "<script>alert(1)</script> Ask wanda@example.org"}
TOOLS = {
    "format": 1, "key": "tools", "title": "Tools", "subjects": ["person"], "source": "us",
    "questions": [
        {"key": "tools", "wording": "What do you use?", "kind": "several",
         "choices": [{"value": "phone", "label": "Phone"}, {"value": "desk", "label": "Computer"}]},
        {"key": "years", "wording": "For how many years?", "kind": "scale",
         "scale": {"low": 0, "high": 9, "low_caption": "none", "high_caption": "nine"},
         "asked_if": {"question": "tools", "any_of": ["desk"]}},
    ],
}  # fmt: skip


@pytest.fixture(autouse=True)
def _sets_are_forgotten() -> Iterator[None]:
    yield
    question_sets.forget_question_sets()


def person(dialogue: Dialogue) -> Participation:
    """Who talked there."""
    return dialogue.seats.get(worker__isnull=False).assignment.participation


@pytest.fixture
def study(make_study: MakeStudy, rex: User) -> Study:
    """Four people who talked; one of them leaves the last questions out."""
    tools = create_set(TOOLS, owner=rex).key
    own = AskSpec(tools, About.PERSON, Moment.BEFORE_WORK)
    study = make_study({"scripty": 100}, min_turns=2, max_turns=8, asks=[SSA, WHO, own, HOW])
    used = ({"tools": ["phone"]}, {"tools": ["phone", "desk"], "years": 3}, {"tools": ["desk"], "years": 8})
    for number in range(4):
        someone = person(talked(study, [(True, True), (True, False)]))
        who = OLD_HAND if number else OLD_HAND | {"gender": "woman"}
        who = {key: said for key, said in who.items() if number or key != "gender_in_own_words"}
        how = FINE | {"instructions": number + 2} | (WRITES if number == 1 else {})
        sent = {"demographics": {"answers": who}, tools: {"answers": used[number % 3]}}
        save_answers(someone, Moment.BEFORE_WORK, sent)
        save_answers(someone, Moment.AFTER_WORK, {"feedback": {"answers": None if number == 3 else how}})
    return study


def text_of(client: Client, address: str) -> str:
    return b"".join(client.get(address).streaming_content).decode()  # type: ignore[attr-defined]


def test_the_report_counts_the_answers(study: Study) -> None:
    result = computed(study).result
    assert result
    who, tools, how = result["people"]

    assert (who["moment"], who["people"], who["answers"], who["left_out"]) == ("before_work", 4, 4, 0)
    gender = {each["choice"]: (each["answers"], each["share"]) for each in who["questions"][1]["choices"]}
    assert gender["Woman"] == (1, 25)
    assert gender["I describe it myself"] == (3, 75)
    assert [each["text"] for each in who["questions"][2]["first"]] == ["Fae"] * 3
    # Any number of choices: shares are of the people, and need not add up to 100.
    assert [each["share"] for each in tools["questions"][0]["choices"]] == [75, 50]
    assert (tools["questions"][1]["answers"], tools["questions"][1]["mean"]) == (2, 5.5)
    assert (how["people"], how["left_out"]) == (3, 1)
    clear = how["questions"][0]
    assert (clear["mean"], clear["answers"]) == (3, 3)
    assert "people" not in (result["beside"] or [{}])[0]


def test_a_table_of_another_program_gives_the_same_figures(study: Study, rex: User, sign_in: SignIn) -> None:
    result = computed(study).result
    assert result
    table = pandas.read_csv(io.StringIO(text_of(sign_in(rex), f"/studies/{study.pk}/turns.csv")))

    people = table[table.subject == "person"]
    told = people[people.question_set == "feedback"].instructions.astype(float)
    clear = result["people"][2]["questions"][0]
    assert clear["mean"] == pytest.approx(told.mean())
    assert clear["deviation"] == pytest.approx(told.std())
    shares = people[people.question_set == "demographics"].gender.value_counts(normalize=True) * 100
    stored = {each["choice"]: each["share"] for each in result["people"][0]["questions"][1]["choices"]}
    assert (stored["Woman"], stored["I describe it myself"]) == (shares["woman"], shares["own_words"])
    # Nothing of it is of a bot: means by bot are as without it.
    assert set(table[table.subject == "turn"].bot) == {"scripty"}
    assert people.bot.isna().all()
    assert not people.in_primary_analysis.any()
    assert set(people.rater) <= set(Participation.objects.values_list("pseudonym", flat=True))


def test_the_page_shows_the_answers_as_text(study: Study, rex: User, sign_in: SignIn) -> None:
    computed(study)
    page = sign_in(rex).get(f"/studies/{study.pk}/report/").content.decode()

    assert "Age, gender, language, and use of chatbots" in page
    assert "3 people answered; skipped 1 time" in page
    assert "mean 3.0, standard deviation 1.0" in page
    assert "&lt;script&gt;alert(1)" in page
    assert "<script>alert" not in page


def test_the_bundle_alone_reproduces_every_number(study: Study, tmp_path: Path) -> None:
    stored = computed(study).result
    path = tmp_path / "bundle.zip"
    call_command("bundle", str(study.pk), output=path)

    again = recompute(path)

    assert (again.report, again.differences, again.changed_files) == (stored, [], [])
    with zipfile.ZipFile(path) as archive:
        keys = [each["key"] for each in json.loads(archive.read("questions.json"))]
        assert keys[0] == "ssa"
        assert {"demographics", "feedback"} < set(keys)
        rows = list(csv.DictReader(io.StringIO(archive.read("data/questionnaires.csv").decode())))
        assert len(rows) == 12
        assert {row["moment"] for row in rows} == {"before_work", "after_work"}
        assert rows[4]["tools"] == '["phone", "desk"]'
        labels = list(csv.DictReader(io.StringIO(archive.read("data/labels.csv").decode())))
        assert len(labels) == 8
        assert "gender" not in labels[0]
        assert "questionnaires" in archive.read("README.md").decode()


def test_a_changed_answer_is_detected(study: Study, tmp_path: Path) -> None:
    path, changed = tmp_path / "bundle.zip", tmp_path / "changed.zip"
    call_command("bundle", str(study.pk), output=path)
    with zipfile.ZipFile(path) as old, zipfile.ZipFile(changed, "w") as new:
        for name in old.namelist():
            text = old.read(name)
            is_ours = name == "data/questionnaires.jsonl"
            new.writestr(name, text.replace(b'"woman"', b'"man"', 1) if is_ours else text)

    again = recompute(changed)

    assert again.changed_files == ["data/questionnaires.jsonl"]
    assert {each.where.split("[")[0] for each in again.differences} == {"people"}


def test_answers_about_a_person_never_count_as_judgments(study: Study, rex: User, sign_in: SignIn) -> None:
    result = computed(study).result
    assert result
    assert result["raters"]["labels"] == 8
    assert [bot["labels"] for bot in result["bots"]] == [8]
    someone = Participation.objects.order_by("pk")[0]
    client = sign_in(rex)
    history = client.get(f"/studies/{study.pk}/quality/{someone.pk}/history/")
    assert [part["labels"] for part in history.context["parts"]] == [2]
    assert client.get(f"/studies/{study.pk}/dialogues/").status_code == 200


def test_people_can_read_and_withdraw_their_answers(study: Study) -> None:
    someone = Label.objects.filter(answers__has_key="anything_else").order_by("pk")[0].participation
    assert someone

    told = [each for each in stored_data_of(someone)["answers"] if each["about"].startswith("You")]
    assert len(told) == 3
    page = Client().get(someone.data_link).content.decode()
    assert "How do you describe your gender?" in page or "What is your gender?" in page

    withdraw(someone.pk)

    assert not Label.objects.filter(participation=someone).exists()
    result = computed(study).result
    assert result
    assert [each["people"] for each in result["people"]] == [3, 3, 2]


def test_erasure_keeps_the_answers_without_the_person(study: Study) -> None:
    before = computed(study).result
    for own in Participation.objects.select_related("worker", "study"):
        anonymize(own, now=own.consented_at)

    after = computed(study).result

    assert before
    assert after
    assert before["people"] == after["people"]


def test_free_text_is_searched_and_redacted(study: Study, rex: User, sign_in: SignIn) -> None:
    (found,) = (each for each in review_texts(study).found if each.kind is Kind.EMAIL)
    assert found.text == "wanda@example.org"
    assert found.passages[0].address == f"/studies/{study.pk}/participants/"

    redact(study, [(Kind.EMAIL, "wanda@example.org")], by=rex)

    result = computed(study).result
    assert result
    assert "wanda@example.org" not in json.dumps(result)
    assert "[e-mail]" in json.dumps(result["people"])
    assert "wanda@example.org" not in text_of(sign_in(rex), f"/studies/{study.pk}/turns.jsonl")


def test_answers_of_writers_are_shown_on_the_studys_page(
    make_writing: MakeWriting, rex: User, sign_in: SignIn
) -> None:
    study = make_writing()
    study.asks.bulk_create(rows_of(study, [WHO]))
    client, worker = sign_in(rex), Client()
    worker.post(f"/s/{study.code}/consent/", {"agree": "yes", "consent": "1"})
    sent = json.dumps({"demographics": {"answers": OLD_HAND}})
    worker.post(f"/s/{study.code}/before/", {"answers": sent})

    page = client.get(f"/studies/{study.pk}/").content.decode()

    assert "1 person answered" in page
    (row,) = csv.DictReader(io.StringIO(text_of(client, f"/studies/{study.pk}/turns.csv")))
    assert (row["subject"], row["gender"], row["gender_in_own_words"]) == ("person", "own_words", "Fae")
