"""Anchor packs of files and of imported conversations, and what their owner does with them."""

import csv
import json
from collections.abc import Callable
from functools import partial
from io import BytesIO, StringIO
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest
from django.core.exceptions import ValidationError
from django.core.management import call_command
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from tests.conftest import MakeQueue, MakeStudy
from tests.desks import begin, judge
from tests.judging.test_anchors import by_rater, earlier, file_of, later, pack, pack_of
from tests.judging.test_anchors import line as anchor_line
from tests.planted import SignIn, computed, figures, talked
from tests.questions.conftest import TONE
from turnwise.accounts.credentials import create_token
from turnwise.accounts.models import User
from turnwise.contexts.models import ContextSet
from turnwise.judging.anchors import pack_changes, study_anchors
from turnwise.judging.anchors.pack_files import import_pack
from turnwise.judging.items import subjects
from turnwise.judging.models import Anchor, AnchorPack, Item
from turnwise.judging.queue import services as judging
from turnwise.questions.services import create_set
from turnwise.studies.models import Study
from turnwise.studies.services import set_state
from turnwise.trash.models import Deletion
from turnwise.trash.soft_delete import RestoreRefusedError, restore

__all__ = ["earlier", "later", "pack"]  # fixtures

pytestmark = pytest.mark.django_db(transaction=True)

PUBLISHED = Path(__file__).parents[3] / "shared" / "data" / "meena" / "meena.txt"


@pytest.fixture
def draft(make_queue: MakeQueue) -> Study:
    """A draft with eight responses in its queue."""
    study = make_queue(8, raters=4, title="Not yet open", system="Beta")
    Study.objects.filter(pk=study.pk).update(state=Study.State.DRAFT)
    study.refresh_from_db()
    return study


def test_a_pack_that_opened_studies_use_stays_and_they_are_named(
    pack: AnchorPack,
    later: Study,
    draft: Study,
    make_queue: MakeQueue,
    mallory: User,
    rex: User,
    sign_in: SignIn,
) -> None:
    hidden = make_queue(8, raters=4, title="Hidden study", system="Gamma")
    for study in (later, draft, hidden):
        study_anchors.add_pack(study, pack)
    set_state(later.pk, Study.State.CLOSED)
    Study.objects.filter(pk=hidden.pk).update(owner=mallory)
    client = sign_in(rex)

    refused = client.post(f"/anchors/{pack.pk}/delete/", follow=True).content.decode()

    says = "It stays, because opened studies have its anchors"
    assert refused.count(says) == 2  # as a message, and in place of the button
    assert "“Second wave”, 1 more study." in refused
    assert "Hidden study" not in refused
    assert "“Not yet open”" not in refused
    assert Item.objects.filter(anchor__pack=pack).count() == 18
    Study.objects.filter(pk=later.pk).delete()
    assert "1 study that you may not read." in pack_changes.why_kept(pack, rex)


def test_a_deleted_pack_leaves_drafts_and_can_be_put_back(
    pack: AnchorPack, draft: Study, rex: User, sign_in: SignIn
) -> None:
    study_anchors.add_pack(draft, pack)
    items = set(draft.items.values_list("pk", flat=True))
    values = {each.pk: each.known for each in pack.anchors.all()}
    client = sign_in(rex)
    assert "You can put it back for a day." in client.get(f"/anchors/{pack.pk}/").content.decode()

    deleted = client.post(f"/anchors/{pack.pk}/delete/", follow=True).content.decode()

    assert "“Wave 1, version 1” is deleted." in deleted
    assert client.get(f"/anchors/{pack.pk}/").status_code == 404
    assert (draft.items.count(), Anchor.objects.count()) == (8, 0)
    deletion = Deletion.objects.get()
    assert (deletion.what, deletion.by) == ("Anchor pack Wave 1, version 1", rex)
    client.post(reverse("trash:put_back", args=[deletion.pk]))
    assert set(draft.items.values_list("pk", flat=True)) == items
    assert {each.pk: each.known for each in AnchorPack.objects.get().anchors.all()} == values
    draft = set_state(draft.pk, Study.State.OPEN)
    judge(draft, by_rater(0, 0))
    assert draft.labels.count() == 14  # anchors are dealt again


