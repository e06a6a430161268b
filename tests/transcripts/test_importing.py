"""Imports as a researcher makes them: what is stored, what the report makes of it, and the way back."""

import json
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from io import BytesIO, StringIO
from pathlib import Path

import pytest
from django.core.cache import cache
from django.core.files.uploadedfile import SimpleUploadedFile
from django.core.management import CommandError, call_command
from django.db import IntegrityError, connection, transaction
from django.test import Client
from django.utils import timezone

from evaluation.questions import question_set
from tests.asking import SCALES
from tests.conftest import MakeStudy
from tests.questions.conftest import TONE
from tests.rewriting import rewriting
from tests.transcripts.imports import import_draft
from turnwise.accounts.limits import limit_concurrency
from turnwise.accounts.models import User
from turnwise.bots.models import Bot
from turnwise.bots.services import outside_system, register_bot
from turnwise.crowd.models import Worker
from turnwise.dialogues.models import Dialogue, Seat, TranscriptImport, Turn
from turnwise.dialogues.queries import outside_dialogue_counts
from turnwise.exports import turn_files as exports
from turnwise.labels.models import Label
from turnwise.questions.services import create_set, set_shared
from turnwise.reports.answers import load_answers
from turnwise.reports.conduct import courses
from turnwise.reports.services import build_report, queue_report
from turnwise.studies.asks import Party
from turnwise.studies.models import Study
from turnwise.studies.services import save_study
from turnwise.transcripts import import_progress, importing, storing
from turnwise.transcripts.file_reading import preview, preview_from_json, preview_in_subprocess
from turnwise.transcripts.importers import FORMATS, Problem, Source, checking
from turnwise.transcripts.importers.formats import Format
from turnwise.transcripts.importing import ImportRefusedError, guessed_systems, upload
from turnwise.transcripts.tasks import start_import
from turnwise.transcripts.undoing import refuse_labelled, undo

SignIn = Callable[[User], Client]
PUBLISHED = Path(__file__).parents[3] / "shared" / "data" / "meena"

FILE = b"""\
Mitsuku Conversation 1
Human: Hi!
Mitsuku: Hi there.
Human: How are you?
Mitsuku: I am fine.

Mitsuku Conversation 2
Human: Hi!
Mitsuku: Hello.

Mitsuku Conversation 3
Human: Hi!
"""
MITSUKU = {"Human": "", "Mitsuku": "Mitsuku"}
PEOPLE = b"A: Hi!\nB: Tea?\nA: Yes, please.\nB: Here."


def uploaded(study: Study, content: bytes = FILE, name: str = "mitsuku.txt") -> TranscriptImport:
    return upload(study, BytesIO(content), name=name, by=study.owner)


@pytest.fixture
def imported(study: Study) -> TranscriptImport:
    return import_draft(uploaded(study).pk, systems=MITSUKU, scripted_opening=False)


def label(turn: Turn, rater: Worker, *, sensible: bool = True, specific: bool = False) -> Label:
    now = timezone.now()
    answers = {"sensible": sensible, "specific": specific}
    return Label.objects.create(
        study=turn.dialogue.study,
        party=Party.CHATTER,
        ask=turn.dialogue.study.asks.get(),
        turn=turn,
        rater=rater,
        question_set="ssa",
        answers=answers,
        created_at=now,
        changed_at=now,
    )


def test_a_conversation_comes_in_finished_with_its_turns(imported: TranscriptImport) -> None:
    first, second = imported.dialogues.order_by("pk")

    assert (imported.conversations, imported.turns, imported.left_out) == (2, 6, 1)
    assert imported.content is None
    assert (first.origin, first.ending, first.source_id) == ("imported", "complete", "Mitsuku Conversation 1")
    assert (first.turns, first.bot_turns, first.due_0, first.due_1, first.opening_turns) == (4, 2, [], [], 0)
    assert list(first.turn_set.values_list("position", "text")) == [
        (0, "Hi!"), (1, "Hi there."), (2, "How are you?"), (3, "I am fine."),
    ]  # fmt: skip
    # Far below the study's limit of 14 turns, which is one for conversations held here.
    assert (second.turns, second.min_turns) == (2, 14)


def test_systems_become_inactive_bots_of_the_study_and_people_names(
    imported: TranscriptImport,
) -> None:
    dialogue = imported.dialogues.earliest("pk")
    human, system = dialogue.seats.order_by("number")

    assert (human.name, human.bot, human.worker) == ("Human", None, None)
    assert system.bot
    assert (system.bot.name, system.bot.title, system.bot.active) == ("mitsuku", "Mitsuku", False)
    assert imported.study.study_bots.get(bot=system.bot).target == 0
    judged = dialogue.turn_set.filter(bot_version__bot=system.bot).values_list("position", flat=True)
    assert list(judged) == [1, 3]


