"""Panels on the pages: labels by vote and mean against calculation by hand, their card, and their removal."""

from collections import Counter
from collections.abc import Callable
from typing import Any

import pytest
from django.core.exceptions import ValidationError
from django.utils import timezone

from evaluation.machine_judges.imported import Imported, ImportedLabel
from evaluation.machine_judges.panels import Rule
from tests.desks import judge
from tests.judges.conftest import GOOD, MakeStudyOfTwo
from tests.judges.test_imports import assisted
from tests.judges.test_pages import page
from tests.judges.test_runs import finished, work_to_the_end
from tests.planted import SignIn
from tests.studies.test_rest import called, fields_of
from turnwise.accounts.models import User
from turnwise.bots.models import Bot
from turnwise.judges import panels, services
from turnwise.judges.judge_card import card_of
from turnwise.judges.label_imports import services as label_imports
from turnwise.judges.models import JudgeRun
from turnwise.judging.models import Item
from turnwise.studies.models import Study

pytestmark = pytest.mark.django_db(transaction=True)

Verdict = Callable[[int], bool | None]


def brought(study: Study, title: str, verdict: Verdict) -> JudgeRun:
    """A judge from a file that calls the nth item sensible, or says nothing."""
    items = Item.objects.filter(study=study).order_by("pk")
    labels = [
        ImportedLabel(n, str(item.key), False, 1, {"sensible": says, "specific": False})
        for n, item in enumerate(items)
        if (says := verdict(n)) is not None
    ]
    return label_imports.store(
        study.asks.get(number=0), Imported(labels, [], []), title=title, file_name="x.csv",
        sha256=title * 8, by=study.owner, now=timezone.now(),
    )  # fmt: skip


@pytest.fixture
def members(make_items: MakeStudyOfTwo) -> list[JudgeRun]:
    """Three judges of 40 items, of which people have judged all."""
    study = make_items(20)
    numbers = {pk: n for n, pk in enumerate(Item.objects.order_by("pk").values_list("pk", flat=True))}
    judge(study, lambda item: _answers(numbers[item.pk] % 3 > 0))
    verdicts: dict[str, Verdict] = {
        "first": lambda n: n % 3 > 0 and n < 37,
        "second": lambda n: n % 6 > 0 and n != 1,
        "third": lambda n: None if n < 8 else n % 3 == 1,
    }
    return [brought(study, title, verdict) for title, verdict in verdicts.items()]


def _answers(sensible: bool) -> dict[str, Any]:
    return {"sensible": sensible, **({"specific": False} if sensible else {})}


def formed(members: list[JudgeRun], rule: Rule = Rule.VOTE) -> JudgeRun:
    return panels.form_panel(members, title="Bench", rule=rule, by=members[0].study.owner, now=timezone.now())


def test_a_vote_is_stored_like_the_labels_of_a_judge(
    members: list[JudgeRun], rex: User, sign_in: SignIn
) -> None:
    client = sign_in(rex)
    chosen = {"title": "Bench", "rule": "vote", "members": [run.pk for run in members]}

    answer = client.post(f"/studies/{members[0].study_id}/judges/panel/", chosen)

    panel = JudgeRun.objects.get(judge__source="panel")
    assert answer["Location"] == panel.get_absolute_url()
    by_item = dict(panel.labels.order_by("item").values_list("item", "answers"))
    # By hand: all three, or two of three, from item 8 on; before, both agree or there is a tie (1 and 3).
    expected = [None if n in (1, 3) else n % 3 > 0 for n in range(8)]
    expected += [(n % 3 > 0 and n < 37) + (n % 6 > 0) + (n % 3 == 1) >= 2 for n in range(8, 40)]
    assert [answers and answers["sensible"] for answers in by_item.values()] == expected
    assert Counter(panel.labels.values_list("outcome", flat=True)) == {"answered": 38, "undecided": 2}
    shown = page(client, panel.get_absolute_url())
    assert "Undecided by the panel" in shown
    assert "About 2 labels, the members were tied" in shown
    assert "The panel beside its members" in shown
    card = card_of(panel)
    percents = [(row.name, row.agreement.items, row.agreement.percent) for row in card.members]
    # By hand: the first errs on items 37 and 38; the second on 1, 3, 9, …, 39; the third on 8, 11, …, 38; the
    # panel on 38.
    assert percents[::2] == [
        ("Bench", 38, "97\u00a0%"), ("first", 40, "95\u00a0%"), ("second", 40, "80\u00a0%"),
        ("third", 32, "66\u00a0%"),
    ]  # fmt: skip
    assert [each["judge"] for each in assisted(panel.study)] == ["first", "second", "third", "Bench"]


