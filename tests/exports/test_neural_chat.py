"""Files of neural.chat: what comes in, what the report makes of it, and the same files out again."""

import csv
import io
from collections.abc import Mapping, Sequence
from io import BytesIO

import pytest
from django.core.management import call_command

from evaluation.commands.conversation_files import read_conversations
from evaluation.report.bundles.recomputation import recompute
from tests.conftest import MakeStudy, pseudonym_of, start_dialogue
from tests.planted import SignIn, add_exchange, add_label, bot_of, computed, figures
from tests.rewriting import rewriting
from tests.transcripts.imports import import_draft
from turnwise.accounts.models import User
from turnwise.bots.services import version_of
from turnwise.crowd.models import Worker
from turnwise.dialogues.models import Dialogue
from turnwise.exports import published_formats
from turnwise.labels.models import Label
from turnwise.studies.asks import About, AskSpec, Moment, Party
from turnwise.studies.models import Study
from turnwise.transcripts.importers.neural_chat import RATING_COLUMNS, RECORD_COLUMNS
from turnwise.transcripts.importing import ImportRefusedError, upload
from turnwise.transcripts.storing import import_requested
from turnwise.transcripts.undoing import undo

pytestmark = pytest.mark.django_db(transaction=True)

ASKS = [
    AskSpec("likert", About.DIALOGUE, Moment.AT_END),
    AskSpec("votes", About.PARTNER_TURN, Moment.BEFORE_FINISH, required=False),
]
# Chat, bot, message, response, session; vote; quality, fluency, coherency, diversity, contingency, empathy,
# comment.
ROWS = [
    ("c1", "vhred", "Hi, you", "Hello\nthere", "anna", 1, 5, 6, 7, 4, 3, 2, "=fine"),
    ("c1", "vhred", "Bye", "Bye!", "anna", -1, 5, 6, 7, 4, 3, 2, "=fine"),
    ("c2", "vhred", "Yo", "Yes?", "bert", 0, 3, 4, "", 4, 3, 4, ""),
    ("c3", "hred", "What?", "Yes.", "anna", 0, 1, 2, "", 2, 1, 2, ""),
    ("c4", "hred", "-1", "+2", "carl", 1, "", "", "", "", "", "", ""),
]


def chat_records() -> bytes:
    rows = []
    for number, (chat, bot, message, response, session, *rated) in enumerate(ROWS, 1):
        at = f"2019-05-01T12:00:0{number}+00:00"
        said = [number, chat, at, bot, message, response, "[]", "KEY", session, *rated]
        rows.append(dict(zip(RECORD_COLUMNS, said, strict=True)))
    return written(RECORD_COLUMNS, rows)


def written(columns: tuple[str, ...], rows: Sequence[Mapping[str, object]]) -> bytes:
    buffer = io.StringIO()
    writer = csv.DictWriter(buffer, columns)
    writer.writeheader()
    writer.writerows(rows)
    return buffer.getvalue().encode()


@pytest.fixture
def study(make_study: MakeStudy) -> Study:
    made = make_study(asks=ASKS, opening_speaker="human", opening_text="", min_turns=2, max_turns=40)
    return brought_in(made, chat_records())


def brought_in(study: Study, content: bytes, **systems: str) -> Study:
    draft = upload(study, BytesIO(content), name="chatrecords.csv", by=study.owner)
    done = import_draft(
        draft.pk, systems=systems or {"User": "", "vhred": "vhred", "hred": "hred"}, scripted_opening=False
    )
    assert (draft.format, done.left_out) == ("neural-chat", 0)
    return study


def table(lines: "io.StringIO | str") -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(str(lines), newline="")))


def test_votes_and_ratings_are_labels_of_outside_raters(study: Study) -> None:
    labels = Label.objects.filter(study=study).order_by("pk")

    assert {label.party for label in labels} == {Party.OUTSIDE}
    votes = labels.filter(question_set="votes").values_list(
        "turn__dialogue__source_id", "turn__position", "answers"
    )
    assert list(votes) == [("c1", 1, {"vote": 1}), ("c1", 3, {"vote": -1}), ("c4", 1, {"vote": 1})]
    by_chat = {label.dialogue.source_id: label for label in labels.exclude(dialogue=None)}
    assert by_chat.keys() == {"c1", "c2", "c3"}
    assert by_chat["c1"].answers["comment"] == "=fine"
    assert by_chat["c1"].rater == by_chat["c3"].rater != by_chat["c2"].rater
    assert not Worker.objects.filter(panel_id__contains="anna").exists()  # a digest only