def test_a_scripted_opening_is_neither_counted_nor_judged(study: Study) -> None:
    draft = uploaded(study, b"Bot: Hi!\nHuman: Hello.\nBot: Nice day.\n")

    done = import_draft(draft.pk, systems={"Human": "", "Bot": "Bot"}, scripted_opening=True)

    dialogue = done.dialogues.get()
    assert (dialogue.turns, dialogue.bot_turns, dialogue.opening_turns) == (3, 1, 1)
    assert list(dialogue.turn_set.exclude(bot_version=None).values_list("position", flat=True)) == [2]


def test_what_importers_let_through_fits_the_columns() -> None:
    assert (Seat._meta.get_field("name").max_length or 0) >= checking.LONGEST_NAME


def test_importing_twice_imports_once(imported: TranscriptImport) -> None:
    again = import_draft(imported.pk, systems=MITSUKU, scripted_opening=False)

    assert again.conversations == 2
    assert Dialogue.objects.count() == 2


@pytest.mark.django_db(transaction=True)
def test_two_clicks_at_once_import_once(study: Study) -> None:
    draft = uploaded(study)

    def click(_: int) -> None:
        try:
            import_draft(draft.pk, systems=MITSUKU, scripted_opening=False)
        finally:
            connection.close()

    with ThreadPoolExecutor(4) as clicks:
        list(clicks.map(click, range(4)))

    assert Dialogue.objects.count() == 2


@pytest.mark.parametrize(
    ("content", "systems", "says"),
    [
        (FILE, {"Human": "", "Mitsuku": " "}, "Line 1: no turn of this conversation could be judged"),
        (b"X Conversation 1\nA: one", {"A": "A"}, "no conversation and no rating in the file"),
        (b"Lorem ipsum", {}, "Choose a format first"),
    ],
)
def test_a_refused_import_leaves_nothing_behind(
    study: Study, content: bytes, systems: dict[str, str], says: str
) -> None:
    draft = uploaded(study, content)
    before = study.study_bots.count()

    with pytest.raises(ImportRefusedError, match=says):
        import_draft(draft.pk, systems=systems, scripted_opening=False)

    draft.refresh_from_db()
    assert draft.imported_at is None
    assert draft.file == content
    assert not draft.is_in_progress
    assert not Dialogue.objects.exists()
    assert study.study_bots.count() == before


def test_uploads_are_bounded_and_replace_what_was_not_imported(study: Study) -> None:
    first = uploaded(study)
    second = uploaded(study)

    assert list(TranscriptImport.objects.all()) == [second]
    assert first.pk != second.pk
    with pytest.raises(ImportRefusedError, match="larger than 60\u00a0MB"):
        uploaded(study, b"x" * (importing.MAX_UPLOAD + 1))
    for nothing in (b"", b" \n\n"):
        with pytest.raises(ImportRefusedError, match="is empty"):
            uploaded(study, nothing)


@pytest.mark.parametrize(
    ("content", "why"),
    [
        ("Human: Grüße".encode("utf-16"), "in UTF-16"),
        (b"PK\x03\x04 a workbook", "The file is damaged"),
        (bytes(range(128, 256)) * 99, r"“chats\.doc” is not text in UTF-8"),
    ],
)
def test_a_file_that_is_no_text_is_refused_at_once(study: Study, content: bytes, why: str) -> None:
    with pytest.raises(ImportRefusedError, match=why):
        upload(study, BytesIO(content), name="chats.doc", by=study.owner)

    assert not TranscriptImport.objects.exists()


@pytest.mark.django_db(transaction=True)
def test_the_report_counts_labels_of_imported_turns(imported: TranscriptImport) -> None:
    study, raters = imported.study, [Worker.objects.create() for _ in range(3)]
    turns = list(
        Turn.objects.filter(dialogue__imported_in=imported, bot_version__isnull=False).order_by("pk")
    )
    for rater, votes in zip(raters, [(1, 1, 0), (1, 0, 0), (1, 0, 0)], strict=True):
        for turn, vote in zip(turns, votes, strict=True):
            label(turn, rater, sensible=bool(vote))

    report = queue_report(study)
    build_report(report.pk)
    report.refresh_from_db()

    # 4 of 9 labels say sensible, none specific: 100 x (4/9 + 0) / 2
    assert report.result
    (scores,) = report.result["bots"]
    assert scores["bot"] == "Mitsuku"
    columns = [column["key"] for column in report.result["columns"]]
    values = dict(zip(columns, [cell["value"] for cell in scores["cells"]], strict=True))
    assert values == pytest.approx({"sensible": 400 / 9, "specific": 0, "ssa": 200 / 9})
    courses = {row["bot"]: row["finished"] for row in report.result["course"]["bots"]}
    assert courses == {"Mitsuku": 2, "Scripty": 0}
    assert {row["origin"] for row in _exported(study)} == {"imported"}


