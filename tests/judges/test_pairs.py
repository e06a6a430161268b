"""A judge of pairs in both orders: its labels, the influence of the order, the report and its bundle."""

import json
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
from django.core.management import call_command

from evaluation.report.assisted import assisted_figures
from evaluation.report.bundles.recomputation import recompute
from tests.chatbots.local_service import Received, Sent, running
from tests.conftest import MakePairs
from tests.desks import judge
from tests.judges.conftest import said
from tests.judges.test_pages import page
from tests.judges.test_runs import finished
from tests.planted import SignIn, computed
from turnwise.accounts.models import User
from turnwise.bots.models import Bot
from turnwise.judges.judge_card import card_of
from turnwise.judges.judged_labels import labels_for_report
from turnwise.judges.models import JudgeRun
from turnwise.judging.models import Item, Slot

pytestmark = pytest.mark.django_db(transaction=True)

Sides = tuple[str, str]
MakePairJudge = Callable[[Callable[[Sides], str]], Bot]


@pytest.fixture
def make_pair_judge(rex: User) -> Any:
    """A bot whose service chooses between the texts of both sides, in the order shown."""
    with ExitStack() as stack:

        def make(choose: Callable[[Sides], str]) -> Bot:
            def reply(received: Received) -> Sent:
                line = received.json["messages"][-1]["content"].splitlines()[-1]
                try:
                    item = json.loads(line)
                    one, two = (item[side]["conversation"][0]["text"] for side in ("first", "second"))
                except (ValueError, KeyError, TypeError):
                    return said("Hello.")  # the greeting by which a bot is loaded
                return said(json.dumps({"better": choose((one, two))}))

            service = stack.enter_context(running(reply))
            settings = {"base_url": service.url, "model": "judge-1", "retries": 0}
            return Bot.objects.create(
                name="umpire", title="Umpire", adapter="openai-chat", configuration=settings, owner=rex
            )

        yield make


def _alpha(sides: Sides) -> str:
    return "first" if sides[0].startswith("Alpha") else "second"


def test_each_pair_is_judged_in_both_orders_once(
    make_pairs: MakePairs, make_pair_judge: MakePairJudge
) -> None:
    run = finished(make_pairs(4), make_pair_judge(_alpha))

    assert run.state == JudgeRun.State.DONE
    labels = list(run.labels.values_list("item", "is_swapped", "draw"))
    items = Item.objects.filter(study=run.study).values_list("pk", flat=True)
    assert sorted(labels) == sorted((item, swapped, 1) for item in items for swapped in (False, True))


def test_a_judge_without_preference_for_a_place_never_changes_its_verdict(
    make_pairs: MakePairs, make_pair_judge: MakePairJudge
) -> None:
    study = make_pairs(12)
    judge(study, lambda _item: {"better": "first"})

    [row] = card_of(finished(study, make_pair_judge(_alpha))).orders

    assert row.pairs == 12
    assert row.flips.startswith("0")
    assert row.for_first_shown.startswith("50")
    assert row.verdict == "No preference for a place is clear."


def test_the_card_says_why_too_few_pairs_of_people_have_no_strengths(
    make_pairs: MakePairs, make_pair_judge: MakePairJudge, rex: User, sign_in: SignIn
) -> None:
    study = make_pairs(12)
    judge(study, lambda _item: {"better": "first"})

    run = finished(study, make_pair_judge(_alpha))

    [asked] = card_of(run).preferences
    assert asked.strengths == []
    assert asked.no_strengths.startswith("People judged 12 pairs of Alpha.")
    assert [row.factor for row in asked.wins] == ["", ""]
    assert "People judged 12 pairs of Alpha." in page(sign_in(rex), run.get_absolute_url())


def test_a_judge_that_prefers_the_first_place_is_found_and_its_label_is_a_tie(
    make_pairs: MakePairs, make_pair_judge: MakePairJudge, rex: User, sign_in: SignIn
) -> None:
    study = make_pairs(12)
    judge(study, lambda _item: {"better": "first"})

    run = finished(study, make_pair_judge(lambda _sides: "first"))

    card = card_of(run)
    [row] = card.orders
    assert row.flips.startswith("100")
    assert row.for_first_shown.startswith("100")
    assert row.verdict == "It prefers the side that it reads first."
    assert card.constant  # all pairs are ties
    assert "Influence of the order" in page(sign_in(rex), run.get_absolute_url())


