"""Anchor packs: made from a study, mixed into another, and compared with its judgments."""

import json
from collections.abc import Callable
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from django.core.exceptions import ValidationError
from django.core.management import call_command
from django.db import IntegrityError, transaction
from django.test import Client
from django.utils import timezone

from evaluation.report.bundles.recomputation import recompute
from evaluation.report.publishing.public_results import public_results
from evaluation.statistics.linking import shift
from tests.conftest import MakeQueue
from tests.desks import judge
from tests.planted import SignIn, computed
from turnwise.accounts.credentials import create_token
from turnwise.accounts.models import User
from turnwise.contexts.models import ContextSet
from turnwise.judges.services import items_to_judge
from turnwise.judging.anchors import packs, study_anchors
from turnwise.judging.anchors.pack_files import import_pack, pack_lines
from turnwise.judging.anchors.packs import Choice
from turnwise.judging.anchors.study_anchors import Added
from turnwise.judging.models import AnchorPack, Item
from turnwise.judging.queries import system_counts
from turnwise.studies.models import Study
from turnwise.studies.queries import counts_of
from turnwise.studies.services import clone, set_state

pytestmark = pytest.mark.django_db(transaction=True)

ANSWERS: dict[bool, dict[str, object]] = {
    True: {"sensible": True, "specific": False},
    False: {"sensible": False},
}


def number_of(item: Item) -> int:
    assert item.response
    return int(item.response.context.key.removeprefix("c"))


def by_rater(rater: int, strict: int) -> Callable[[Item], dict[str, object]]:
    """Answers of a rater: yes where the item's number, less the strictness, is above a limit of theirs."""
    return lambda item: ANSWERS[number_of(item) - strict > 3 * rater]


@pytest.fixture
def earlier(make_queue: MakeQueue) -> Study:
    """Closed: three raters judged twelve responses."""
    study = make_queue(12, raters=3, title="First wave")
    for rater in range(3):
        judge(study, by_rater(rater, 0))
    return set_state(study.pk, Study.State.CLOSED)


def pack_of(study: Study, owner: User, *, number: int = 6, **choice: Any) -> AnchorPack:
    made: dict[str, Any] = {"title": "Wave 1", "questions": "ssa", "score": "sensible", "number": number}
    made |= choice
    return packs.make_pack(study, Choice(**made), owner=owner, seed=1, now=timezone.now())


@pytest.fixture
def pack(earlier: Study, rex: User) -> AnchorPack:
    return pack_of(earlier, rex)


@pytest.fixture
def later(make_queue: MakeQueue) -> Study:
    """Open: eight responses of another system, for four raters."""
    return make_queue(8, raters=4, title="Second wave", system="Beta")


def test_a_pack_has_the_known_values_of_a_study(pack: AnchorPack, earlier: Study) -> None:
    assert (str(pack), pack.source, len(pack.sha256)) == ("Wave 1, version 1", earlier, 64)
    for anchor in pack.anchors.all():
        assert anchor.response
        of_item = earlier.items.get(response=anchor.response)
        given = [slot.label.answers["sensible"] for slot in of_item.slots.all() if slot.label]
        known = anchor.known["sensible"]
        assert known["value"] == pytest.approx(np.mean(given))
        assert known["error"] == pytest.approx(np.std(given, ddof=1) / np.sqrt(3))
        assert (known["raters"], anchor.system, anchor.language) == (3, "Alpha", "en")
    values = sorted(anchor.known["sensible"]["value"] for anchor in pack.anchors.all())
    assert (values[0], values[-1]) == (pytest.approx(0), pytest.approx(1)) or len({*values}) > 2