def _exported(study: Study) -> list[dict[str, object]]:
    return [json.loads(line) for chunk in exports.jsonl_lines(study) for line in chunk.splitlines()]


def test_where_both_are_judged_each_turn_is_a_reply_of_its_own(study: Study) -> None:
    """People who talk with each other are judged by the same rule, both of them."""
    done = import_draft(
        uploaded(study, PEOPLE).pk, systems={"A": "Human", "B": "human"}, scripted_opening=False
    )
    dialogue = done.dialogues.get()
    rater = Worker.objects.create()
    for turn in dialogue.turn_set.all():
        label(turn, rater)

    labels = load_answers(study, question_set("ssa"), study.asks.get())

    assert dialogue.bot_turns == 4
    assert set(dialogue.seats.values_list("bot__title", flat=True)) == {"Human"}
    assert sorted(labels.reply.tolist()) == [1, 2, 3, 4]
    assert labels.most_raters == 1
    course = courses(study)["Human"]
    assert course.finished == 1
    assert outside_dialogue_counts(study) == [("Human", "Imported from a file", 1)]
    texts = ["Hi!", "Tea?", "Yes, please.", "Here."]
    assert course.texts == [[(True, text) for text in texts]]  # one conversation, all its turns theirs


def test_an_import_is_undone_with_everything_it_brought(imported: TranscriptImport) -> None:
    study = imported.study

    undo(imported.pk, by=imported.study.owner)

    assert not TranscriptImport.objects.exists()
    assert not Dialogue.objects.exists()
    assert not study.study_bots.filter(bot__name="mitsuku").exists()
    assert study.study_bots.filter(bot__name="scripty").exists()


def test_an_import_with_a_label_stays(imported: TranscriptImport) -> None:
    label(Turn.objects.filter(bot_version__isnull=False)[0], Worker.objects.create())

    with pytest.raises(ImportRefusedError, match="labels are never discarded"):
        undo(imported.pk, by=imported.study.owner)

    assert imported.dialogues.count() == 2
    assert Label.objects.count() == 1


@pytest.mark.django_db(transaction=True)
def test_nobody_labels_between_the_look_for_labels_and_the_deletion(imported: TranscriptImport) -> None:
    turn, rater = Turn.objects.filter(bot_version__isnull=False)[0], Worker.objects.create()

    def labelled() -> None:
        try:
            label(turn, rater)
        finally:
            connection.close()

    with ThreadPoolExecutor(1) as another:
        with transaction.atomic():
            refuse_labelled([turn.dialogue_id])
            answer = another.submit(labelled)
            while not _somebody_waits():
                assert not answer.done()
        answer.result()

    assert Label.objects.count() == 1


def _somebody_waits() -> bool:
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_sleep(0.01)")
        cursor.execute("SELECT count(*) FROM pg_locks WHERE NOT granted")
        return bool(cursor.fetchone()[0])


def test_a_system_of_another_import_stays_in_the_study(study: Study, imported: TranscriptImport) -> None:
    second = import_draft(uploaded(study).pk, systems=MITSUKU, scripted_opening=False)

    undo(second.pk, by=study.owner)

    assert study.study_bots.filter(bot__name="mitsuku").exists()


def test_editing_a_draft_study_keeps_its_imported_systems(rex: User) -> None:
    study = save_study(Study(title="Judge", languages=["en"]), owner=rex, consent_text="Yes?", targets={})
    import_draft(uploaded(study).pk, systems=MITSUKU, scripted_opening=False)

    save_study(study, owner=rex, consent_text="Yes?", targets={})

    assert [each.bot.title for each in study.study_bots.all()] == ["Mitsuku"]


def test_a_system_outside_never_is_a_bot_that_runs_here(db: None) -> None:
    running = register_bot(name="eliza", title="ELIZA", adapter="eliza")

    outside, same, chinese = outside_system("ELIZA"), outside_system("eliza"), outside_system("小冰")

    assert outside.pk != running.pk
    assert outside == same
    assert outside.name.startswith("eliza-")
    assert chinese.name.startswith("system-")
    assert Bot.objects.filter(active=True).get() == running


