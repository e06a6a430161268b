"""Two sets with a question of the same key: the answers of one never stand in the other's column."""

import csv
import io
import zipfile
from pathlib import Path

import pytest
from django.core.management import call_command
from django.utils import timezone

from evaluation.questions import SSA, QuestionSet
from evaluation.questions.checks import RESERVED
from evaluation.report.bundles.columns import answered_in
from evaluation.report.bundles.recomputation import recompute
from evaluation.report.bundles.tables import (
    judgments_table,
    labels_table,
    pair_judgments_table,
    questionnaires_table,
)
from tests.conftest import MakeStudy, worker_of
from tests.planted import computed, talked
from tests.questions.conftest import TONE
from turnwise.accounts.models import User
from turnwise.crowd.models import Worker
from turnwise.exports.turn_files import LabelledTurn, csv_lines
from turnwise.labels.models import Label
from turnwise.questions.services import create_set
from turnwise.studies.asks import About, AskSpec, Moment, Party
from turnwise.studies.models import Ask, Study

# As in SSA, but words instead of yes and no.
_WORDS = {
    "key": "sensible",
    "wording": "How sensible is it?",
    "choices": [{"value": "very", "label": "Very"}, {"value": "hardly", "label": "Hardly"}],
}
OTHER = TONE | {"key": "other", "questions": [_WORDS], "translations": {}}


def test_sets_share_a_column_only_for_the_very_same_question() -> None:
    other, again = QuestionSet.from_json(OTHER), QuestionSet.from_json(OTHER | {"key": "again"})
    copy = QuestionSet.from_json(SSA.to_json() | {"key": "copy"})

    names = {key: list(columns) for key, columns in answered_in([SSA, other, copy, again]).items()}

    assert names == {
        "ssa": ["sensible", "specific"],
        "other": ["other.sensible"],
        "copy": ["sensible", "specific"],
        "again": ["again.sensible"],
    }
    kinds = {column.name: column.kind for column in labels_table([SSA, other]).columns}
    assert (kinds["sensible"], kinds["other.sensible"]) == ("boolean", "string")


@pytest.mark.django_db(transaction=True)
def test_two_asks_of_one_study_keep_apart_in_table_and_bundle(
    make_study: MakeStudy, rex: User, tmp_path: Path
) -> None:
    create_set(OTHER, owner=rex)
    asks = [
        AskSpec("ssa", About.PARTNER_TURN, Moment.EACH_TURN),
        AskSpec("other-v1", About.PARTNER_TURN, Moment.BEFORE_FINISH, required=False),
    ]
    study = make_study(asks=asks, min_turns=2, max_turns=8)
    for _ in range(3):
        dialogue = talked(study, [(True, False), (False, False)])
        at = timezone.now()
        Label.objects.create(
            turn=dialogue.turn_set.get(position=2), rater=worker_of(dialogue), study=study,
            party=Party.CHATTER, ask=study.asks.get(number=1), question_set="other-v1",
            answers={"sensible": "hardly"}, created_at=at, changed_at=at,
        )  # fmt: skip
    path = tmp_path / "bundle.zip"

    stored = computed(study).result
    call_command("bundle", str(study.pk), output=path)

    assert stored
    rows = list(csv.DictReader(io.StringIO("".join(csv_lines(study)))))
    answers = [(row["question_set"], row["sensible"], row["other-v1.sensible"]) for row in rows[:3]]
    assert sorted(answers) == [("other-v1", "", "hardly"), ("ssa", "false", ""), ("ssa", "true", "")]
    again = recompute(path)
    assert (again.report, again.differences) == (stored, [])


@pytest.mark.django_db(transaction=True)
def test_a_bundle_keeps_readers_answers_to_another_set_apart(
    make_study: MakeStudy, rex: User, tmp_path: Path
) -> None:
    study = make_study(min_turns=2, max_turns=8)
    dialogues = [talked(study, [(True, False), (False, False)]) for _ in range(3)]
    create_set(OTHER, owner=rex)
    reading = Study.objects.create(title="Reading", owner=rex, task="judging", languages=["en"])
    Label.objects.create(
        turn=dialogues[0].turn_set.get(position=2),
        rater=Worker.objects.create(),
        study=reading,
        party=Party.READER,
        ask=Ask.objects.create(
            study=reading, number=0, question_set="other-v1", about="response", by="readers"
        ),
        question_set="other-v1",
        answers={"sensible": "hardly"},
        created_at=timezone.now(),
        changed_at=timezone.now(),
    )
    path = tmp_path / "bundle.zip"

    stored = computed(study).result
    call_command("bundle", str(study.pk), output=path)

    with zipfile.ZipFile(path) as archive:
        rows = list(csv.DictReader(io.StringIO(archive.read("data/labels.csv").decode())))
    columns = [(row["question_set"], row["sensible"], row["other-v1.sensible"]) for row in rows]
    assert columns[:3] == [("ssa", "true", ""), ("other-v1", "", "hardly"), ("ssa", "false", "")]
    again = recompute(path)
    assert (again.report, again.differences) == (stored, [])


def test_no_question_can_be_named_like_a_column_beside_it() -> None:
    """Else a file would have two columns of one name, and a line of JSON the later one of them."""
    beside_answers = (labels_table, judgments_table, pair_judgments_table, questionnaires_table)
    columns = {column.name for table in beside_answers for column in table([]).columns}

    assert columns | set(LabelledTurn._fields) <= RESERVED