def test_report_page_and_bundle_count_imported_conversations(
    study: Study, rex: User, sign_in: SignIn, tmp_path_factory: pytest.TempPathFactory
) -> None:
    result = figures(computed(study))

    quality = {bot["bot"]: bot["cells"][0]["value"] for bot in result["bots"]}
    assert quality == {"vhred": 4, "hred": 1}  # (5 + 3) / 2; 1
    votes = {bot["bot"]: bot["cells"][1]["value"] for bot in result["beside"][0]["bots"]}
    assert votes["vhred"] == 0  # one up, one down
    # c1 is the best, c3 the worst; hred says little, and c4 nobody rated.
    assert result["courses"]["of"] == "Quality"
    lines = {panel["title"]: panel["bots"] for panel in result["by_turn"]}
    assert [line["bot"] for line in lines["Words-U"]] == ["All 4", "Best 1", "Worst 1"]
    assert [(p["turn"], p["value"]) for p in lines["Words-U"][1]["points"]] == [(1, 1)]  # "Bye"
    assert [p["going_on"] for p in lines["AVG coherence"][0]["points"]] == [4, 1]
    assert [(p["turn"], p["value"]) for p in lines["Votes up, %"][0]["points"]] == [(1, 100), (2, 0)]
    archive = tmp_path_factory.mktemp("bundle") / "study.zip"
    call_command("bundle", str(study.pk), output=archive)
    assert recompute(archive).differences == []
    # `python -m evaluation` reads the bundle and the exported file, to the same conversations and ratings.
    records = archive.with_name("records.csv")
    records.write_text("".join(published_formats.neural_chat_records(study)), newline="")
    bundled, recorded = read_conversations(archive), read_conversations(records)
    assert [[text for _, text in talk.turns] for talk in bundled] == [
        [text for _, text in talk.turns] for talk in recorded
    ]
    assert [talk.bots for talk in bundled] == [talk.bots for talk in recorded]
    assert [talk.ratings.get("relatedness") for talk in bundled] == [3, 3, 1, None]
    assert [talk.ratings.get("contingency") for talk in recorded] == [3, 3, 1, None]
    browser = sign_in(rex)
    chat = Dialogue.objects.get(source_id="c1")
    report = browser.get(f"/studies/{study.pk}/report/").content.decode()
    assert "From turn to turn" in report
    assert "by-turn-narrow" in report
    page = browser.get(f"/dialogues/{chat.public_id}/").content.decode()
    assert "=fine" in page
    assert Label.objects.filter(dialogue=chat).get().rater.pseudonym in page


def test_an_export_equals_its_import(study: Study, make_study: MakeStudy, rex: User, sign_in: SignIn) -> None:
    browser = sign_in(rex)
    overview = browser.get(f"/studies/{study.pk}/").content.decode()
    assert f"/studies/{study.pk}/chatrecords.csv" in overview

    out = b"".join(browser.get(f"/studies/{study.pk}/chatrecords.csv"))

    assert "'=fine" in out.decode()  # no formula for a spreadsheet
    came, went = table(chat_records().decode()), table(out.decode())
    sessions = {
        row["User Session Key"]: given["User Session Key"] for row, given in zip(went, came, strict=True)
    }
    assert sorted(sessions.values()) == ["anna", "bert", "carl"]
    for row in went:
        row["User Session Key"] = sessions[row["User Session Key"]]
        row |= {name: row[name].removeprefix("'") for name in ("Message", "Response", "Chat Rating Comments")}
    computed_anew = {"Bot Input", "Study Key"}
    assert [_without(row, computed_anew) for row in went] == [_without(row, computed_anew) for row in came]
    assert went[1]["Bot Input"] == '["Hi, you", "Hello\\nthere", "Bye"]'

    # And in again, elsewhere: the same files, but for who the raters are and when they rated.
    other = brought_in(make_study({"another": 1}, asks=ASKS, min_turns=2, max_turns=40), out)
    own = {"User Session Key", "Study Key", "Datetime"}
    for file in (published_formats.neural_chat_records, published_formats.neural_chat_ratings):
        first, second = (
            [_without(row, own) for row in table("".join(file(each)))] for each in (study, other)
        )
        assert first == second


def _without(row: dict[str, str], names: set[str]) -> dict[str, str]:
    return {name: value for name, value in row.items() if name not in names}