@pytest.mark.parametrize(
    ("speakers", "systems"),
    [
        (["Human", "Meena"], {"Human": "", "Meena": "Meena"}),
        (["Human 1", "Human 2"], {"Human 1": "Human", "Human 2": "Human"}),
        (["agent_1", "agent_2"], {"agent_1": "Human", "agent_2": "Human"}),
        (["Humanoid", "you"], {"Humanoid": "Humanoid", "you": ""}),
    ],
)
def test_people_are_told_from_systems_by_their_names(speakers: list[str], systems: dict[str, str]) -> None:
    assert guessed_systems(speakers) == systems


def test_the_database_knows_where_a_conversation_was_held(study: Study, imported: TranscriptImport) -> None:
    dialogue = imported.dialogues.earliest("pk")
    Dialogue.objects.update(min_turns=2)  # so that no other rule speaks up first
    for wrong in ({"imported_in": None}, {"origin": "live"}, {"origin": "relayed"}):
        with pytest.raises(IntegrityError, match="dialogue_is_imported_in_an_import"), rewriting():
            Dialogue.objects.filter(pk=dialogue.pk).update(**wrong)
    with pytest.raises(IntegrityError, match="seat_is_taken_by_one"), transaction.atomic():
        Seat.objects.filter(bot__isnull=False).update(name="Somebody")


def test_chinese_conversations_do_not_come_in_as_english_ones(study: Study, rex: User) -> None:
    said = "你好,你今天怎么样?我刚从公园回来,那里有很多人。"
    rows = [{"id": "1", "turns": [{"speaker": s, "text": said} for s in ("Human", "XiaoIce")]}]
    file = BytesIO("\n".join(json.dumps(row, ensure_ascii=False) for row in rows).encode())
    draft = upload(study, file, name="zh.jsonl", by=rex)
    systems = {"Human": "", "XiaoIce": "XiaoIce"}

    with pytest.raises(ImportRefusedError, match=r"mostly in Chinese script.*Nothing was imported"):
        import_draft(draft.pk, systems=systems, scripted_opening=False)
    assert not Dialogue.objects.exists()
    with pytest.raises(ImportRefusedError, match="“zh” is not a language of this study, which has en"):
        import_draft(draft.pk, systems=systems, scripted_opening=False, language="zh")

    Study.objects.filter(pk=study.pk).update(languages=["en", "zh"])
    with pytest.raises(ImportRefusedError, match="Say in which language"):
        import_draft(draft.pk, systems=systems, scripted_opening=False)
    import_draft(draft.pk, systems=systems, scripted_opening=False, language="zh")
    assert Dialogue.objects.get().language == "zh"


def in_two_scripts() -> bytes:
    """Two English conversations and a Chinese one."""
    rows = [
        {"id": str(n), "turns": [{"speaker": s, "text": text} for s in ("Human", "XiaoIce")]}
        for n, text in enumerate(
            ("Hello, how are you today?", "Well, I have just been to the park.", "我刚从公园回来")
        )
    ]
    return "\n".join(json.dumps(row, ensure_ascii=False) for row in rows).encode()


def test_a_chinese_conversation_among_english_ones_is_announced_and_left_out(
    study: Study, rex: User, sign_in: SignIn
) -> None:
    draft, client = upload(study, BytesIO(in_two_scripts()), name="both.jsonl", by=rex), sign_in(rex)
    page = client.get(f"/imports/{draft.pk}/")
    assert page.context["language"] == "en"
    assert (
        "1 conversation is mostly in Chinese script, which en is not written in. It is left out" in page.text
    )

    sent = {"system-0": "", "system-1": "XiaoIce"}
    refused = client.post(f"/imports/{draft.pk}/confirm/", sent)
    assert (refused.status_code, "Say in which language" in refused.text) == (422, True)
    other = client.post(f"/imports/{draft.pk}/confirm/", sent | {"language": "other"})
    assert (other.status_code, "Workers of this study read en" in other.text) == (422, True)
    client.post(f"/imports/{draft.pk}/confirm/", sent | {"language": "en"})
    storing.import_requested(draft.pk)

    draft.refresh_from_db()
    assert (draft.conversations, draft.left_out) == (2, 1)
    assert {*Dialogue.objects.values_list("source_id", flat=True)} == {"0", "1"}


@pytest.mark.parametrize(
    ("languages", "guessed"), [(["en"], "en"), (["zh"], ""), (["en", "zh"], "en"), (["en", "de"], "")]
)
def test_a_language_is_guessed_where_one_alone_is_written_so(
    study: Study, rex: User, languages: list[str], guessed: str
) -> None:
    study.languages = languages
    draft = upload(study, BytesIO(in_two_scripts()), name="both.jsonl", by=rex)

    assert importing.language_guessed(study, importing.preview_of(draft)) == guessed


