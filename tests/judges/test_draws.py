"""Items drawn for people by a machine judge's uncertainty, from the queue to the report and the bundle."""

from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any
from uuid import UUID

import numpy as np
import pytest
from django.core.exceptions import ValidationError
from django.core.management import call_command
from django.db import IntegrityError, transaction
from django.utils import timezone

from evaluation.assisted.drawing import EVEN
from evaluation.report.bundles.recomputation import recompute
from tests.desks import begin, held, judge
from tests.judges.conftest import GOOD, MakeStudyOfTwo
from tests.judges.test_pages import answers_of_rater, page
from tests.judges.test_runs import finished, started
from tests.judging.test_queue_page import call
from tests.planted import SignIn, computed
from turnwise.accounts.models import User
from turnwise.bots.models import Bot
from turnwise.comparisons import scores
from turnwise.judges.item_draws import services as draws
from turnwise.judges.models import JudgeRun
from turnwise.judging.items import item_draws, subjects
from turnwise.judging.models import DrawnItem, Item, ItemDraw, Slot
from turnwise.judging.queue import services as judging
from turnwise.questions.question_sets import question_set
from turnwise.studies.models import Study

pytestmark = pytest.mark.django_db(transaction=True)

MakeJudge = Callable[..., Bot]
BAD = '{"sensible": false}'


def _wavering(text: str) -> str:
    """A judge that is sure about contexts with an even number, and of two minds about the others."""
    number = int(text.rpartition("c")[2].rstrip(".")) if text else 0
    if number % 2 == 0:
        return GOOD if number % 3 else BAD
    _TURNS[text] += 1
    return GOOD if _TURNS[text] % 2 else BAD


_TURNS: Counter[str] = Counter()


def _drawn(run: JudgeRun, wanted: int, strata: str = ItemDraw.Strata.SYSTEM) -> ItemDraw:
    return draws.draw(run, wanted=wanted, strata=strata, by=run.study.owner, now=timezone.now())


def _result(study: Study) -> dict[str, Any]:
    result: dict[str, Any] | None = computed(study).result
    assert result
    return result


@pytest.fixture
def wavering(make_items: MakeStudyOfTwo, make_judge: MakeJudge) -> JudgeRun:
    """A complete run of a judge that gave four answers about each of 80 responses of two systems."""
    return finished(make_items(80, raters=1), make_judge(_wavering), draws=4)


def test_people_get_drawn_items_alone_and_the_stored_probabilities_are_those_used(wavering: JudgeRun) -> None:
    study = wavering.study

    draw = _drawn(wavering, 60)

    rows = {row.item_id: row for row in draw.rows.all()}
    assert len(rows) == 160
    assert sum(row.is_drawn for row in rows.values()) == 60
    # Twice four answers, half of an answer added at each end: √(p (1 - p)) with p = 4.5 / 5 or 2.5 / 5.
    for system in ("Alpha", "Beta"):
        of_system = [row for row in rows.values() if row.stratum == system]
        uncertainty = np.array([row.uncertainty for row in of_system])
        assert sum(row.is_drawn for row in of_system) == 30
        share = EVEN / 80 + (1 - EVEN) * uncertainty / uncertainty.sum()
        assert [row.probability for row in of_system] == pytest.approx((30 * share).tolist())
    by_number: dict[bool, set[float]] = {True: set(), False: set()}
    for item in Item.objects.filter(study=study).select_related("response__context"):
        assert item.response
        by_number[int(item.response.context.key[1:]) % 2 == 0].add(round(rows[item.pk].probability, 9))
    assert max(by_number[True]) < min(by_number[False])  # of which the judge is less sure
    judge(study, answers_of_rater(0))  # until nothing is dealt any more
    dealt = set(Slot.objects.filter(study=study, label__isnull=False).values_list("item", flat=True))
    assert dealt == {item for item, row in rows.items() if row.is_drawn}
    assert not Slot.objects.filter(study=study, label=None).exists()


