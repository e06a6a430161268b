"""Bundles of studies with readers, or with two judged speakers."""

import io
import json
import zipfile
from pathlib import Path
from uuid import UUID

import pytest
from django.core.management import call_command

from evaluation.report.bundles.recomputation import recompute
from tests.conftest import MakeQueue, MakeStudy
from tests.desks import begin
from tests.planted import computed, talked
from turnwise.judging.items import subjects
from turnwise.judging.queue import services as judging
from turnwise.studies.models import Study
from turnwise.transcripts.storing import import_file

pytestmark = pytest.mark.django_db(transaction=True)


def bundle_of(study: Study, folder: Path) -> Path:
    path = folder / "bundle.zip"
    call_command("bundle", str(study.pk), output=path)
    return path


def test_readers_judgments_of_the_same_turns_are_not_counted_twice(
    make_study: MakeStudy, make_queue: MakeQueue, tmp_path: Path
) -> None:
    study, readers = make_study({"ann": 9}, min_turns=2, max_turns=8), make_queue(raters=1)
    for _ in range(3):
        talked(study, [(True, True), (True, False)])
    subjects.add_turns(readers, study, language="en")
    desk = begin(readers)
    while shown := judging.state(desk)["items"]:
        judging.judge(desk, key=UUID(shown[0]["key"]), answers={"sensible": False, "specific": False})

    stored = computed(study).result
    found = recompute(bundle_of(study, tmp_path))

    assert found.differences == []
    assert found.report == stored
    assert found.report["bots"][0]["labels"] == 6


def imported(study: Study, systems: dict[str, str], texts: list[str], conversations: int = 3) -> None:
    """Conversations in which the two speakers take turns to say these texts."""
    lines = [
        f"Their Conversation {number}\n" + "".join(f"{'AB'[n % 2]}: {text}\n" for n, text in enumerate(texts))
        for number in range(1, conversations + 1)
    ]
    import_file(
        study, io.BytesIO("\n".join(lines).encode()), name="talk.txt", format_key="transcript",
        systems=systems, scripted_opening=False,
    )  # fmt: skip


SAID = ["Hi!", "Hello there", "I told you that I love tennis", "Do you", "I told you that I love tennis"]


@pytest.mark.parametrize(
    ("systems", "turns", "repeating"),
    [
        # The fifth of five turns repeats the third; A has three of them, B two.
        ({"A": "Human", "B": "Human"}, {"Human": 15}, {"Human": 20}),
        ({"A": "Ann", "B": "Bob"}, {"Ann": 9, "Bob": 6}, {"Ann": 100 / 3, "Bob": 0}),
        ({"A": "", "B": "Bob"}, {"Bob": 6}, {"Bob": 0}),
    ],
)
def test_every_turn_of_two_judged_speakers_is_exported_once(
    make_study: MakeStudy, tmp_path: Path, systems: dict[str, str], turns: dict[str, int],
    repeating: dict[str, float],
) -> None:  # fmt: skip
    study = make_study({"scripty": 1})
    imported(study, systems, SAID)

    stored = computed(study).result
    found = recompute(bundle_of(study, tmp_path))

    assert found.differences == []
    assert found.report == stored
    counted = {bot["bot"]: bot for bot in found.report["course"]["bots"]}
    assert {name: counted[name]["repetition"]["replies"] for name in turns} == turns
    assert {name: counted[name]["repetition"]["value"] for name in turns} == pytest.approx(repeating)
    assert {name: counted[name]["finished"] for name in turns} == dict.fromkeys(turns, 3)
    with zipfile.ZipFile(tmp_path / "bundle.zip") as archive:
        assert len(archive.read("data/conversations.jsonl").splitlines()) == 3
        rows = [json.loads(line) for line in archive.read("data/turns.jsonl").splitlines()]
    assert [row["text"] for row in rows] == SAID * 3