def test_a_version_whose_number_is_taken_is_not_put_back(
    pack: AnchorPack, earlier: Study, later: Study, rex: User
) -> None:
    deletion = pack_changes.delete_pack(pack.pk, by=rex)
    assert deletion
    assert pack_changes.delete_pack(pack.pk, by=rex) is None
    with pytest.raises(ValidationError, match="was deleted a moment ago"):
        study_anchors.add_pack(later, pack)  # as a page that was open meanwhile asks
    assert str(pack_of(earlier, rex)) == "Wave 1, version 1"

    with pytest.raises(RestoreRefusedError, match="cannot be put back"):
        restore(deletion.pk)


def test_all_versions_get_another_name_and_reports_follow(
    pack: AnchorPack, earlier: Study, later: Study, rex: User, sign_in: SignIn
) -> None:
    second = pack_of(earlier, rex)
    pack_of(earlier, rex, title="Taken")
    study_anchors.add_pack(later, pack)
    for rater in range(2):
        judge(later, by_rater(rater, 2))
    client = sign_in(rex)
    before = computed(later)

    def rename(title: str) -> str:
        return client.post(f"/anchors/{second.pk}/rename/", {"title": title}, follow=True).content.decode()

    assert "Another pack is called “Taken”. Choose another name." in rename("Taken")
    assert "This field cannot be blank." in rename(" ")
    assert "at most 120 characters" in rename("x" * 121)
    assert "All its versions are called “Autumn”." in rename(" Autumn ")

    pack.refresh_from_db()
    second.refresh_from_db()
    assert (str(pack), str(second)) == ("Autumn, version 1", "Autumn, version 2")
    later.refresh_from_db()
    assert later.results_version > before.results_version
    result = computed(later).result
    assert result
    assert result["anchors"][0]["pack"]["title"] == "Autumn"


def test_readers_of_a_pack_neither_rename_nor_delete_it(
    pack: AnchorPack, earlier: Study, mallory: User, ada: User, sign_in: SignIn
) -> None:
    """Mallory owns the study of the pack, and so may use it; Ada is an admin."""
    Study.objects.filter(pk=earlier.pk).update(owner=mallory)
    reader = sign_in(mallory)

    page = reader.get(f"/anchors/{pack.pk}/").content.decode()

    assert "Alpha answers" in page
    assert "Delete this version" not in page
    assert "Rename" not in page
    assert reader.post(f"/anchors/{pack.pk}/delete/").status_code == 404
    assert reader.post(f"/anchors/{pack.pk}/rename/", {"title": "Mine"}).status_code == 404
    assert reader.get(f"/anchors/{pack.pk}/anchors.csv").status_code == 200
    assert "Delete this version" in sign_in(ada).get(f"/anchors/{pack.pk}/").content.decode()


def test_a_table_has_the_values_and_runs_no_formula(rex: User, sign_in: SignIn) -> None:
    known = {"sensible": {"value": 0.5, "error": 0.125, "raters": 4}}
    rows = [
        {"said_before": ["=1+1", "+2"], "text": f"=HYPERLINK({n})", "system": "@A", "known": known}
        for n in range(3)
    ]
    made = import_pack(file_of(*rows, common_variance={}, title="-1"), owner=rex, now=timezone.now())

    answer = sign_in(rex).get(f"/anchors/{made.pk}/anchors.csv")

    text = answer.getvalue().decode()
    assert answer["Content-Type"] == "text/csv; charset=utf-8"
    table = list(csv.DictReader(StringIO(text)))
    assert [row["anchor"] for row in table] == ["1", "2", "3"]
    first = table[0]
    assert [first[f"sensible_{fact}"] for fact in ("value", "error", "raters")] == ["0.5", "0.125", "4"]
    assert first["ssa_value"] == ""
    assert json.loads(first["said_before"]) == ["=1+1", "+2"]
    cells = [cell for row in csv.reader(StringIO(text)) for cell in row]
    assert not [cell for cell in cells if cell[:1] in {"=", "+", "-", "@"}]