def test_a_preview_that_another_version_kept_is_read_again(
    study: Study, rex: User, sign_in: SignIn, monkeypatch: pytest.MonkeyPatch
) -> None:
    draft, client = uploaded(study), sign_in(rex)
    monkeypatch.setattr(importing, "SHAPE", "as it was")
    read_as = importing.read_as(draft)
    cache.set(read_as, {"conversations": 7, "something": "of before"})
    monkeypatch.undo()

    assert importing.read_as(draft) != read_as
    assert "Import 2 conversations" in client.get(f"/imports/{draft.pk}/").text


# --- the pages ------------------------------------------------------------------------------------


def labelled_turns() -> bytes:
    """Two conversations with eleven labels: eight of turns, of which five are the person's."""
    liked, whole = {"ssa": {"sensible": True, "specific": False}}, dict.fromkeys(SCALES, 4)
    raters = ({"ann": liked, "bob": liked}, {"ann": liked, "bob": liked}, {"ann": liked}, {"bob": liked})
    said = [{"speaker": ("Human", "Bot")[n % 2], "text": "Hm.", "labels": raters[n]} for n in range(4)]
    of_whole = {name: {"likert": whole} for name in ("ann", "bob", "cy")}
    rows = [
        {"id": "c1", "labels": of_whole, "turns": said},
        {"id": "c2", "turns": [said[0], {"speaker": "Bot", "text": "Hm."}]},
    ]
    return "\n".join(map(json.dumps, rows)).encode()


@pytest.mark.parametrize(
    ("system", "scripted", "stored"), [("", False, 6), ("Other bot", False, 11), ("Other bot", True, 7)]
)
def test_labels_of_turns_that_nobody_judges_are_announced_and_left_out(
    study: Study, rex: User, sign_in: SignIn, system: str, scripted: bool, stored: int
) -> None:
    client = sign_in(rex)
    file = SimpleUploadedFile("labelled.jsonl", labelled_turns())
    page = client.post(f"/studies/{study.pk}/imports/upload/", {"file": file}, follow=True).text
    draft = TranscriptImport.objects.get()
    assert "<dt>Votes, ratings, annotations</dt><dd>6</dd>" in page
    assert "5 labels are left out, because they are of turns of people." in page
    assert "3 turns in the file, with 5 labels, which are stored only if a system is named here" in page
    assert "scripted openings." not in page

    sent = {"system-0": system, "system-1": "Bot", "language": ""} | (
        {"scripted_opening": "on"} if scripted else {}
    )
    refused = client.post(f"/imports/{draft.pk}/confirm/", sent)
    assert refused.status_code == 422
    assert f"<dt>Votes, ratings, annotations</dt><dd>{stored}</dd>" in refused.text
    assert ("5 labels are left out, because they are of turns of people." in refused.text) == (not system)
    assert ("4 labels are left out, because they are of scripted openings." in refused.text) == scripted
    client.post(f"/imports/{draft.pk}/confirm/", sent | {"language": "en"})
    storing.import_requested(draft.pk)

    draft.refresh_from_db()
    assert draft.labels == stored == Label.objects.filter(study=study).count()


def toned(key: str) -> bytes:
    """Two conversations whose replies have labels of two raters by a set of researchers."""
    labels = {name: {key: {"polite": True, "warmth": 4}} for name in ("ann", "bob")}
    turns = [{"speaker": "Human", "text": "Hi."}, {"speaker": "Bot", "text": "Hm.", "labels": labels}]
    return "\n".join(json.dumps({"id": f"c{n}", "turns": turns}) for n in (1, 2)).encode()


def test_labels_by_a_set_of_ones_own_come_in_and_somebody_elses_are_refused_with_choices(
    study: Study, rex: User, mallory: User, sign_in: SignIn
) -> None:
    create_set(TONE, owner=rex)
    theirs = create_set(TONE | {"key": "grace"}, owner=mallory)
    client = sign_in(rex)

    def uploaded(key: str) -> str:
        file = SimpleUploadedFile("toned.jsonl", toned(key))
        return client.post(f"/studies/{study.pk}/imports/upload/", {"file": file}, follow=True).text

    refused = uploaded("grace-v1")
    assert "No question set is declared as &#x27;grace-v1&#x27;" in refused
    assert "Declared: tone-v1, " in refused
    page = uploaded("tone-v1")
    assert "<dt>Votes, ratings, annotations</dt><dd>4</dd>" in page
    draft = TranscriptImport.objects.get()
    client.post(
        f"/imports/{draft.pk}/confirm/", {"system-0": "", "system-1": "Bot", "language": study.languages[0]}
    )
    storing.import_requested(draft.pk)

    stored = Label.objects.filter(study=study)
    assert {(each.question_set, each.answers["warmth"]) for each in stored} == {("tone-v1", 4)}
    assert stored.count() == 4
    set_shared(theirs.own_set_id, True)
    assert "<dt>Votes, ratings, annotations</dt><dd>4</dd>" in uploaded("grace-v1")