def test_anchors_are_judged_among_the_items_and_link_the_scores(
    pack: AnchorPack, later: Study, tmp_path: Path
) -> None:
    assert study_anchors.add_pack(later, pack) == Added(6, 0)
    assert study_anchors.add_pack(later, pack) == Added(0, 0)
    for rater in range(4):
        judge(later, by_rater(rater, 2))

    result = computed(later).result

    assert result
    # Eight own items and six anchors, by four raters each; only the own ones count.
    assert counts_of([later]) == {later.pk: (56, 56)}
    assert [(row.system, row.items, row.judged) for row in system_counts(later)] == [("Beta", 8, 32)]
    [beta] = result["bots"]
    assert (beta["bot"], beta["labels"]) == ("Beta", 32)
    [found] = result["anchors"]
    assert (found["anchors"], found["judged"], found["judgments"], found["raters"]) == (6, 6, 24, 4)
    assert found["pack"]["title"] == "Wave 1"
    sensible = next(each for each in found["scores"] if each["key"] == "sensible")
    rows = [
        (100.0 * slot.label.answers["sensible"], 100 * item.anchor.known["sensible"]["value"], item.pk,
         slot.label.rater_id)
        for item in later.items.filter(anchor__isnull=False) if item.anchor
        for slot in item.slots.all() if slot.label
    ]  # fmt: skip
    given, known, items, raters = (np.array(column) for column in zip(*rows, strict=True))
    by_hand = np.mean([np.mean((given - known)[items == item]) for item in np.unique(items)])
    assert sensible["shift"]["value"] == pytest.approx(by_hand)
    again = shift(given, known, items, raters, common_variance=1e4 * pack.common_variance["sensible"])
    assert sensible["shift"]["error"] == pytest.approx(again.error)
    column = [each["key"] for each in result["columns"]].index("sensible")
    score = beta["cells"][column]
    [system] = sensible["systems"]
    assert system["linked"]["value"] == pytest.approx(score["value"] - by_hand)
    assert system["linked"]["error"] > 100 * pack.common_variance["sensible"] ** 0.5
    assert len(sensible["raters"]) == 4
    public = public_results(result)["asks"][0]["anchors"]
    of_sensible = next(each for each in public["scores"] if each["key"] == "sensible")
    assert of_sensible["systems"] == [{"bot": system["bot"], "linked": system["linked"]}]
    assert not {"raters", "periods", "anchors"} & of_sensible.keys()  # nothing about a single person

    path = tmp_path / "bundle.zip"
    call_command("bundle", str(later.pk), output=path)
    recomputed = recompute(path)
    assert recomputed.equal
    assert recomputed.report["anchors"] == result["anchors"]


def test_a_pack_is_taken_out_until_somebody_has_begun_an_anchor(pack: AnchorPack, later: Study) -> None:
    study_anchors.add_pack(later, pack)
    before = later.items.count()

    assert study_anchors.remove_pack(later, pack) == 6
    assert (before, later.items.count(), later.items.filter(anchor__isnull=False).count()) == (14, 8, 0)
    with pytest.raises(ValidationError, match="has no anchors"):
        study_anchors.remove_pack(later, pack)

    study_anchors.add_pack(later, pack)
    judge(later, by_rater(0, 0))
    with pytest.raises(ValidationError, match="so they stay"):
        study_anchors.remove_pack(later, pack)
    assert later.items.count() == 14


def test_a_pack_that_does_not_fit_is_refused_in_words(
    pack: AnchorPack, earlier: Study, make_queue: MakeQueue, rex: User, later: Study
) -> None:
    reasons = make_queue(2, question_set="ssa-reasons")
    arabic = make_queue(languages=["ar"])

    with pytest.raises(ValidationError, match=r"known on the scale of .*and this study asks"):
        study_anchors.add_pack(reasons, pack)
    with pytest.raises(ValidationError, match=r"0 anchors of .* could enter this queue, and linking needs 3"):
        study_anchors.add_pack(arabic, pack)
    with pytest.raises(ValidationError, match="cannot be linked with itself"):
        study_anchors.add_pack(earlier, pack)
    study_anchors.add_pack(later, pack)
    with pytest.raises(ValidationError, match="has the anchors “Wave 1, version 1” for the same questions"):
        study_anchors.add_pack(later, pack_of(earlier, rex))
    assert not Item.objects.filter(study__in=[reasons, arabic, earlier], anchor__isnull=False).exists()


def test_a_study_without_values_makes_no_pack(
    earlier: Study, later: Study, make_queue: MakeQueue, rex: User
) -> None:
    one_rater = make_queue(5, raters=1)
    judge(one_rater, by_rater(0, 0))
    one_rater = set_state(one_rater.pk, Study.State.CLOSED)

    says = "0 items have a value .* by two raters .*Have a second person judge, for example, “Alpha answers"
    with pytest.raises(ValidationError, match=says):
        pack_of(one_rater, rex)
    with pytest.raises(ValidationError, match="is not closed"):
        pack_of(later, rex)
    with pytest.raises(ValidationError, match=r"13 anchors are not possible\. Choose from 3 to 12\."):
        pack_of(earlier, rex, number=13)
    with pytest.raises(ValidationError, match="has no score “wit”"):
        pack_of(earlier, rex, score="wit")
    with pytest.raises(ValidationError, match="0 items have a value"):
        pack_of(earlier, rex, excluded=frozenset({"Alpha"}))
    assert not AnchorPack.objects.exists()


def test_a_version_never_changes_and_the_next_one_has_the_next_number(
    pack: AnchorPack, earlier: Study, rex: User
) -> None:
    with pytest.raises(IntegrityError, match="make another version"), transaction.atomic():
        pack.anchors.update(system="Beta")
    with pytest.raises(IntegrityError, match="make another version"), transaction.atomic():
        AnchorPack.objects.update(sha256="1" * 64)

    assert str(pack_of(earlier, rex)) == "Wave 1, version 2"
    assert pack_of(earlier, rex).sha256 == pack.sha256  # the same choice of the same judgments