def test_the_file_of_ratings_has_a_row_for_each_rated_chat(study: Study) -> None:
    rows = table("".join(published_formats.neural_chat_ratings(study)))

    assert tuple(rows[0]) == RATING_COLUMNS
    assert [(row["Chat ID"], row["Chatbot ID"], row["Quality"], row["Contingency"], row["Chat Length"])
            for row in rows] == [("c1", "vhred", "5", "3", "2"), ("c2", "vhred", "3", "3", "1"),
                                 ("c3", "hred", "1", "1", "1")]  # fmt: skip
    assert {row["MTurk Code"] + row["MTurk User ID"] for row in rows} == {""}


def test_a_file_of_ratings_joins_existing_conversations(
    study: Study, make_study: MakeStudy, rex: User, sign_in: SignIn
) -> None:
    # Elsewhere the same conversations, of which nobody knows any rating yet.
    unrated = [
        {name: "" if name.startswith("Chat Rating") else said for name, said in row.items()}
        for row in table("".join(published_formats.neural_chat_records(study)))
        if row["Chat ID"] != "c3"
    ]
    other = brought_in(
        make_study({"another": 1}, asks=ASKS, min_turns=2, max_turns=40), written(RECORD_COLUMNS, unrated)
    )
    browser = sign_in(rex)
    file = BytesIO("".join(published_formats.neural_chat_ratings(study)).encode())
    file.name = "chat_ratings.csv"

    page = browser.post(f"/studies/{other.pk}/imports/upload/", {"file": file}, follow=True)

    draft = other.imports.get(imported_at=None)
    assert draft.format == "neural-chat-ratings"
    text = page.content.decode()
    assert "No conversation “c3” was imported into this study" in text
    assert "Import 2 ratings" in text
    browser.post(f"/imports/{draft.pk}/confirm/")
    import_requested(draft.pk)
    done = browser.get(f"/imports/{draft.pk}/").content.decode()
    assert "<dt>Votes, ratings, annotations</dt><dd>2</dd>" in done
    own = {"ID", "User Session Key", "Study Key", "Datetime"}
    first, second = (
        [_without(row, own) for row in table("".join(published_formats.neural_chat_ratings(each)))]
        for each in (study, other)
    )
    assert second == first[:2]
    assert {bot["bot"]: bot["cells"][0]["value"] for bot in figures(computed(other))["bots"]} == {"vhred": 4}
    voter, rater = (
        Label.objects.get(study=other, question_set=of, **about).rater
        for of, about in (("votes", {"answers__vote": -1}), ("likert", {"dialogue__source_id": "c1"}))
    )
    assert voter == rater  # by the session key of both files

    # A second time they say nothing new, and taken back they leave conversations and votes alone.
    again = upload(other, BytesIO(file.getvalue()), name="again.csv", by=rex)
    with pytest.raises(ImportRefusedError, match="no rating in the file"):
        import_draft(again.pk, systems={}, scripted_opening=False)
    undo(draft.pk, by=rex)
    assert list(published_formats.neural_chat_ratings(other))[1:] == []
    assert "".join(published_formats.neural_chat_records(other)).count("vhred") == 3
    assert Label.objects.filter(study=other, question_set="votes").count() == 3


def test_conversations_held_here_have_the_layout_too(make_study: MakeStudy) -> None:
    study = make_study(asks=ASKS[::-1], opening_speaker="human", opening_text="", min_turns=2, max_turns=40)
    dialogue = start_dialogue(study)
    version = version_of(bot_of(dialogue), {"adapter": "scripted"})
    add_exchange(dialogue, version, text="Well", latency=10)
    add_label(dialogue, position=1, answers={"vote": -1})

    (row,) = table("".join(published_formats.neural_chat_records(study)))

    assert (row["Chat ID"], row["Chatbot ID"]) == (str(dialogue.public_id), "scripty")
    assert (row["Response"], row["Response Rating"]) == ("Well", "-1")
    assert row["User Session Key"] == pseudonym_of(dialogue)
    assert list(published_formats.neural_chat_ratings(study))[1:] == []


def test_only_labels_given_here_prevent_undoing_an_import(study: Study) -> None:
    (record,) = study.imports.all()
    reply = Dialogue.objects.get(source_id="c2").turn_set.get(position=1)
    label = Label.objects.filter(question_set="votes").first()
    assert label
    label.pk, label.turn, label.party = None, reply, Party.READER
    label.ask = study.asks.get(question_set="votes")
    with rewriting():
        label.save()

    with pytest.raises(ImportRefusedError, match="never discarded"):
        undo(record.pk, by=study.owner)

    with rewriting():
        label.delete()
    undo(record.pk, by=study.owner)
    assert not Label.objects.exists()