def test_the_command_reads_labels_by_any_set_of_the_installation(
    study: Study, mallory: User, tmp_path: Path
) -> None:
    create_set(TONE, owner=mallory)
    path = tmp_path / "toned.jsonl"
    path.write_bytes(toned("tone-v1"))

    call_command("import_dialogues", path, study=study.code, language=study.languages[0])

    assert Label.objects.filter(study=study, question_set="tone-v1").count() == 4


def test_from_upload_to_import_to_undo(study: Study, rex: User, sign_in: SignIn) -> None:
    client = sign_in(rex)
    file = SimpleUploadedFile("mitsuku.txt", FILE)

    shown = client.post(f"/studies/{study.pk}/imports/upload/", {"file": file}, follow=True)
    draft = TranscriptImport.objects.get()
    page = shown.content.decode()
    assert "Import 2 conversations" in page
    assert "A conversation has two speakers; here speaks: “Human”." in page
    assert not Dialogue.objects.exists()

    sent = {"system-0": "", "system-1": "Mitsuku", "language": "en"}
    done = client.post(f"/imports/{draft.pk}/confirm/", sent, follow=True)
    assert "The file is being imported." in done.content.decode()
    assert "0 of 3 parts of the file are stored" in done.content.decode()
    stamp = client.get(f"/imports/{draft.pk}/stamp/").json()["stamp"]
    client.post(f"/imports/{draft.pk}/undo/")  # not while it comes in
    storing.import_requested(draft.pk)
    assert client.get(f"/imports/{draft.pk}/stamp/").json()["stamp"] != stamp
    page = client.get(f"/imports/{draft.pk}/").content.decode()
    assert all(
        f"<dt>{name}</dt><dd>{count}</dd>" in page for name, count in [("Conversations", 2), ("Turns", 6)]
    )
    overview = client.get(f"/studies/{study.pk}/").content.decode()
    assert "Imported from a file" in overview
    listed = client.get(f"/studies/{study.pk}/dialogues/").content.decode()
    assert "Imported from a file: Mitsuku Conversation 1" in listed
    dialogue = Dialogue.objects.earliest("pk")
    transcript = client.get(f"/dialogues/{dialogue.public_id}/").content.decode()
    assert "where it is “Mitsuku Conversation 1”" in transcript

    client.post(f"/imports/{draft.pk}/undo/")
    assert not Dialogue.objects.exists()


def test_a_file_that_looks_like_nothing_is_read_as_what_one_chooses(
    study: Study, rex: User, sign_in: SignIn
) -> None:
    client = sign_in(rex)
    draft = uploaded(study, b'{"what": 1}')
    assert (
        "It does not look like any of the formats that can be read"
        in client.get(f"/imports/{draft.pk}/").content.decode()
    )

    client.post(f"/imports/{draft.pk}/format/", {"format": "jsonl"})

    page = client.get(f"/imports/{draft.pk}/").content.decode()
    assert "neither “turns” nor “conversation”" in page
    client.post(f"/imports/{draft.pk}/format/", {"format": "nonsense"})
    draft.refresh_from_db()
    assert draft.format == "jsonl"


def test_a_refused_import_says_why_and_keeps_what_was_typed(study: Study, rex: User, sign_in: SignIn) -> None:
    draft = uploaded(study)

    client = sign_in(rex)

    sent = {"system-0": "", "system-1": " ", "scripted_opening": "on", "language": "en"}
    client.post(f"/imports/{draft.pk}/confirm/", sent)
    storing.import_requested(draft.pk)

    page = client.get(f"/imports/{draft.pk}/").content.decode()
    assert "no turn of this conversation could be judged" in page
    assert 'name="scripted_opening" checked' in page
    Study.objects.filter(pk=study.pk).update(languages=["en", "zh"])
    answer = client.post(f"/imports/{draft.pk}/confirm/", {"system-1": "Mitsuku"})
    assert answer.status_code == 422  # what can be told at once is
    assert "Say in which language" in answer.content.decode()


@pytest.mark.usefixtures("_same_database")
@pytest.mark.django_db(transaction=True)
def test_an_upload_comes_in_by_a_process_of_its_own(study: Study) -> None:
    draft = uploaded(study)
    asked = importing.ask_for(draft.pk, systems=MITSUKU, scripted_opening=False, parts=3)
    again = importing.ask_for(draft.pk, systems=MITSUKU, scripted_opening=False)

    assert (asked, again) == (True, False)
    assert start_import(draft.pk).wait(60) == 0

    draft.refresh_from_db()
    assert (draft.conversations, draft.turns, draft.left_out) == (2, 6, 1)
    assert import_progress.progress(draft) == {"done": 3, "parts": 3}