def test_a_copy_has_the_anchors_and_a_machine_judge_none(pack: AnchorPack, later: Study, rex: User) -> None:
    study_anchors.add_pack(later, pack)

    copy = clone(later, owner=rex)

    assert copy.items.filter(anchor__pack=pack).count() == 6
    assert copy.items.filter(anchor=None).count() == 8
    assert items_to_judge(later.asks.get(number=0)).count() == 8


def test_the_pages_make_a_pack_mix_it_in_and_report(
    earlier: Study, later: Study, rex: User, sign_in: SignIn
) -> None:
    client = sign_in(rex)
    assert "Wave" not in client.get("/anchors/").content.decode()
    form = client.get(f"/studies/{earlier.pk}/anchor-pack/").content.decode()
    assert "12 items" in form

    sent = {"title": "Wave 1", "score": "ssa sensible", "number": "6"}
    made = client.post(f"/studies/{earlier.pk}/anchor-pack/", sent, follow=True).content.decode()
    pack = AnchorPack.objects.get()
    assert "is made. Its anchors and values never change." in made
    assert pack.sha256 in made
    assert "Alpha answers c" in made
    file = client.get(f"/anchors/{pack.pk}/anchors.jsonl").getvalue().decode().splitlines()
    assert len(file) == 7

    added = client.post(f"/studies/{later.pk}/queue/anchors/", {"pack": pack.pk}, follow=True)
    assert "6 anchors of “Wave 1, version 1” are in the queue." in added.content.decode()
    assert "Take out" in added.content.decode()
    for rater in range(4):
        judge(later, by_rater(rater, 2))
    computed(later)

    report = client.get(f"/studies/{later.pk}/report/").content.decode()
    assert "6 of 6 anchors have 24 judgments by 4 raters." in report
    assert "They are stricter" in report or "may be no shift" in report
    assert "chart-anchors" in report or 'data-chart="anchors"' in report
    anchor = later.items.filter(anchor__isnull=False).first()
    assert anchor
    assert "It is an anchor of" in client.get(f"/studies/{later.pk}/items/{anchor.key}/").content.decode()
    listed = client.get(f"/studies/{later.pk}/items/").content.decode()
    assert str(anchor.key) not in listed
    assert str(anchor.key) in client.get(f"/studies/{later.pk}/items/?state=anchor").content.decode()
    refused = client.post(f"/studies/{later.pk}/queue/anchors/out/", {"pack": pack.pk}, follow=True)
    assert "so they stay" in refused.content.decode()


def test_a_stranger_has_no_pack(pack: AnchorPack, mallory: User, sign_in: SignIn) -> None:
    client = sign_in(mallory)

    assert client.get(f"/anchors/{pack.pk}/").status_code == 404
    assert client.get(f"/anchors/{pack.pk}/anchors.jsonl").status_code == 404
    assert "Wave 1" not in client.get("/anchors/").content.decode()


def file_of(*anchors: dict[str, Any], **facts: Any) -> str:
    first = {"format": 1, "title": "Published", "question_set": "ssa"} | facts
    return "\n".join(json.dumps(each) for each in (first, *anchors))


def line(n: int = 1, **fields: Any) -> dict[str, Any]:
    known = {"sensible": {"value": 0.5, "error": 0.1, "raters": 4}}
    return {"said_before": [f"Hi {n}"], "text": f"Hello {n}", "known": known} | fields


def test_a_downloaded_pack_is_imported_with_the_same_values(
    pack: AnchorPack, rex: User, later: Study
) -> None:
    file = "".join(pack_lines(pack))

    again = import_pack(file, owner=rex, now=timezone.now())

    assert str(again) == "Wave 1, version 2"
    assert again.sha256 == pack.sha256  # the same questions, texts and values
    assert [each.known for each in again.anchors.all()] == [each.known for each in pack.anchors.all()]
    assert study_anchors.add_pack(later, again) == Added(6, 0)


def test_a_file_with_labels_has_the_values_that_they_give(rex: User) -> None:
    labels = [
        {"sensible": True, "specific": True},
        {"sensible": True, "specific": False},
        {"sensible": False},
    ]
    by_rater = {f"r{n}": answers for n, answers in enumerate(labels)}
    rows = [line(n, known=None, labels=by_rater) for n in range(3)]

    made = import_pack(file_of(*rows), owner=rex, now=timezone.now())

    known = made.anchors.all()[0].known
    # Two of three say sensible: mean 2/3, standard error sqrt(2/3 * 1/3 * 3/2 / 3) = 1/3.
    assert known["sensible"] == {"value": pytest.approx(2 / 3), "error": pytest.approx(1 / 3), "raters": 3}
    # Parts of the mean over 9 labels: by rater 1/9, 1/9, -2/9, squared 6/81, by 3/2 for 3 raters: 1/9. By
    # label (3 of each) 1/27, 1/27, -2/27, squared 18/729, by 9/8 for 9 labels: 1/36. Difference: 1/12.
    assert made.common_variance["sensible"] == pytest.approx(1 / 12)