def test_the_api_renames_gives_a_table_and_deletes(
    pack: AnchorPack, earlier: Study, later: Study, rex: User, mallory: User, client: Client
) -> None:
    Study.objects.filter(pk=earlier.pk).update(owner=mallory)

    def send(method: str, path: str = "", body: object = None, by: User = rex) -> Any:
        return getattr(client, method)(
            f"/api/anchor-packs/{pack.pk}{path}", data=json.dumps(body) if body else None,
            content_type="application/json",
            headers={"Authorization": f"Bearer {create_token(by, method + path + by.username)}"},
        )  # fmt: skip

    assert send("get", by=mallory).status_code == 200  # it is from her study
    assert send("patch", body={"title": "Hers"}, by=mallory).status_code == 404
    assert send("delete", by=mallory).status_code == 404
    renamed = send("patch", body={"title": "Autumn"})
    assert (renamed.status_code, renamed.json()["title"]) == (200, "Autumn")
    assert b"".join(send("get", "/anchors.csv")).decode().startswith("pack,version,anchor,subject")
    study_anchors.add_pack(later, pack)
    refused = send("delete")
    assert refused.status_code == 409
    assert "“Second wave”" in refused.json()["detail"]
    study_anchors.remove_pack(later, pack)
    assert send("delete").json()["what"] == "Anchor pack Autumn, version 1"
    assert not AnchorPack.objects.exists()


def conversation(number: int, **fields: Any) -> dict[str, Any]:
    """A conversation as labs have them: its turns, and the labels of each rater beside the judged ones."""
    likes = [number % 2 == 0, number % 3 > 0, True]
    turns = [
        {"speaker": "Human", "text": f"Hi, I am {number}."},
        {"speaker": "Bot", "text": f"Hello {number}.", "labels": labels_of(likes)},
        {"speaker": "Human", "text": "How are you?"},
        {"speaker": "Bot", "text": f"Fine, {number}.", "labels": labels_of([True, False, False])},
    ]
    return {"id": f"c{number}", "turns": turns} | fields


def labels_of(likes: list[bool]) -> dict[str, dict[str, bool]]:
    answers: dict[bool, dict[str, bool]] = {
        True: {"sensible": True, "specific": False}, False: {"sensible": False},
    }  # fmt: skip
    return {f"r{n}": answers[like] for n, like in enumerate(likes)}


def test_a_file_of_labelled_conversations_is_judged_again_by_raters_who_are_not_told(
    rex: User, later: Study, sign_in: SignIn
) -> None:
    """From the page to the report: import, mix in, judge as a worker, read the drift of each rater."""
    client = sign_in(rex)
    file = file_of(*[conversation(n) for n in range(4)], title="Our lab, 2024")

    imported = client.post("/anchors/", {"file": BytesIO(file.encode())}, follow=True)

    made = AnchorPack.objects.get()
    assert "“Our lab, 2024, version 1” is imported." in imported.content.decode()
    anchors = list(made.anchors.all())
    assert [each.system for each in anchors] == ["Bot"] * 8
    # By hand: of conversation 1 only the last rater says sensible; of every second reply, the first of three.
    values = [each.known["sensible"]["value"] for each in anchors]
    assert values[:4] == pytest.approx([2 / 3, 1 / 3, 2 / 3, 1 / 3])
    client.post(f"/studies/{later.pk}/queue/anchors/", {"pack": made.pk})
    keys = {str(key) for key in later.items.filter(anchor__isnull=False).values_list("key", flat=True)}
    for like in (True, False):
        desk = begin(later)
        of_anchor, of_own = set[str](), set[str]()
        while shown := judging.state(desk)["items"]:
            for item in shown:
                (of_anchor if item["key"] in keys else of_own).update(map(str, sorted(item)))
                assert "anchor" not in json.dumps(item).lower()
                assert "Our lab" not in json.dumps(item)
            answers = labels_of([like])["r0"]
            judging.judge(desk, key=UUID(shown[0]["key"]), answers=answers)
        assert of_anchor == of_own  # the same fields, whatever it is
    computed(later)

    report = client.get(f"/studies/{later.pk}/report/").content.decode()

    assert "8 of 8 anchors have 16 judgments by 2 raters." in report
    found = figures(later.reports.latest("pk"))["anchors"][0]
    sensible = next(each for each in found["scores"] if each["key"] == "sensible")
    known = sum(values) / 8
    assert [each["value"] for each in sensible["raters"]] == pytest.approx([100 * (1 - known), -100 * known])