def test_an_import_whose_process_is_gone_may_be_asked_for_again(study: Study) -> None:
    draft = uploaded(study)
    long_ago = timezone.now() - timedelta(minutes=3)
    importing.ask_for(draft.pk, systems=MITSUKU, scripted_opening=False, now=long_ago)
    draft.refresh_from_db()
    newer = uploaded(study)  # which throws nothing away that is being imported

    import_progress.refresh(draft)

    assert newer.pk != draft.pk
    assert "ended unexpectedly" in draft.refusal
    storing.import_requested(draft.pk)  # a process that comes late
    assert not Dialogue.objects.exists()
    assert import_draft(draft.pk, systems=MITSUKU, scripted_opening=False).conversations == 2


def test_what_files_say_is_escaped(study: Study, rex: User, sign_in: SignIn) -> None:
    draft = uploaded(study, b"<b>A</b>: <script>1</script>\nB: two\n<i>: three\n", name="<u>.txt")

    page = sign_in(rex).get(f"/imports/{draft.pk}/").content.decode()

    for raw in ("<b>A", "<script>1", "<u>.txt"):
        assert raw not in page


def test_mallory_sees_and_changes_nothing(
    study: Study, imported: TranscriptImport, mallory: User, sign_in: SignIn
) -> None:
    client = sign_in(mallory)
    draft = uploaded(study)

    assert client.get(f"/studies/{study.pk}/imports/").status_code == 404
    assert client.get(f"/imports/{draft.pk}/").status_code == 404
    upload_path = f"/studies/{study.pk}/imports/upload/"
    assert client.post(upload_path, {"file": SimpleUploadedFile("a.txt", FILE)}).status_code == 404
    for action in ("format", "confirm", "undo"):
        assert client.post(f"/imports/{draft.pk}/{action}/").status_code == 404
    assert TranscriptImport.objects.count() == 2
    assert Client().get(f"/imports/{draft.pk}/").status_code == 302


@pytest.mark.usefixtures("one_minute")
def test_reading_files_is_limited_per_person(study: Study, rex: User, sign_in: SignIn) -> None:
    draft, client = uploaded(study), sign_in(rex)

    answers = {client.get(f"/imports/{draft.pk}/").status_code for _ in range(61)}

    assert answers == {200, 429}


def test_a_second_press_leads_to_the_import_that_is_under_way(
    study: Study, rex: User, sign_in: SignIn
) -> None:
    draft, client = uploaded(study), sign_in(rex)
    sent = {"system-0": "", "system-1": "Mitsuku", "language": "en"}

    with limit_concurrency(1, "imports", rex.pk):  # the first one is read at this moment
        waits = client.post(f"/imports/{draft.pk}/confirm/", sent)
    first, second = (client.post(f"/imports/{draft.pk}/confirm/", sent) for _ in range(2))

    assert (waits.status_code, waits["Refresh"]) == (202, f"2; url=/imports/{draft.pk}/")
    assert first.url == second.url == f"/imports/{draft.pk}/"
    assert "The file is being imported." in client.get(second.url).text


# --- the command ----------------------------------------------------------------------------------


def run(*arguments: str) -> tuple[str, str]:
    out, err = StringIO(), StringIO()
    call_command("import_dialogues", *arguments, stdout=out, stderr=err)
    return out.getvalue(), err.getvalue()


def test_the_command_imports_and_tells_what_is_wrong(study: Study, tmp_path: Path) -> None:
    file = tmp_path / "mitsuku.txt"
    file.write_bytes(FILE)

    out, err = run(str(file), "--study", study.code, "--system", "Mitsuku=Kuki")

    assert "Imported 2 conversations with 6 turns." in out
    assert "Human: 4 turns" not in out  # three: the third conversation stays out
    assert "line 11: A conversation has two speakers" in err
    assert set(Seat.objects.exclude(bot=None).values_list("bot__title", flat=True)) == {"Kuki"}


