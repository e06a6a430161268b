"""The snippets of Topical-Chat, from the command's files to an open study whose raters see the sentence."""

import json
from pathlib import Path

import pytest

from chatbots.knowledge.cli import main as topical_chat
from tests.chatbots.knowledge.quiz import quiz, write_files
from tests.conftest import MakePairs
from tests.desks import begin
from turnwise.accounts.models import User
from turnwise.contexts.files import jsonl_lines, parse
from turnwise.contexts.models import ContextSet, ContextSetVersion
from turnwise.contexts.services import import_version, save_set
from turnwise.judging.items import pairs, subjects
from turnwise.judging.items.pairs import PairSource
from turnwise.judging.models import Item
from turnwise.judging.queue import services as judging
from turnwise.judging.queue.rater_session import reading_of_items
from turnwise.judging.queue.services import plan_of
from turnwise.responses import files as responses
from turnwise.responses.models import ResponseRun
from turnwise.responses.services import Missing, store_file
from turnwise.responses.tasks import _Run
from turnwise.studies.models import Study
from turnwise.studies.presets import preset_named
from turnwise.studies.services import save_study, set_state

pytestmark = pytest.mark.django_db


@pytest.fixture
def drawn(tmp_path: Path) -> Path:
    conversations = quiz(12)
    write_files(tmp_path, conversations, "quiz")
    texts = [text for each in conversations for _, text in each.turns]
    rows = [
        {"system": "TF", "turn": turn, "response": "i am not sure .", "reference": text}
        for turn, text in enumerate(texts)
    ]
    (tmp_path / "tf.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    files = ["--conversations", tmp_path / "quiz.json", "--reading-sets", tmp_path / "quiz-reading.json"]
    made = ["--responses", tmp_path / "tf.jsonl", "--number", 6, "--output", tmp_path / "snippets"]
    assert topical_chat(["snippets", *map(str, [*files, *made])]) == 0
    return tmp_path / "snippets"


@pytest.fixture
def version(drawn: Path, rex: User) -> ContextSetVersion:
    parsed = parse((drawn / "contexts.jsonl").read_text(), "jsonl", language="en")
    assert parsed.may_be_imported
    snippets = save_set(ContextSet(name="snippets", title="Snippets", licence="CDLA-Sharing", owner=rex))
    return import_version(snippets, parsed.rows, origin="contexts.jsonl")


def test_a_study_of_the_snippets_opens_and_shows_each_sentence(
    drawn: Path, version: ContextSetVersion, rex: User
) -> None:
    preset = preset_named("topical-chat-snippets")
    assert preset
    made = preset.study()
    made.title, made.languages = "Snippets", ["en"]
    study = save_study(made, owner=rex, consent_text="Judge.", targets={}, asks=preset.asks)
    keys = dict(version.contexts.values_list("key", "pk"))
    for system, name in json.loads((drawn / "snippets.json").read_text())["responses"].items():
        parsed = responses.parse((drawn / name).read_text(), "jsonl", keys)
        assert parsed.may_be_imported
        subjects.add_responses(study, store_file(version, parsed.responses, system=system, owner=rex))

    study = set_state(study.pk, Study.State.OPEN)

    assert plan_of(study).shows_reading
    assert plan_of(study).raters_per_item == 2
    assert study.items.count() == 12
    sentences = {tuple(each.turns): each.material for each in version.contexts.all()}
    items = judging.state(begin(study))["items"]
    for item in items:
        (read,) = item["reading"]
        assert ([read.text], read.title) == (sentences[tuple(item["context"])], "Knowledge")
    assert items


def test_two_responses_side_by_side_show_the_sentence_once(
    make_pairs: MakePairs, version: ContextSetVersion, rex: User
) -> None:
    runs = [
        store_file(version, {(each.pk, 1): name for each in version.contexts.all()}, system=name, owner=rex)
        for name in ("A", "B")
    ]
    study = make_pairs(raters=1)

    pairs.add(study, PairSource.of_runs(runs))

    item = Item.objects.filter(study=study)[0].pk
    (read,) = reading_of_items([item])[item]
    assert read.text.startswith("The ")
    assert read.note == ""


def test_bots_receive_the_sentence_as_material(version: ContextSetVersion) -> None:
    context = version.contexts.all()[0]
    run = ResponseRun(context_version=version, bot_id=1, seed=5)

    _, asked = _Run(run).request(Missing(context, 1))

    assert [passage.text for passage in asked.material] == context.material


def test_material_is_exported_as_it_was_imported(version: ContextSetVersion) -> None:
    again = parse("".join(jsonl_lines(version.contexts.all())), "jsonl", language="en")

    assert [list(row.material) for row in again.rows] == [each.material for each in version.contexts.all()]


@pytest.mark.parametrize(
    ("material", "why"),
    [
        (["x"] * 21, "There are 21 sentences of material, more than 20."),
        (["x" * 32001], "Sentence 1 of the material has 32,001 characters, more than 32,000."),
        (["a\u0000b"], "Sentence 1 of the material has a control character"),
    ],
)
def test_material_that_cannot_be_stored_is_reported(material: list[str], why: str) -> None:
    parsed = parse(json.dumps({"turns": ["Hi!"], "material": material}), "jsonl", language="en")

    assert why in parsed.problems[0].say
    assert not parsed.may_be_imported