def test_a_conversation_without_values_is_refused_by_its_name(rex: User) -> None:
    bare = conversation(1)
    for turn in bare["turns"]:
        turn.pop("labels", None)
    first = conversation(1)
    first["turns"][0]["labels"] = labels_of([True, True])
    alone = conversation(1)
    alone["turns"][1]["labels"] = labels_of([True])
    whole = conversation(1, labels=labels_of([True]))
    refused: dict[str, dict[str, Any]] = {
        "No turn of the conversation “c1” has “labels” or “known” values.*leave the conversation out": bare,
        "The labels of the conversation “c1” are about the whole": whole,
        "The first turn of the conversation “c1” cannot be an anchor": first,
        "No score of “c1, turn 2” has labels by two raters.*labels of another rater": alone,
        "turns: .*at least 2": {"id": "c1", "turns": []},
    }
    for says, line in refused.items():
        with pytest.raises(ValidationError, match=f"Line 3: {says}"):
            import_pack(file_of(conversation(0), line, conversation(2)), owner=rex, now=timezone.now())
    value = {"value": 1, "error": 0, "raters": 2}
    mixed = {"said_before": ["Hi"], "text": "Hello", "known": {"sensible": value}}
    says = "“c0, turn 2” has “labels”, and other anchors have “known” values"
    with pytest.raises(ValidationError, match=says):
        import_pack(file_of(conversation(0), mixed, common_variance={}), owner=rex, now=timezone.now())
    assert not ContextSet.objects.exists()


def answer_always(answers: dict[str, object], _item: Item) -> dict[str, object]:
    return answers


def rated(quality: int) -> dict[str, object]:
    return {"quality": quality, "diversity": 4, "fluency": 4, "relatedness": 4, "empathy": 4}


def test_whole_conversations_that_were_judged_elsewhere_become_a_pack(
    make_study: MakeStudy, make_queue: MakeQueue, rex: User, sign_in: SignIn, tmp_path: Path
) -> None:
    """Their file has the labels of three raters; two new raters say 5 and 1 of everything."""
    qualities = [(2, 3, 4), (5, 5, 5), (1, 2, 6), (7, 6, 6)]
    of_reply = {name: {"ssa": answers} for name, answers in labels_of([True, False]).items()}
    turns = [{"speaker": "Human", "text": "Hi!"}, {"speaker": "Bot", "text": "Hello.", "labels": of_reply}]
    rows = [
        {
            "id": f"c{n}",
            "turns": turns,
            "labels": {f"r{r}": {"likert": rated(q)} for r, q in enumerate(given)},
        }
        for n, given in enumerate(qualities)
    ]
    file = tmp_path / "lab.jsonl"
    file.write_text("\n".join(json.dumps(row) for row in rows))
    elsewhere = make_study(title="Judged elsewhere")
    Study.objects.filter(pk=elsewhere.pk).update(state=Study.State.DRAFT)
    client = sign_in(rex)
    assert "Judged elsewhere" not in client.get("/anchors/").content.decode()

    call_command("import_dialogues", str(file), study=elsewhere.code)

    record = elsewhere.imports.get()
    assert (record.conversations, record.labels) == (4, 12 + 8)
    assert elsewhere.labels.values("rater").distinct().count() == 3  # a name means one person in the file
    [bot] = figures(computed(elsewhere))["bots"]
    assert (bot["bot"], bot["labels"], bot["cells"][0]["value"]) == ("Bot", 8, 50.0)
    assert "Judged elsewhere" in client.get("/anchors/").content.decode()
    sent = {"title": "Lab", "score": "likert quality", "number": "4"}
    client.post(f"/studies/{elsewhere.pk}/anchor-pack/", sent)
    made = AnchorPack.objects.get()
    known = {each.dialogue_id: each.known["quality"] for each in made.anchors.all()}
    means = {
        dialogue: sum(qualities[int(name[1:])]) / 3
        for dialogue, name in elsewhere.dialogues.values_list("pk", "source_id")
    }
    assert {key: each["value"] for key, each in known.items()} == pytest.approx(means)
    assert {each["raters"] for each in known.values()} == {3}
    refused = client.post(f"/imports/{record.pk}/undo/", follow=True).content.decode()
    assert "Some of these conversations are in an anchor pack. Delete the pack first" in refused

    own = make_study({"own": 1}, title="Own conversations", min_turns=2, max_turns=8)
    talked(own, [(True, True)])
    later = make_queue(raters=2, question_set="likert", protocol="", title="New raters")
    subjects.add_dialogues(later, own, language="en", conversations=5)
    client.post(f"/studies/{later.pk}/queue/anchors/", {"pack": made.pk})
    assert later.items.filter(anchor__pack=made, dialogue__isnull=False).count() == 4
    for quality in (5, 1):
        judge(later, partial(answer_always, rated(quality)))
    found = figures(computed(later))["anchors"][0]
    of_quality = next(each for each in found["scores"] if each["key"] == "quality")
    mean = sum(means.values()) / 4
    # By distance from the known values, the farthest first.
    drift = sorted((5 - mean, 1 - mean), key=abs, reverse=True)
    assert [each["value"] for each in of_quality["raters"]] == pytest.approx(drift)
    assert of_quality["shift"]["value"] == pytest.approx(3 - mean)