def test_the_command_can_only_look(study: Study, tmp_path: Path) -> None:
    file = tmp_path / "mitsuku.txt"
    file.write_bytes(FILE)

    out, _ = run(str(file), "--study", study.code, "--dry-run")

    assert "transcript: 2 conversations, 6 turns." in out
    file.write_bytes(labelled_turns())
    out, _ = run(str(file), "--study", study.code, "--dry-run", "--system", "Human=Bot", "--scripted-opening")
    assert "6 turns, 7 votes, ratings and annotations." in out
    assert "4 labels left out: of turns of people, or of a scripted opening" in out
    assert not TranscriptImport.objects.exists()


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["absent.txt", "--study", "{code}"], "absent.txt cannot be read"),
        (["{file}", "--study", "nowhere"], "no study 'nowhere'"),
        (["{file}", "--study", "{code}", "--system", "Nobody=X"], "--system Nobody: write SPEAKER=TITLE"),
        (["{file}", "--study", "{code}", "--system", "Mitsuku="], "no turn of this conversation"),
        (["{lorem}", "--study", "{code}"], "does not look like any known format"),
    ],
)
def test_the_command_says_what_to_do(study: Study, tmp_path: Path, arguments: list[str], says: str) -> None:
    file, lorem = tmp_path / "mitsuku.txt", tmp_path / "lorem.txt"
    file.write_bytes(FILE)
    lorem.write_bytes(b"Lorem ipsum")

    with pytest.raises(CommandError, match=says):
        run(*[each.format(code=study.code, file=file, lorem=lorem) for each in arguments])

    assert not Dialogue.objects.exists()


@pytest.mark.shared_data
@pytest.mark.skipif(not PUBLISHED.exists(), reason=f"{PUBLISHED} is absent")
def test_the_published_files_are_imported_with_every_turn(
    make_study: MakeStudy,
) -> None:
    study = make_study(languages=["en", "zh"])
    expected = {"meena": (93, 1818), "mitsuku": (100, 1857), "human": (95, 1483), "xiaoice": (114, 2272)}

    for name in expected:
        language = "zh" if name == "xiaoice" else "en"
        run(str(PUBLISHED / f"{name}.txt"), "--study", study.code, "--language", language)

    for name, (conversations, turns) in expected.items():
        dialogues = Dialogue.objects.filter(study=study, imported_in__file_name=f"{name}.txt")
        assert dialogues.count() == conversations
        assert Turn.objects.filter(dialogue__in=dialogues).count() == turns
    titles = [each.bot.title for each in study.study_bots.exclude(bot__active=True)]
    assert sorted(titles) == ["Human", "Meena", "Mitsuku", "XiaoIce"]
    # Turns of systems, by their names before the colons of the files; all turns of people are judged.
    lines = {name: (PUBLISHED / f"{name}.txt").read_text().splitlines() for name in expected}
    for name, title in (
        ("meena", "Meena"),
        ("mitsuku", "Mitsuku"),
        ("xiaoice", "XiaoIce"),
        ("human", "Human"),
    ):
        spoken = sum(line.startswith((f"{title}:", "Human 1:", "Human 2:")) for line in lines[name])
        assert Turn.objects.filter(bot_version__bot__title=title).count() == spoken


# --- previews are read by a process of their own ---------------------------------------------------


def test_a_file_is_previewed_by_another_process_with_the_same_outcome() -> None:
    files = {"transcript": FILE, "jsonl": b'{"turns": [{"speaker": "A", "text": "\xc3\xa9"}]}\n{'}
    for format_key, content in files.items():
        here = preview(Source(BytesIO(content)), format_key, importing.ON_PAGE)

        assert preview_from_json(preview_in_subprocess(content, format_key, importing.ON_PAGE)) == here
        assert here.problem_count


def test_no_upload_is_read_by_the_process_that_serves_workers(study: Study, rex: User) -> None:
    """A reader that only this process knows is never asked; what cannot be read is said in words."""
    asked = []

    def read(source: Source) -> Iterator[Problem]:
        asked.append(source)
        yield Problem(1, "Read here.")

    FORMATS["only-here"] = Format("only-here", "Only here", lambda head: False, read)
    try:
        draft = upload(study, BytesIO(FILE), name="chats.txt", by=rex)
        importing.set_format(draft, "only-here")
        client = Client()
        client.force_login(rex)
        answer = client.get(f"/imports/{draft.pk}/")
        client.post(f"/imports/{draft.pk}/confirm/")
        draft.refresh_from_db()
        assert draft.asked_at is None
    finally:
        del FORMATS["only-here"]

    assert asked == []
    assert answer.status_code == 422
    assert "“chats.txt” could not be read within" in answer.content.decode()


def test_large_counts_of_a_preview_have_thousands_separators(
    make_study: MakeStudy, rex: User, sign_in: SignIn
) -> None:
    study = make_study()
    talk = "Human: What is new?\nMitsuku: Nothing much.\n" * 4
    file = BytesIO("\n".join(f"Mitsuku Conversation {n}\n{talk}" for n in range(1, 301)).encode())
    file.name = "large.txt"

    page = sign_in(rex).post(f"/studies/{study.pk}/imports/upload/", {"file": file}, follow=True)

    shown = page.content.decode()
    assert "<dt>Turns</dt><dd>2,400</dd>" in shown
    assert "1,200 turns in the file" in shown