def test_a_mean_has_the_labels_of_all_members_as_its_draws(members: list[JudgeRun]) -> None:
    panel = formed(members, Rule.MEAN)

    labels = list(panel.labels.order_by("item", "draw").values_list("draw", "answers", "why"))
    assert labels[:8] == [(1, None, f"Without an answer: third (run {members[2].pk}).")] * 8
    assert [draw for draw, _, _ in labels[8:]] == [1, 2, 3] * 32
    # By hand: of item 8 first and second say yes, of item 9 the second alone.
    assert [(answers or {})["sensible"] for _, answers, _ in labels[8:14]] == [
        True,
        True,
        False,
        False,
        True,
        False,
    ]


def test_unsuitable_members_are_refused(members: list[JudgeRun]) -> None:
    JudgeRun.objects.filter(pk=members[2].pk).update(state=JudgeRun.State.CANCELLED)

    with pytest.raises(ValidationError, match="2 to 9 judges"):
        formed(members[:1])
    with pytest.raises(ValidationError, match="Only complete runs"):
        formed(members)
    with pytest.raises(ValidationError, match="cannot be a member of a panel"):
        formed([members[0], formed(members[:2])])


def test_a_member_is_removed_only_after_its_panel(
    members: list[JudgeRun], rex: User, sign_in: SignIn
) -> None:
    client, panel = sign_in(rex), formed(members)

    refused = client.post(f"{members[0].get_absolute_url()}remove/", follow=True)
    assert "The panel “Bench” rests on these labels." in refused.content.decode()
    client.post(f"{panel.get_absolute_url()}remove/")
    client.post(f"{members[0].get_absolute_url()}remove/")

    assert {run.judge.title for run in JudgeRun.objects.select_related("judge")} == {"second", "third"}


def test_a_panel_follows_a_member_that_judges_more_items(
    make_items: MakeStudyOfTwo, make_judge: Callable[..., Bot]
) -> None:
    study = make_items(2)
    item = Item.objects.filter(study=study).earliest("pk")
    Item.objects.filter(pk=item.pk).update(removed_at=timezone.now())
    run, other = finished(study, make_judge()), finished(study, make_judge(lambda _text: GOOD, "other"))
    panel = formed([run, other])
    assert panel.labels.count() == 3

    Item.objects.filter(pk=item.pk).update(removed_at=None)
    services.go_on(run.pk)
    work_to_the_end(run)

    assert panel.labels.count() == 4
    assert panel.labels.get(item=item).outcome == "answered"


def test_programs_form_a_panel_and_remove_it(members: list[JudgeRun], rex: User) -> None:
    path = f"/studies/{members[0].study.code}/judges"
    wanted = {"title": "Bench", "members": [run.pk for run in members]}

    unknown = called(rex, "POST", f"{path}/panels", wanted | {"members": [members[0].pk, 2**40]})
    alone = called(rex, "POST", f"{path}/panels", wanted | {"members": [members[0].pk]})
    made = called(rex, "POST", f"{path}/panels", wanted)
    member = called(rex, "DELETE", f"{path}/{members[0].pk}")
    removed = called(rex, "DELETE", f"{path}/{made.json()['id']}")

    assert (fields_of(unknown), alone.status_code) == ({"members"}, 409)
    assert (made.status_code, made.json()["state"], made.json()["had"]) == (201, "done", 40)
    assert (member.status_code, removed.status_code) == (409, 200)
    assert JudgeRun.objects.count() == 3
    assert called(rex, "POST", f"/deletions/{removed.json()['id']}/undo").status_code == 200
    assert JudgeRun.objects.get(judge__source="panel").labels.count() == 40