@pytest.mark.parametrize(
    ("file", "says"),
    [
        ("", "The file is empty"),
        ("{", "Line 1: .*JSON"),
        (file_of(line(1), line(2)), "2 anchors"),
        (file_of(*[line(n) for n in range(3)], question_set="nothing"), "Line 1: .*nothing"),
        (file_of(*[line(n) for n in range(3)]), "no “common_variance”"),
        (
            file_of(line(1), line(2), line(3, known=None), common_variance={}),
            "Line 4: “Hello 3” has no “known” values and no “labels”",
        ),
        (
            file_of(*[line(n, known={"sensible": {"value": 4, "error": 0, "raters": 2}}) for n in range(3)]),
            "Line 2: 4.0 is outside the scale of “sensible”, which goes from 0.0 to 1.0",
        ),
        (
            file_of(*[line(n, known={"wit": {"value": 1, "error": 0, "raters": 2}}) for n in range(3)]),
            "Line 2: “wit” is no score",
        ),
        (
            file_of(*[line(n, known={"sensible": {"value": 1, "error": 0, "raters": 1}}) for n in range(3)]),
            "Line 2: known.sensible.raters: .*greater than or equal to 2",
        ),
        (file_of(*[line(n, text=None) for n in range(3)]), "Line 2: A response needs “text”"),
        (file_of(*[line(n, said_before=[" "]) for n in range(3)]), "Line 2: A text is empty"),
        (
            file_of(*[line(n, known=None, labels={"a": {"sensible": 7}}) for n in range(3)]),
            "Line 2: .*7",
        ),
        (
            file_of(*[line(n, known=None, labels={"a": {"sensible": True}}) for n in range(3)]),
            "Line 2: No score of “Hello 0” has labels by two raters",
        ),
    ],
)
def test_a_file_without_usable_values_is_refused_with_its_line(
    file: str, says: str, rex: User, sign_in: SignIn
) -> None:
    answer = sign_in(rex).post("/anchors/", {"file": BytesIO(file.encode())})

    if file:
        assert answer.status_code == 422
    with pytest.raises(ValidationError, match=says):
        import_pack(file, owner=rex, now=timezone.now())
    assert not AnchorPack.objects.exists()
    assert not ContextSet.objects.exists()


def test_the_api_makes_lists_adds_and_removes(
    earlier: Study, later: Study, rex: User, client: Client
) -> None:
    headers = {"Authorization": f"Bearer {create_token(rex, 'test')}"}
    wanted = {"title": "Wave 1", "question_set": "ssa", "score": "sensible", "number": 6, "seed": 1}

    def send(method: str, path: str, body: object = None) -> Any:
        answer = getattr(client, method)(
            f"/api/{path}", data=json.dumps(body) if body else None, content_type="application/json",
            headers=headers,
        )  # fmt: skip
        return answer.status_code, answer.json()

    status, made = send("post", f"studies/{earlier.code}/anchor-packs", wanted)
    assert (status, made["anchors"], made["version"]) == (200, 6, 1)
    assert send("post", f"studies/{earlier.code}/anchor-packs", wanted | {"score": "wit"})[0] == 422
    assert send("post", f"studies/{later.code}/anchor-packs", wanted)[0] == 422
    listed = client.get("/api/anchor-packs", headers=headers).json()["items"]
    assert [each["id"] for each in listed] == [made["id"]]
    whole = client.get(f"/api/anchor-packs/{made['id']}", headers=headers).json()
    assert len(whole["items"]) == 6
    assert set(whole["items"][0]["known"]) == {"sensible", "specific", "ssa"}
    path = f"studies/{later.code}/queue/anchors"
    status, there = send("post", path, {"pack": made["id"]})
    assert (status, there["items"][0]["anchors"], there["items"][0]["wanted"]) == (200, 6, 24)
    assert send("post", f"studies/{earlier.code}/queue/anchors", {"pack": made["id"]})[0] == 409
    assert send("post", path, {"pack": made["id"] + 1})[0] == 422
    assert send("delete", f"{path}/{made['id']}")[1] == {"items": []}
    assert send("delete", f"{path}/{made['id']}")[0] == 404
    file = b"".join(client.get(f"/api/anchor-packs/{made['id']}/anchors.jsonl", headers=headers)).decode()
    status, second = send("post", "anchor-packs", {"text": file})
    assert (status, second["version"], second["sha256"]) == (201, 2, made["sha256"])
    assert "Line 1" in str(send("post", "anchor-packs", {"text": file.splitlines()[1]})[1]["errors"])