def test_the_report_weighs_by_the_probabilities_as_explicit_sums_do_and_follows_from_the_bundle(
    wavering: JudgeRun, rex: User, sign_in: SignIn, tmp_path: Path
) -> None:
    study = wavering.study
    draw = _drawn(wavering, 80)
    judge(study, answers_of_rater(0))

    result = _result(study)

    probability = dict(draw.rows.values_list("item", "probability"))
    labels = Slot.objects.filter(study=study, label__isnull=False).values_list("item", "label__answers")
    answers = dict(labels)
    machine: dict[int, list[float]] = {}
    for item, given in wavering.labels.values_list("item", "answers"):
        assert given
        machine.setdefault(item, []).append(float(given["sensible"]))
    judged = {item: sum(given) / len(given) for item, given in machine.items()}
    [assisted] = result["assisted"]
    rows = {row["first"]: row for row in assisted["scores"][0]["rows"] if row["second"] is None}
    columns = [column["key"] for column in result["columns"]]
    main = {bot["bot"]: dict(zip(columns, bot["cells"], strict=True)) for bot in result["bots"]}
    for system in ("Alpha", "Beta"):
        items = [row.item_id for row in draw.rows.all() if row.stratum == system]
        # Horvitz-Thompson totals over the Horvitz-Thompson number of items (Hájek 1971).
        total = sum(answers[item]["sensible"] / probability[item] for item in items if item in answers)
        number = sum(1 / probability[item] for item in items if item in answers)
        there = sum(judged[item] / probability[item] for item in items if item in answers)
        gap = there / number - sum(judged[item] for item in items) / len(items)
        unweighted = [answers[item]["sensible"] for item in items if item in answers]
        row = rows[system]
        assert row["people"]["value"] == pytest.approx(100 * total / number)
        assert main[system]["sensible"]["value"] == pytest.approx(100 * total / number)
        assert row["people"]["value"] != pytest.approx(100 * sum(unweighted) / len(unweighted))
        power = (100 * total / number - row["assisted"]["value"]) / (100 * gap)
        # Of a few draws the people's answers leave the judge worth nothing: then its power is exactly 0.
        assert -1e-9 <= power <= 1 + 1e-9
        assert row["evenly"] > 0
    assert result["drawn"] == {"judge": "umpire", "draws": 1, "drawn": 80, "judged": 80, "items": 160}
    assert assisted["drawn"] == result["drawn"]
    assert "unequal probabilities" in result["always_valid"]["undefined"]
    assert "have fewer than the" not in str(result["deviations"])  # items that were not drawn lack nobody
    assert scores.conversations([study.pk], scores.LabelSelection(question_set("ssa"))) == []
    shown = page(sign_in(rex), f"/studies/{study.pk}/report/")
    assert "drawn by the uncertainty of umpire" in shown
    path = tmp_path / "bundle.zip"
    call_command("bundle", str(study.pk), output=path)
    again = recompute(path)
    assert again.equal
    assert again.report["assisted"] == result["assisted"]


def test_halfway_the_probability_is_smaller_by_what_people_have_not_judged(wavering: JudgeRun) -> None:
    study = wavering.study
    desk = begin(study)
    first = held(desk)[:3]  # leased, so begun before the draw
    draw = _drawn(wavering, 60)
    begun = DrawnItem.objects.filter(draw=draw, begun_before=True)
    assert {str(row.item.key) for row in begun.select_related("item")} == set(first)
    assert {(row.probability, row.is_drawn) for row in begun} == {(1.0, True)}
    answer = answers_of_rater(0)
    for _ in range(23):
        key = UUID(held(desk)[0])
        judging.judge(desk, key=key, answers=answer(Item.objects.get(key=key)))

    found = item_draws.drawn_for_people(study.asks.get(number=0))

    assert found
    for row in draw.rows.all():
        expected = 1.0 if row.begun_before else row.probability * 20 / 60
        assert found.probability[row.item_id] == pytest.approx(expected)


def test_a_second_draw_adds_items_and_a_draw_is_undone_until_somebody_judges(wavering: JudgeRun) -> None:
    study, ask = wavering.study, wavering.ask
    first = _drawn(wavering, 50)
    before = {row.item_id: row for row in first.rows.all()}
    judge(study, answers_of_rater(0))

    second = draws.draw_further(ask, further=40, by=study.owner, now=timezone.now())

    after = {row.item_id: row for row in second.rows.all()}
    assert all(after[item].is_drawn for item, row in before.items() if row.is_drawn)
    assert all(after[item].probability >= row.probability for item, row in before.items())
    assert sum(row.probability for row in after.values()) == pytest.approx(90)
    added = {item for item, row in after.items() if row.is_drawn and not before[item].is_drawn}
    assert 36 <= len(added) <= 44
    assert set(Slot.objects.filter(study=study, label=None).values_list("item", flat=True)) == added
    assert not item_draws.progress_of_draws(study)[1].may_undo
    item_draws.undo(ask)
    assert not Slot.objects.filter(study=study, label=None).exists()
    with pytest.raises(ValidationError, match="People have begun"):
        item_draws.undo(ask)
    assert ItemDraw.objects.get() == first