def test_a_report_of_pairs_is_assisted_and_follows_from_the_bundle(
    make_pairs: MakePairs, make_pair_judge: MakePairJudge, rex: User, sign_in: SignIn, tmp_path: Path
) -> None:
    study = make_pairs(60, raters=1, batch=25)

    def better(item: Item) -> dict[str, str]:
        assert item.pair
        assert item.pair.first_response
        response, number = item.pair.first_response, int(item.pair.first_response.context.key[1:])
        shows_alpha_first = (response.run.system == "Alpha") != Slot.objects.get(item=item).is_swapped
        prefers_alpha = (number % 3 > 0) != (number % 10 == 0)
        return {"better": "first" if prefers_alpha == shows_alpha_first else "second"}

    judge(study, better)
    before = computed(study).result
    assert before
    assert "assisted" not in before

    def choose(sides: Sides) -> str:
        is_alpha = int(sides[0].rpartition("c")[2].rstrip(".")) % 3 > 0
        return _alpha(sides) if is_alpha else {"first": "second", "second": "first"}[_alpha(sides)]

    run = finished(study, make_pair_judge(choose))

    after = computed(study).result
    assert after
    assert {key: after[key] for key in before} == before
    [found] = after["assisted"]
    assert (found["items"], found["people_items"], found["judge_items"]) == (60, 25, 60)
    [row] = found["scores"][0]["rows"]
    assert row["first"] == "Alpha against Beta"
    [asked] = found["preferences"]
    alpha, beta, between = asked["strengths"]
    assert (alpha["first"], beta["first"], between["second"]) == ("Alpha", "Beta", "Beta")
    of_people = {bot["bot"]: bot for bot in after["preferences"][0]["strengths"]["bots"]}
    # One rater judged each pair, so counting pairs is counting judgments, as the main table does.
    assert alpha["people"]["value"] == pytest.approx(of_people["Alpha"]["value"], abs=1e-8)
    widths = [each["high"] - each["low"] for each in (alpha["people"], of_people["Alpha"])]
    assert widths[0] == pytest.approx(widths[1], rel=0.06)
    assert widths[0] < widths[1]  # a score interval, as the assisted one
    assert alpha["worth"] > 1.2
    assert f"as if people had labelled {alpha['as_if']} pairs instead of 25" in alpha["words"]
    assert sum(win["assisted"]["value"] for win in asked["wins"]) == pytest.approx(100)
    shown = page(sign_in(rex), f"/studies/{study.pk}/report/")
    assert f"as if people had labelled {alpha['as_if']} pairs instead of 25" in shown
    assert "Pairs won, ties by half" in shown
    # The judge card has the same estimates at 95 %, people alone beside each.
    [at_95] = assisted_figures([labels_for_report(run)])[0]["preferences"]
    [on_card] = card_of(run).preferences
    assert [row.name for row in on_card.strengths] == ["Alpha", "Beta", "Alpha − Beta"]  # noqa: RUF001
    for row, stored in zip(on_card.strengths + on_card.wins, at_95["strengths"] + at_95["wins"], strict=True):
        for text, cell in ((row.people, stored["people"]), (row.assisted, stored["assisted"])):
            number, *ends = (float(each.strip("[],").replace("−", "-")) for each in text.split())  # noqa: RUF001
            assert [number, *ends] == pytest.approx([cell["value"], cell["low"], cell["high"]], abs=0.06)
        assert float(row.factor) == pytest.approx(stored["worth"], abs=0.05)
        assert stored["words"] in row.worth
    of_run = page(sign_in(rex), run.get_absolute_url())
    assert f"as if people had labelled {alpha['as_if']} pairs instead of 25" in of_run
    assert f"<strong>{on_card.strengths[0].factor}&nbsp;" in of_run
    path = tmp_path / "bundle.zip"
    call_command("bundle", str(study.pk), output=path)
    again = recompute(path)
    assert again.equal
    assert again.report["assisted"] == after["assisted"]