@pytest.mark.shared_data
@pytest.mark.skipif(not PUBLISHED.exists(), reason=f"{PUBLISHED} is absent")
def test_published_transcripts_become_a_pack_once_they_are_judged(
    make_study: MakeStudy, make_queue: MakeQueue, rex: User, sign_in: SignIn
) -> None:
    """The published conversations with Meena are judged in one study, and link a later one."""
    client = sign_in(rex)
    source = make_study(title="Published")
    call_command("import_dialogues", str(PUBLISHED), study=source.code)
    wave = make_queue(raters=3, title="Published, judged")
    subjects.add_turns(wave, source, language="en", conversations=4)
    for rater in range(3):
        judge(wave, by_length(30 + 20 * rater))
    set_state(wave.pk, Study.State.CLOSED)
    assert "Published, judged" in client.get("/anchors/").content.decode()
    sent = {"title": "Meena, published", "score": "ssa sensible", "number": "12"}
    made = client.post(f"/studies/{wave.pk}/anchor-pack/", sent, follow=True).content.decode()
    pack = AnchorPack.objects.get()
    assert "is made. Its anchors and values never change." in made
    assert {(each.system, each.language) for each in pack.anchors.all()} == {("Meena", "en")}

    later = make_queue(6, raters=3, title="New raters", system="Beta")
    client.post(f"/studies/{later.pk}/queue/anchors/", {"pack": pack.pk})
    assert later.items.filter(anchor__pack=pack, turn__isnull=False).count() == 12
    for rater in range(3):
        judge(later, by_length(60 + 20 * rater))  # each 30 characters stricter
    computed(later)

    found = figures(later.reports.latest("pk"))["anchors"][0]
    sensible = next(each for each in found["scores"] if each["key"] == "sensible")
    lengths = [len(anchor.turn.text) for anchor in pack.anchors.all() if anchor.turn]
    known = [sum(length > limit for limit in (30, 50, 70)) / 3 for length in lengths]
    for each in sensible["raters"]:
        assert each["anchors"] == 12
    drift = sorted(
        100 * sum((length > limit) - value for length, value in zip(lengths, known, strict=True)) / 12
        for limit in (60, 80, 100)
    )
    assert sorted(each["value"] for each in sensible["raters"]) == pytest.approx(drift)
    assert sensible["shift"]["value"] == pytest.approx(sum(drift) / 3)
    assert sensible["shift"]["value"] < 0
    report = client.get(f"/studies/{later.pk}/report/").content.decode()
    assert "12 of 12 anchors have 36 judgments by 3 raters." in report


def by_length(limit: int) -> Callable[[Item], dict[str, object]]:
    """Sensible is what has more characters; so labels of real texts are known without a person."""

    def answer(item: Item) -> dict[str, object]:
        judged = item.turn or item.response
        assert judged
        return {"sensible": True, "specific": False} if len(judged.text) > limit else {"sensible": False}

    return answer


def test_a_file_may_name_a_question_set_that_its_owner_may_use(rex: User, mallory: User) -> None:
    create_set(TONE, owner=rex)
    create_set(TONE | {"key": "grace"}, owner=mallory)
    labels = {"r1": {"polite": True, "warmth": 4}, "r2": {"polite": True, "warmth": 5}}
    rows = [anchor_line(n, known=None, labels=labels) for n in range(3)]

    made = import_pack(file_of(*rows, question_set="tone-v1"), owner=rex, now=timezone.now())

    assert {each.known["warmth"]["value"] for each in made.anchors.all()} == {4.5}
    with pytest.raises(ValidationError, match=r"Line 1: .*'grace-v1'.* Declared: tone-v1, "):
        import_pack(file_of(*rows, question_set="grace-v1"), owner=rex, now=timezone.now())