def test_a_program_draws_items_and_undoing_gives_people_all_items_again(
    wavering: JudgeRun, rex: User
) -> None:
    address = f"/api/studies/{wavering.study.code}/queue/draws"
    wanted = {"judge": wavering.pk, "items": 50}

    answer = call(rex, "post", address, wanted)

    assert answer.status_code == 200, answer.content
    [found] = call(rex, "get", address).json()["items"]
    assert (found["drawn"], found["judged"], found["total"], found["may_undo"]) == (50, 0, 160, True)
    assert Slot.objects.filter(study=wavering.study).count() == 50
    refused = call(rex, "post", address, wanted)
    assert refused.status_code == 409
    assert "Load the page again" in refused.content.decode()
    undone = call(rex, "post", f"{address}/undo", {"ask": wavering.ask.number})
    assert undone.json()["items"] == []
    assert Slot.objects.filter(study=wavering.study).count() == 160
    assert not ItemDraw.objects.exists()


def test_a_draw_never_changes(wavering: JudgeRun) -> None:
    draw = _drawn(wavering, 50)

    for change in (
        lambda: DrawnItem.objects.filter(draw=draw).update(probability=0.5),
        lambda: ItemDraw.objects.filter(pk=draw.pk).update(seed=1),
        lambda: DrawnItem.objects.create(
            draw=draw, item=Item.objects.earliest("pk"), uncertainty=0.1, probability=0.0, is_drawn=True,
            begun_before=False,
        ),
    ):  # fmt: skip
        with pytest.raises(IntegrityError), transaction.atomic():
            change()
    draw.refresh_from_db()
    assert draw.seed != 1


def test_bad_draws_are_refused_in_words_and_change_nothing(
    wavering: JudgeRun, make_judge: MakeJudge, make_items: MakeStudyOfTwo
) -> None:
    study = wavering.study
    with pytest.raises(ValidationError, match="161 items are more than there are"):
        _drawn(wavering, 161)
    with pytest.raises(ValidationError, match="39 items are too few"):
        _drawn(wavering, 39)
    with pytest.raises(ValidationError, match="Choose at least 20"):
        _drawn(wavering, 0, ItemDraw.Strata.NONE)
    once = finished(study, make_judge(_wavering, "once"))
    with pytest.raises(ValidationError, match="gave one answer about each item"):
        _drawn(once, 50)
    unfinished = started(study, make_judge(_wavering, "late"), draws=2)
    with pytest.raises(ValidationError, match="320 answers are missing"):
        _drawn(unfinished, 50)
    label = wavering.labels.earliest("pk")
    wavering.labels.filter(pk=label.pk).update(has_seen=True)
    with pytest.raises(ValidationError, match="was shown the right answers about 1 item"):
        _drawn(wavering, 50)
    assert not ItemDraw.objects.exists()
    assert Slot.objects.filter(study=study).count() == 160

    wavering.labels.filter(pk=label.pk).update(has_seen=False)
    _drawn(wavering, 50)
    with pytest.raises(ValidationError, match="Load the page again"):
        _drawn(wavering, 50)
    with pytest.raises(ValidationError, match="new items and batteries"):
        subjects.add_items_of(study, study, language="en", items=1)
    with pytest.raises(ValidationError, match="111 further items are not possible: 110"):
        draws.draw_further(wavering.ask, further=111, by=None, now=timezone.now())


def test_a_judge_with_one_answer_is_uncertain_where_it_erred_before(
    make_items: MakeStudyOfTwo, make_judge: MakeJudge
) -> None:
    study = make_items(40, raters=1)
    run = finished(study, make_judge(lambda text: BAD if "Beta" in text else GOOD))
    desk = begin(study)
    for n in range(40):  # people find all of Alpha sensible, and every second of Beta
        key = UUID(held(desk)[0])
        item = Item.objects.select_related("response").get(key=key)
        assert item.response
        sensible = "Alpha" in item.response.text or n % 2 == 0
        answers = {"sensible": sensible, **({"specific": False} if sensible else {})}
        judging.judge(desk, key=key, answers=answers)

    draw = _drawn(run, 20, ItemDraw.Strata.NONE)

    assert draw.source == ItemDraw.Source.ERRORS
    rows = draw.rows.filter(begun_before=False).select_related("item__response")
    of = {name: {r.uncertainty for r in rows if r.item.response and name in r.item.response.text}
          for name in ("Alpha", "Beta")}  # fmt: skip
    assert max(of["Alpha"]) < min(of["Beta"])
    assert draw.rows.filter(begun_before=True).count() >= 40
